//! What was read of a date and time, and which one it is.

use jiff::Span;
use jiff::civil::{Date, DateTime, Time};

use super::pattern::{Found, digit};
use crate::timetable::local_time::Place;

/// What a key says. Weekdays count from Monday, which is 0.
#[derive(Default)]
pub(super) struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    weekday: Option<i64>,
    week: Option<Week>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    microsecond: i64,
    /// How many microseconds it is ahead of UTC.
    offset: Option<i64>,
    zone_name: Option<String>,
}

/// A week of a year that starts with its first Sunday, or Monday; what is before is week 0.
#[derive(Clone, Copy)]
struct Week {
    number: i64,
    from_monday: bool,
}

impl Fields {
    /// Understands what directives found, one after the other: of two for the same thing the later counts.
    pub(super) fn of(found: &Found) -> Result<Self, String> {
        let mut fields = Self::default();
        for (directive, text) in found {
            let number = number(text);
            match directive {
                'y' => fields.year = Some(if number <= 68 { 2000 + number } else { 1900 + number }),
                'Y' => fields.year = Some(number),
                'G' => fields.iso_year = Some(number),
                'm' => fields.month = Some(number),
                'b' | 'B' => fields.month = Some(month(text)?),
                'd' => fields.day = Some(number),
                'j' => fields.day_of_year = Some(number),
                'a' | 'A' => fields.weekday = Some(weekday(text)?),
                'w' => fields.weekday = Some((number + 6) % 7),
                'u' => fields.weekday = Some(number - 1),
                'U' => fields.week = Some(Week { number, from_monday: false }),
                'W' => fields.week = Some(Week { number, from_monday: true }),
                'V' => fields.iso_week = Some(number),
                'H' => fields.hour = number,
                'I' => fields.hour = number % 12 + if is_afternoon(found) { 12 } else { 0 },
                'M' => fields.minute = number,
                'S' => fields.second = number,
                'f' => fields.microsecond = (text.len()..6).fold(number, |number, _| number * 10),
                'z' => fields.offset = Some(offset(text)?),
                'Z' => fields.zone_name = Some(text.iter().collect()),
                _ => {}
            }
        }
        Ok(fields)
    }

    /// Where the clock hangs. A name alone says nothing.
    pub(super) fn place(&self) -> Place<'static> {
        match self.offset {
            Some(microseconds) => Place::Offset { microseconds, name: self.zone_name.clone() },
            None => Place::Nowhere,
        }
    }

    /// The date and time.
    pub(super) fn datetime(&self) -> Result<DateTime, String> {
        self.check_iso()?;
        let date = self.date()?;
        let part = |value: i64| i8::try_from(value).unwrap_or(i8::MAX);
        let nanosecond = i32::try_from(self.microsecond * 1000).unwrap_or(i32::MAX);
        let time = Time::new(part(self.hour), part(self.minute), part(self.second), nanosecond);
        // Only seconds can be too many: 60 and 61 are read, as a leap second has them.
        let time = time.map_err(|_| format!("there is no second {}", self.second))?;
        Ok(date.to_datetime(time))
    }

    /// An ISO year goes with an ISO week and a weekday, and they with it.
    fn check_iso(&self) -> Result<(), String> {
        let complaint = match (self.year, self.iso_year, self.iso_week) {
            (None, Some(_), None) => "`%G` needs the ISO week, `%V`",
            (None, Some(_), Some(_)) if self.weekday.is_none() => {
                "`%G` needs a weekday: `%A`, `%a`, `%w` or `%u`"
            }
            (None, Some(_), Some(_)) if self.day_of_year.is_some() => "`%j` goes with `%Y`, not with `%G`",
            (None, Some(_), Some(_)) => return Ok(()),
            (_, _, Some(_)) if self.week.is_none() => {
                "`%V` goes with `%G` and a weekday, not with `%Y` or `%y`"
            }
            _ => return Ok(()),
        };
        Err(complaint.to_owned())
    }

    fn date(&self) -> Result<Date, String> {
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        // 1900 has no 29 February. One without a year is looked at in 1904, and refused in the end unless the key
        // also says by other means which day it is.
        let leap_day = self.year.is_none() && (month, day) == (2, 29);
        let year = self.year.unwrap_or(if leap_day { 1904 } else { 1900 });
        let found = match (self.day_of_year, self.weekday, self.week, self.iso_year, self.iso_week) {
            (Some(day_of_year), ..) => nth_day(year, day_of_year),
            (None, Some(weekday), Some(week), ..) => week.day(year, weekday),
            (None, Some(weekday), None, Some(year), Some(week)) => iso_day(year, week, weekday),
            _ => date(year, month, day),
        }?;
        if leap_day { date(1900, found.month().into(), found.day().into()) } else { Ok(found) }
    }
}

