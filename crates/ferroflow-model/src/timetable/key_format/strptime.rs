//! Python's `datetime.strptime` in the C locale.

use super::fields::Fields;
use super::pattern::Pattern;
use crate::timetable::local_time::LocalTime;

/// Why a key cannot be read by a format.
///
/// Airflow calls a key invalid for all of these, except that [`RepeatedDirective`](Self::RepeatedDirective) and
/// [`Offset`](Self::Offset) are plain errors there: no key could be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyMismatch {
    /// The format has a directive that can only be written, or not even that.
    #[error("`%{directive}` in the format is not a directive that keys can be read by")]
    UnknownDirective {
        /// What follows the `%`.
        directive: char,
    },
    /// The format ends with a `%`.
    #[error("the format ends with a single `%`; a percent sign is written as `%%`")]
    StrayPercent,
    /// The format has a directive twice.
    #[error("the format has `%{directive}` more than once, possibly as a part of `%c`, `%x` or `%X`")]
    RepeatedDirective {
        /// What follows the `%`.
        directive: char,
    },
    /// The key does not look like the format.
    #[error("`{key}` does not match the format `{format}`")]
    NoMatch {
        /// The key.
        key: String,
        /// The format.
        format: String,
    },
    /// The key goes on where the format ends.
    #[error("`{rest}` is left over after the format `{format}`")]
    LeftOver {
        /// The end of the key.
        rest: String,
        /// The format.
        format: String,
    },
    /// The key looks like the format, but makes no date and time.
    #[error("`{key}` is not a date and time: {reason}")]
    NoSuchTime {
        /// The key.
        key: String,
        /// Why.
        reason: String,
    },
    /// The format has `%z`, and the key an offset.
    #[error("the format has `%z`, but keys are read in the zone of the timetable")]
    Offset,
}

