//! How long that rests which has failed: longer each time.

use jiff::{SignedDuration, Timestamp};

/// The first rest. It doubles each time,
const FIRST: SignedDuration = SignedDuration::from_secs(5);
/// up to this.
const LONGEST: SignedDuration = SignedDuration::from_mins(1);

/// The rest of something that has failed. Success makes it anew.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    failures: u32,
    until: Option<Timestamp>,
}

impl Rest {
    pub(crate) fn is_on(&self, now: Timestamp) -> bool {
        // One that is further away than it was is that of a clock that was set back.
        self.until.is_some_and(|until| until > now && until.duration_since(now) <= LONGEST)
    }

    /// It has failed. What had been begun before this rest, and fails now, makes it no longer.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        if self.is_on(now) {
            return;
        }
        let rest = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now.checked_add(rest).unwrap_or(Timestamp::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_rest_doubles_up_to_a_minute_and_several_failures_at_a_time_are_one() {
        let (mut rest, mut now, mut lengths) = (Rest::default(), 1_000, Vec::new());
        for _ in 0..6 {
            rest.begin(at(now));
            rest.begin(at(now + 1));
            let end = (now..now + 100).find(|second| !rest.is_on(at(*second))).unwrap();
            lengths.push(end - now);
            now = end;
        }
        assert_eq!(lengths, [5, 10, 20, 40, 60, 60]);
        rest.begin(at(now));
        assert!(!rest.is_on(at(0)), "the clock was set back");
    }
}