impl Week {
    fn day(self, year: i64, weekday: i64) -> Result<Date, String> {
        let new_year = i64::from(date(year, 1, 1)?.weekday().to_monday_zero_offset());
        let since_start = |weekday: i64| if self.from_monday { weekday } else { (weekday + 1) % 7 };
        let (first, wanted) = (since_start(new_year), since_start(weekday));
        if self.number == 0 {
            return nth_day(year, 1 + wanted - first);
        }
        let before_week_1 = (7 - first) % 7;
        nth_day(year, 1 + before_week_1 + 7 * (self.number - 1) + wanted)
    }
}

/// Week 1 is the one with 4 January. A week 0, or 53 in a year of 52, counts on into the neighbour.
fn iso_day(year: i64, week: i64, weekday: i64) -> Result<Date, String> {
    let fourth = i64::from(date(year, 1, 4)?.weekday().to_monday_zero_offset());
    nth_day(year, week * 7 + weekday - fourth - 3)
}

/// The nth day from the start of a year, which may lie in another year.
fn nth_day(year: i64, n: i64) -> Result<Date, String> {
    let new_year = date(year, 1, 1)?;
    let day = Span::new().try_days(n - 1).and_then(|days| new_year.checked_add(days)).ok();
    day.filter(|day| day.year() >= 1).ok_or_else(|| format!("there is no day {n} of the year {year}"))
}

fn date(year: i64, month: i64, day: i64) -> Result<Date, String> {
    let found = match (i16::try_from(year), i8::try_from(month), i8::try_from(day)) {
        (Ok(year @ 1..), Ok(month), Ok(day)) => Date::new(year, month, day).ok(),
        _ => None,
    };
    found.ok_or_else(|| format!("there is no {year:04}-{month:02}-{day:02}"))
}

/// Digits of any script; a space before them does not count.
fn number(text: &[char]) -> i64 {
    text.iter().filter_map(|c| digit(*c)).fold(0, |number, digit| number * 10 + i64::from(digit))
}

fn month(text: &[char]) -> Result<i64, String> {
    named(text, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
        .map(|month| month + 1)
}

fn weekday(text: &[char]) -> Result<i64, String> {
    named(text, &["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
}

/// Which name it is; its first three letters say. A name with the long s of old prints matches, as the regular
/// expression takes it for an s, but is in no list.
fn named(text: &[char], names: &[&str]) -> Result<i64, String> {
    let text: String = text.iter().collect();
    let position =
        names.iter().position(|name| text.is_ascii() && text.to_ascii_lowercase().starts_with(name));
    let position = position.and_then(|position| i64::try_from(position).ok());
    position.ok_or_else(|| format!("there is no `{text}`"))
}

fn is_afternoon(found: &Found) -> bool {
    found.iter().any(|(directive, text)| *directive == 'p' && matches!(text.first(), Some('p' | 'P')))
}

/// An offset is less than a day, and has a colon everywhere or nowhere. `Z` is none.
fn offset(text: &[char]) -> Result<i64, String> {
    let mixed = match text.get(3) {
        Some(':') => text.get(6).is_some_and(|c| *c != ':'),
        _ => text.get(5) == Some(&':'),
    };
    if mixed {
        return Err("the offset has a colon in one place and not in the other".to_owned());
    }
    let digits: Vec<char> = text.iter().copied().filter(|c| digit(*c).is_some()).collect();
    let part = |from: usize, to: usize| number(digits.get(from..to.min(digits.len())).unwrap_or_default());
    let hours = part(0, 2);
    if hours >= 24 {
        return Err(format!("there is no offset of {hours} hours"));
    }
    let fraction = (digits.len()..12).fold(part(6, 12), |fraction, _| fraction * 10);
    let microseconds = ((hours * 60 + part(2, 4)) * 60 + part(4, 6)) * 1_000_000 + fraction;
    Ok(if text.first() == Some(&'-') { -microseconds } else { microseconds })
}