/// Reads a key by a format. What the format does not have is taken from 1900-01-01 00:00:00. The time hangs
/// somewhere only if the key says how far ahead of UTC.
pub(crate) fn parse(key: &str, format: &str) -> Result<LocalTime<'static>, KeyMismatch> {
    let pattern = Pattern::of(format)?;
    let characters: Vec<char> = key.chars().collect();
    let Some((found, end)) = pattern.find(&characters) else {
        return Err(KeyMismatch::NoMatch { key: key.to_owned(), format: format.to_owned() });
    };
    if end < characters.len() {
        let rest = characters[end..].iter().collect();
        return Err(KeyMismatch::LeftOver { rest, format: format.to_owned() });
    }
    let no_such_time = |reason| KeyMismatch::NoSuchTime { key: key.to_owned(), reason };
    let fields = Fields::of(&found).map_err(no_such_time)?;
    Ok(LocalTime { wall: fields.datetime().map_err(no_such_time)?, place: fields.place() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_python_reads_them() {
        for (key, directives, expected) in [
            ("2024-03-05T06:07:08", "%Y-%m-%dT%H:%M:%S", "2024-03-05T06:07:08"),
            ("2024111", "%Y%m%d", "2024-11-01T00:00:00"),
            ("2024 1  5", "%Y %m %d", "2024-01-05T00:00:00"),
            ("68", "%y", "2068-01-01T00:00:00"),
            ("69", "%y", "1969-01-01T00:00:00"),
            ("12 am", "%I %p", "1900-01-01T00:00:00"),
            ("12 PM", "%I %p", "1900-01-01T12:00:00"),
            ("1.5", "%S.%f", "1900-01-01T00:00:01.5"),
            ("2024-060", "%Y-%j", "2024-02-29T00:00:00"),
            ("2023-366", "%Y-%j", "2024-01-01T00:00:00"),
            ("2024 00 1", "%Y %W %u", "2024-01-01T00:00:00"),
            ("2024 00 0", "%Y %U %w", "2023-12-31T00:00:00"),
            ("2024-W53-7", "%G-W%V-%u", "2025-01-05T00:00:00"),
            ("2021-w01-mon", "%G-W%V-%a", "2021-01-04T00:00:00"),
            ("tue mar  5 04:07:09 2024", "%c", "2024-03-05T04:07:09"),
            ("MAY 2024", "%B %Y", "2024-05-01T00:00:00"),
            ("２０２４", "%Y", "2024-01-01T00:00:00"),
            ("2024\t \u{2003}05", "%Y %m", "2024-05-01T00:00:00"),
            ("utc 1% ", "%Z %d%% ", "1900-01-01T00:00:00"),
            ("02-29 100", "%m-%d %j", "1900-04-09T00:00:00"),
            ("", "", "1900-01-01T00:00:00"),
        ] {
            assert_eq!(parse(key, directives).unwrap().wall.to_string(), expected, "{key} by {directives}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (key, directives, expected) in [
            ("24", "%Y", "`24` does not match the format `%Y`"),
            ("2024-13", "%Y-%m", "`3` is left over after the format `%Y-%m`"),
            ("2024-02-30", "%Y-%m-%d", "`2024-02-30` is not a date and time: there is no 2024-02-30"),
            ("02-29", "%m-%d", "`02-29` is not a date and time: there is no 1900-02-29"),
            ("0000", "%Y", "`0000` is not a date and time: there is no 0000-01-01"),
            ("61", "%S", "`61` is not a date and time: there is no second 61"),
            ("9999-366", "%Y-%j", "`9999-366` is not a date and time: there is no day 366 of the year 9999"),
            ("2024", "%G", "`2024` is not a date and time: `%G` needs the ISO week, `%V`"),
            ("ſun", "%a", "`ſun` is not a date and time: there is no `ſun`"),
            ("+2400", "%z", "`+2400` is not a date and time: there is no offset of 24 hours"),
            ("1", "%-d", "`%-` in the format is not a directive that keys can be read by"),
            ("1", "%", "the format ends with a single `%`; a percent sign is written as `%%`"),
            ("x", "%z", "`x` does not match the format `%z`"),
        ] {
            assert_eq!(parse(key, directives).unwrap_err().to_string(), expected, "{key} by {directives}");
        }
        for (key, directives) in [
            ("2024 10", "%G %V"),
            ("2024 10 1", "%Y %V %u"),
            ("2024 10 1 060", "%G %V %u %j"),
            ("+05:3020", "%z"),
            ("+0530:20", "%z"),
        ] {
            let mismatch = parse(key, directives).unwrap_err();
            assert!(matches!(mismatch, KeyMismatch::NoSuchTime { .. }), "{key} by {directives}: {mismatch}");
        }
    }

    #[test]
    fn some_formats_fit_no_key() {
        assert_eq!(parse("1 1", "%d %d"), Err(KeyMismatch::RepeatedDirective { directive: 'd' }));
        assert_eq!(parse("1", "%d %c"), Err(KeyMismatch::RepeatedDirective { directive: 'd' }));
    }

    #[test]
    fn offsets_are_read_to_the_microsecond() {
        for (key, directives, expected) in [
            ("+05:30:01.5", "%z", "1900-01-01T00:00:00+05:30:01.500000"),
            ("-053001.000002", "%z", "1900-01-01T00:00:00-05:30:01.000002"),
            ("-23:59", "%z", "1900-01-01T00:00:00-23:59"),
            ("Z", "%z", "1900-01-01T00:00:00+00:00"),
            ("gmt", "%Z", "1900-01-01T00:00:00"),
        ] {
            assert_eq!(parse(key, directives).unwrap().iso_format(), expected, "{key} by {directives}");
        }
        assert_eq!(parse("gmt +0200", "%Z %z").unwrap().zone_name(), "gmt");
    }

    #[test]
    fn long_keys_take_no_long() {
        let digits = "1".repeat(100_000);
        assert!(parse(&digits, "%m%d%H%M%S%j%U%V%w%u%y%f%G%Y%I%Wx").is_err());
        let spaces = " ".repeat(100_000);
        assert!(parse(&spaces, " %d %H %M").is_err());
        assert!(parse(&" a".repeat(50_000), &" A".repeat(50_000)).is_ok());
    }
}
