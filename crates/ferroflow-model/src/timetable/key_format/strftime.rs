//! Python's `datetime.strftime` on Linux: Python's own directives, then glibc's with flags and widths.

use jiff::civil::DateTime;

use crate::timetable::calendar_names::{MONTHS, WEEKDAYS};
use crate::timetable::local_time::{LocalTime, offset_text};

/// Writes a time as `datetime.strftime` does in the C locale of a process whose own zone is UTC.
///
/// A text that would be much longer than its format comes out empty, as it does there.
pub(crate) fn format(at: &LocalTime<'_>, format: &str) -> String {
    // A C string ends at its first null.
    let format = format.split('\0').next().unwrap_or_default();
    let format = python_directives(at, format);
    let mut output = Output { text: String::new(), room: room(&format) };
    let moment = Moment { clock: at.wall, daylight_saving: at.is_daylight_saving() };
    match write(&mut output, moment, &format) {
        Some(()) => output.text,
        None => String::new(),
    }
}

/// Replaces what Python writes itself: `%f`, `%z` and `%Z`, which only count without flags.
fn python_directives(at: &LocalTime<'_>, format: &str) -> String {
    let mut replaced = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let directive = if c == '%' { chars.next() } else { None };
        let text = match directive {
            Some('f') => format!("{:06}", at.wall.subsec_nanosecond() / 1000),
            Some('z') => at.utc_offset().map(|offset| offset_text(offset, "")).unwrap_or_default(),
            Some('Z') => at.zone_name().replace('%', "%%"),
            other => {
                replaced.push(c);
                replaced.extend(other);
                continue;
            }
        };
        replaced.push_str(&text);
    }
    replaced
}

/// How many characters Python makes room for: it doubles a buffer until the text fits or the buffer is 256 times
/// the format; the end of the string needs one.
fn room(format: &str) -> usize {
    let enough = format.chars().count().saturating_mul(256);
    let mut room = 1024_usize;
    while room < enough {
        room = room.saturating_mul(2);
    }
    room - 1
}

/// What the C library is told of a time.
#[derive(Clone, Copy)]
struct Moment {
    clock: DateTime,
    daylight_saving: bool,
}

struct Output {
    text: String,
    room: usize,
}

impl Output {
    /// Adds a text with as much before it as makes it as wide as it should be; `None` if there is no room.
    fn add(&mut self, text: &str, width: usize, padding: char) -> Option<()> {
        let length = text.chars().count();
        let missing = width.saturating_sub(length);
        self.room = self.room.checked_sub(length)?.checked_sub(missing)?;
        self.text.extend(std::iter::repeat_n(padding, missing));
        self.text.push_str(text);
        Some(())
    }
}

/// One directive: `%`, flags, width, modifier, conversion.
#[derive(Clone, Copy, Default)]
struct Directive<'f> {
    /// All of it.
    text: &'f str,
    /// `_`, `-` or `0`.
    pad: Option<char>,
    upper: bool,
    change_case: bool,
    width: usize,
    /// `E` or `O`.
    modifier: Option<char>,
    conversion: Option<char>,
}

/// glibc's `strftime` in the C locale.
fn write(output: &mut Output, at: Moment, format: &str) -> Option<()> {
    let mut rest = format;
    while let Some(c) = rest.chars().next() {
        if c == '%' {
            let directive = directive(rest);
            rest = &rest[directive.text.len()..];
            directive.write(output, at)?;
        } else {
            let literal = rest.split('%').next().unwrap_or_default();
            rest = &rest[literal.len()..];
            output.add(literal, 0, ' ')?;
        }
    }
    Some(())
}

/// Takes apart the directive that a text begins with.
fn directive(text: &str) -> Directive<'_> {
    let mut directive = Directive::default();
    let mut chars = text.chars().skip(1).peekable();
    let mut length = 1;
    while let Some(flag) = chars.next_if(|c| matches!(c, '_' | '-' | '0' | '^' | '#')) {
        length += 1;
        match flag {
            '^' => directive.upper = true,
            '#' => directive.change_case = true,
            pad => directive.pad = Some(pad),
        }
    }
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        length += 1;
        directive.width = directive.width.saturating_mul(10).saturating_add(digit as usize);
    }
    directive.modifier = chars.next_if(|c| matches!(c, 'E' | 'O'));
    length += directive.modifier.map_or(0, char::len_utf8);
    directive.conversion = chars.next();
    length += directive.conversion.map_or(0, char::len_utf8);
    directive.text = &text[..length];
    directive
}

