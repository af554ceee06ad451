//! The one place where the process reads a clock.
//!
//! Whoever acts reads it once and hands `now` on, so that a decision and the rows it writes agree on the time,
//! and tests choose it.

use jiff::{Timestamp, Unit};

/// The time, in the microseconds that the database keeps: what is written reads back equal.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Timestamp {
    let exact = Timestamp::now();
    exact
        .round(jiff::TimestampRound::new().smallest(Unit::Microsecond).mode(jiff::RoundMode::Floor))
        .unwrap_or(exact)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_time_has_whole_microseconds() {
        assert_eq!(super::now().as_nanosecond() % 1000, 0);
    }
}
