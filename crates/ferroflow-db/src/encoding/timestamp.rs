//! Timestamps: always UTC, in microseconds.
//!
//! SQLite keeps them as text and compares them as text, so the form has to be the one that SQLAlchemy writes,
//! to the digit.

use chrono::{DateTime, Utc};
use jiff::civil;
use jiff::{Timestamp, tz::TimeZone};

/// As the drivers of PostgreSQL and MySQL take it. Both columns hold microseconds.
pub(crate) fn to_chrono(time: Timestamp) -> DateTime<Utc> {
    // Down, as the text form does, also before 1970.
    let micros = i64::try_from(time.as_nanosecond().div_euclid(1000)).expect("jiff's range fits");
    DateTime::from_timestamp_micros(micros).expect("jiff's range lies within chrono's")
}

pub(crate) fn from_chrono(time: DateTime<Utc>) -> Result<Timestamp, jiff::Error> {
    Timestamp::from_microsecond(time.timestamp_micros())
}

/// From microseconds since the year 2000, as PostgreSQL sends them. Its infinities are the ends of their range.
pub(crate) fn from_postgres(since_2000: i64) -> Result<Timestamp, jiff::Error> {
    const YEAR_2000: i64 = 946_684_800_000_000;
    Timestamp::from_microsecond(since_2000.saturating_add(YEAR_2000))
}

pub(crate) fn to_sqlite_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// Reads what SQLAlchemy wrote, and what SQLite's own `CURRENT_TIMESTAMP` writes (no fraction).
pub(crate) fn from_sqlite_text(text: &str) -> Result<Timestamp, jiff::Error> {
    let civil: civil::DateTime = text.parse()?;
    Ok(civil.to_zoned(TimeZone::UTC)?.timestamp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_of_postgres_are_read_and_infinity_is_none() {
        assert_eq!(from_postgres(0).unwrap(), "2000-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(from_postgres(-1).unwrap(), "1999-12-31T23:59:59.999999Z".parse().unwrap());
        assert!(from_postgres(i64::MAX).is_err() && from_postgres(i64::MIN).is_err());
    }

    #[test]
    fn sqlite_text_always_has_six_digits() {
        for (time, text) in [
            ("2026-11-15T19:46:41Z", "2026-11-15 19:46:41.000000"),
            ("2026-11-15T19:46:41.5827049Z", "2026-11-15 19:46:41.582704"),
            ("0987-01-02T03:04:05.000006Z", "0987-01-02 03:04:05.000006"),
        ] {
            assert_eq!(to_sqlite_text(time.parse().unwrap()), text);
        }
    }

    proptest! {
        /// SQLite compares them as text.
        #[test]
        fn sqlite_text_sorts_as_time_does_and_reads_back(seconds in prop::array::uniform2(YEARS_1_TO_9999), micros in 0..1_000_000) {
            let [one, other] = seconds.map(|seconds| Timestamp::new(seconds, micros * 1000).unwrap());
            prop_assert_eq!(one.cmp(&other), to_sqlite_text(one).cmp(&to_sqlite_text(other)));
            prop_assert_eq!(from_sqlite_text(&to_sqlite_text(one)).unwrap(), one);
            prop_assert_eq!(from_chrono(to_chrono(one)).unwrap(), one);
            let between = one + jiff::SignedDuration::from_nanos(999);
            prop_assert_eq!(from_chrono(to_chrono(between)).unwrap(), one);
            prop_assert_eq!(to_sqlite_text(between), to_sqlite_text(one));
        }
    }

    /// What Python's datetime can say, in seconds since 1970.
    const YEARS_1_TO_9999: std::ops::Range<i64> = -62_135_596_800..253_402_207_200;

    #[test]
    fn both_forms_of_sqlite_text_are_read() {
        let expected: Timestamp = "2026-11-15T19:46:41Z".parse().unwrap();
        for text in ["2026-11-15 19:46:41", "2026-11-15 19:46:41.000000"] {
            assert_eq!(from_sqlite_text(text).unwrap(), expected);
        }
    }
}