impl Directive<'_> {
    fn write(&self, output: &mut Output, at: Moment) -> Option<()> {
        let Some(conversion) = self.conversion.filter(|conversion| self.takes_modifier(*conversion)) else {
            return self.as_it_stands(output);
        };
        if let Some(format) = subformat(conversion) {
            return self.subformat(output, at, format);
        }
        if let Some((digits, value)) = number(conversion, at.clock) {
            return self.number(output, digits, value, matches!(conversion, 'e' | 'k' | 'l'));
        }
        let (month, weekday) = (at.clock.month() - 1, at.clock.weekday().to_sunday_zero_offset());
        match conversion {
            'a' => self.name(output, &WEEKDAYS, weekday, 3),
            'A' => self.name(output, &WEEKDAYS, weekday, usize::MAX),
            'b' | 'h' => self.name(output, &MONTHS, month, 3),
            'B' => self.name(output, &MONTHS, month, usize::MAX),
            'p' if !self.change_case => self.text(output, if at.clock.hour() < 12 { "AM" } else { "PM" }),
            'p' | 'P' => self.lower(output, if at.clock.hour() < 12 { "am" } else { "pm" }),
            'n' => self.text(output, "\n"),
            't' => self.text(output, "\t"),
            '%' => self.text(output, "%"),
            // With a flag these two are no longer Python's, and the C library knows the zone of the process only.
            'Z' if self.change_case => self.lower(output, "utc"),
            'Z' => self.text(output, "UTC"),
            'z' => {
                self.text(output, "+")?;
                self.number(output, 4, 0, false)
            }
            's' => self.text(output, &seconds_since_1970(at).to_string()),
            _ => self.as_it_stands(output),
        }
    }

    /// Whether the C library knows the conversion with this modifier.
    fn takes_modifier(&self, conversion: char) -> bool {
        match self.modifier {
            Some('E') => !"%aAbBdDeFgGhHIjklmMSUVwW".contains(conversion),
            Some(_) => !"%aAcDFxXY".contains(conversion),
            None => true,
        }
    }

    /// A directive that means nothing is written as it is; of `%E%` that is the last character.
    fn as_it_stands(&self, output: &mut Output) -> Option<()> {
        // The C library reads `#` of these two before it sees that the modifier is wrong.
        let upper = self.upper || self.change_case && matches!(self.conversion, Some('b' | 'h'));
        let text = if self.conversion == Some('%') { "%" } else { self.text };
        Directive { upper, ..*self }.text(output, text)
    }

    fn subformat(&self, output: &mut Output, at: Moment, format: &str) -> Option<()> {
        let mut part = Output { text: String::new(), room: usize::MAX };
        write(&mut part, at, format)?;
        self.text(output, &part.text)
    }

    fn name(&self, output: &mut Output, names: &[&str], index: i8, length: usize) -> Option<()> {
        let name =
            usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default();
        let name = name.get(..length).unwrap_or(name);
        Directive { upper: self.upper || self.change_case, ..*self }.text(output, name)
    }

    fn lower(&self, output: &mut Output, text: &str) -> Option<()> {
        Directive { upper: false, ..*self }.text(output, text)
    }

    fn text(&self, output: &mut Output, text: &str) -> Option<()> {
        let padding = if self.pad == Some('0') { '0' } else { ' ' };
        if self.upper {
            return output.add(&text.chars().map(uppercase).collect::<String>(), self.width, padding);
        }
        output.add(text, self.width, padding)
    }

    fn number(&self, output: &mut Output, digits: usize, value: i64, spaces: bool) -> Option<()> {
        let text = value.to_string();
        match self.pad {
            Some('-') => output.add(&text, self.width, ' '),
            Some('0') => output.add(&text, self.width.max(digits), '0'),
            None if !spaces => output.add(&text, self.width.max(digits), '0'),
            _ => output.add(&text, self.width.max(digits), ' '),
        }
    }
}

/// Conversions that stand for others.
fn subformat(conversion: char) -> Option<&'static str> {
    Some(match conversion {
        'c' => "%a %b %e %H:%M:%S %Y",
        'D' | 'x' => "%m/%d/%y",
        'F' => "%Y-%m-%d",
        'r' => "%I:%M:%S %p",
        'R' => "%H:%M",
        'T' | 'X' => "%H:%M:%S",
        _ => return None,
    })
}

/// How many digits a conversion has at least, and their value.
fn number(conversion: char, at: DateTime) -> Option<(usize, i64)> {
    let year = i64::from(at.year());
    let day_of_year = i64::from(at.day_of_year()) - 1;
    let since_sunday = i64::from(at.weekday().to_sunday_zero_offset());
    let since_monday = i64::from(at.weekday().to_monday_zero_offset());
    let iso = at.date().iso_week_date();
    Some(match conversion {
        'C' => (1, year.div_euclid(100)),
        'd' | 'e' => (2, at.day().into()),
        'g' => (2, i64::from(iso.year()).rem_euclid(100)),
        'G' => (1, iso.year().into()),
        'H' | 'k' => (2, at.hour().into()),
        'I' | 'l' => (2, (i64::from(at.hour()) + 11) % 12 + 1),
        'j' => (3, day_of_year + 1),
        'm' => (2, at.month().into()),
        'M' => (2, at.minute().into()),
        'S' => (2, at.second().into()),
        'u' => (1, since_monday + 1),
        'U' => (2, (day_of_year - since_sunday + 7) / 7),
        'V' => (2, iso.week().into()),
        'w' => (1, since_sunday),
        'W' => (2, (day_of_year - since_monday + 7) / 7),
        'y' => (2, year.rem_euclid(100)),
        'Y' => (1, year),
        _ => return None,
    })
}

