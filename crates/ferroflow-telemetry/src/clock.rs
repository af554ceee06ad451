//! The one place where the process reads a clock.
//!
//! The caller reads it once and hands `now` on, so that a decision and the rows it writes agree on the time,
//! and tests choose it.

#[cfg(feature = "testing")]
use std::cell::Cell;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp, Unit};

#[cfg(feature = "testing")]
std::thread_local! {
    static PRETENDED: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// What the clock says on this thread from now on, whatever the time is: a simulation has a time of its own. With `None`
/// it is the time again.
#[cfg(feature = "testing")]
pub fn pretend(time: Option<Timestamp>) {
    PRETENDED.set(time);
}

/// The time, in the microseconds that the database keeps: what is written reads back equal.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Timestamp {
    #[cfg(feature = "testing")]
    if let Some(pretended) = PRETENDED.get() {
        return pretended;
    }
    let exact = Timestamp::now();
    exact
        .round(jiff::TimestampRound::new().smallest(Unit::Microsecond).mode(jiff::RoundMode::Floor))
        .unwrap_or(exact)
}

/// A length of time as dates are reckoned with. One that is too long for that is as long as can be.
pub fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

/// Measures how long something takes, whatever happens to the clock on the wall.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_time_has_whole_microseconds() {
        assert_eq!(super::now().as_nanosecond() % 1000, 0);
    }

    #[test]
    fn a_stopwatch_measures_from_its_start() {
        let watch = super::Stopwatch::start();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(watch.elapsed() >= std::time::Duration::from_millis(2));
    }
}