/// What `mktime` makes of a wall clock in UTC, whatever zone it hangs in. It takes daylight saving time for an
/// hour ahead, though UTC has none.
fn seconds_since_1970(at: Moment) -> i64 {
    let since = at.clock.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
    let hour = if at.daylight_saving { 3600 } else { 0 };
    since.as_secs() - i64::from(since.subsec_nanos() < 0) - hour
}

/// C's `towupper`: one character for one.
fn uppercase(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::timetable::Zone;
    use crate::timetable::local_time::Place;

    fn time(wall: DateTime, zone: &Zone) -> LocalTime<'_> {
        LocalTime { wall, place: Place::Nowhere }.into_zone(zone).unwrap()
    }

    #[test]
    fn keys_are_written_as_python_writes_them() {
        let zone = Zone::named("America/New_York").unwrap();
        let at = time(date(2024, 3, 5).at(4, 7, 9, 12_000), &zone);
        for (directives, expected) in [
            ("%Y-%m-%dT%H:%M:%S", "2024-03-05T04:07:09"),
            ("%a %A %b %B %h", "Tue Tuesday Mar March Mar"),
            ("%c", "Tue Mar  5 04:07:09 2024"),
            ("%C %d %D %e %F", "20 05 03/05/24  5 2024-03-05"),
            ("%g %G %V %u %w %U %W", "24 2024 10 2 2 09 10"),
            ("%f", "000012"),
            ("%I %j %k %l %p %P", "04 065  4  4 AM am"),
            ("%n%t%%", "\n\t%"),
            ("%r %R %T %x %X", "04:07:09 AM 04:07 04:07:09 03/05/24 04:07:09"),
            ("%s %y", "1709611629 24"),
            ("%Z %z", "EST -0500"),
            ("%^a %#B %#p %^P", "TUE MARCH am am"),
            ("%-d %_d %05d %5d %_5d %-5d", "5  5 00005 00005     5     5"),
            ("%10A %010a %5n", "   Tuesday 0000000Tue     \n"),
            ("%Ey %Od %EY %OY %Ed", "24 05 2024 %OY %Ed"),
            ("%Q %5Q %^q %E5d", "%Q   %5Q %^Q %E5d"),
            ("%E%|%^#Eb", "%|%^#EB"),
            ("%-z %5z %_z %#Z %5Z", "+0     +00000 +   0 utc   UTC"),
            ("100%", "100%"),
            ("%-f %:z", "%-f %:z"),
            ("%%z %%%z", "%z %-0500"),
            ("é%^é", "é%^É"),
            ("%Y\0%m", "2024"),
        ] {
            assert_eq!(format(&at, directives), expected, "{directives}");
        }
    }

    #[test]
    fn zones_and_early_years() {
        let noon = |year: i16| date(year, 7, 1).at(12, 0, 0, 0);
        let written = |at: DateTime, zone: Zone, text| format(&time(at, &zone), text);
        let new_york = Zone::named("America/New_York").unwrap();
        let offset = |seconds| Zone::fixed(seconds).unwrap();
        assert_eq!(written(noon(7), Zone::UTC, "%Y-%m-%d %C %G"), "7-07-01 0 7");
        assert_eq!(written(noon(2024), Zone::UTC, "%Z %z"), "UTC +0000");
        assert_eq!(written(noon(2024), offset(-12_600), "%Z %z"), "-03:30 -0330");
        assert_eq!(written(noon(1950), offset(-2670), "%z"), "-004430");
        // An hour less than the wall clock in UTC: the C library corrects for daylight saving time.
        assert_eq!(written(noon(2024), new_york, "%Z %s"), "EDT 1719831600");
        let nowhere = LocalTime { wall: noon(2024), place: Place::Nowhere };
        assert_eq!(format(&nowhere, "%H%z|%Z|%s"), "12||1719835200");
        let somewhere =
            |microseconds| LocalTime { wall: noon(2024), place: Place::Offset { microseconds, name: None } };
        assert_eq!(format(&somewhere(-12_600_000_000), "%Z %z"), "UTC-03:30 -0330");
        assert_eq!(format(&somewhere(1_500_000), "%Z %z"), "UTC+00:00:01.500000 +000001.500000");
        assert_eq!(format(&somewhere(0), "%Z %z"), "UTC +0000");
    }

    #[test]
    fn what_is_far_too_long_is_not_written() {
        let at = LocalTime { wall: date(2024, 3, 5).at(0, 0, 0, 0), place: Place::Nowhere };
        assert_eq!(format(&at, "%2047d").len(), 2047);
        assert_eq!(format(&at, "%2048d"), "");
        assert_eq!(format(&at, "%99999999999999999999999d"), "");
    }
}
