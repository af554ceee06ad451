//! User code that hangs or crashes: it is asked less and less often, so that the others keep their processes.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::helper::{HelperError, whole_second};

/// What cost a process is left alone for this long, then for twice as long,
const FIRST: SignedDuration = SignedDuration::from_secs(30);
/// up to this.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// What stands between why somebody is left alone and when it is asked again: up to here, a reason is the same each time.
pub const ASKED_AGAIN: &str = "; it is asked again at ";

/// Beyond so many bad ones, the oldest offences are not the problem.
const MOST: usize = 1_000;

/// Who is left alone, by what tells them apart.
#[derive(Default)]
pub(crate) struct Quarantine(HashMap<String, Offence>);

/// Somebody's time has not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftAlone {
    /// When it is asked again.
    pub(crate) until: Timestamp,
    /// What happened the last time.
    pub(crate) last: String,
}

struct Offence {
    /// What was asked.
    method: String,
    last: String,
    at: Timestamp,
    /// How long it is left alone.
    pause: SignedDuration,
}

impl Quarantine {
    /// Refuses who is left alone: for so many times its pause.
    pub(crate) fn admit(&self, who: &str, times: i32, now: Timestamp) -> Result<(), LeftAlone> {
        let Some(offence) = self.0.get(who) else {
            return Ok(());
        };
        // A clock that was set back counts as no time gone by.
        let since = offence.at.min(now);
        let left = offence.pause.saturating_mul(times) - now.duration_since(since);
        match Duration::try_from(left) {
            Ok(pause) if pause > Duration::ZERO => {
                Err(LeftAlone { until: whole_second(now, pause), last: offence.last.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Whether somebody has cost a process and not answered since.
    pub(crate) fn has_offended(&self, who: &str) -> bool {
        self.0.contains_key(who)
    }

    /// Leaves somebody alone, for twice as long each time.
    pub(crate) fn note(&mut self, who: &str, method: &str, error: &HelperError, now: Timestamp) {
        let before = self.0.get(who).map(|offence| offence.pause);
        let pause = before.map_or(FIRST, |pause| pause.saturating_mul(2).min(LONGEST));
        self.leave_alone(who, method, error, pause, now);
    }

    /// Leaves somebody alone, for as long each time.
    pub(crate) fn note_again(&mut self, who: &str, method: &str, error: &HelperError, now: Timestamp) {
        self.leave_alone(who, method, error, FIRST, now);
    }

    fn leave_alone(
        &mut self,
        who: &str,
        method: &str,
        error: &HelperError,
        pause: SignedDuration,
        now: Timestamp,
    ) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let (method, last) = (method.to_owned(), error.to_string());
        self.0.insert(who.to_owned(), Offence { method, last, at: now, pause });
    }

    /// Forgets what somebody did when it was asked this.
    pub(crate) fn forgive(&mut self, who: &str, method: &str) {
        if self.0.get(who).is_some_and(|offence| offence.method == method) {
            self.0.remove(who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_costs_a_process_is_left_alone_for_longer_each_time() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let error = HelperError::TimedOut { purpose: "x".to_owned(), limit: Duration::from_secs(1) };
        let mut quarantine = Quarantine::default();
        quarantine.note("bad", "next", &error, at(0));
        assert!(quarantine.admit("good", 1, at(0)).is_ok());
        assert!(quarantine.has_offended("bad") && !quarantine.has_offended("good"));
        let last = "the Python process for x gave no answer within 1s and was ended".to_owned();
        let left_alone = LeftAlone { until: at(30), last };
        assert_eq!(quarantine.admit("bad", 1, at(10)).unwrap_err(), left_alone);
        assert_eq!(quarantine.admit("bad", 1, at(20)).unwrap_err(), left_alone, "the reason is the same");
        assert!(quarantine.admit("bad", 1, at(30)).is_ok());
        quarantine.note("bad", "next", &error, at(30));
        assert!(quarantine.admit("bad", 1, at(80)).is_err());
        assert!(quarantine.admit("bad", 1, at(90)).is_ok());
        for _ in 0..50 {
            quarantine.note("bad", "next", &error, at(100));
        }
        assert!(quarantine.admit("bad", 1, at(699)).is_err());
        assert!(quarantine.admit("bad", 1, at(700)).is_ok());
        quarantine.forgive("bad", "next");
        assert!(quarantine.admit("bad", 1, at(100)).is_ok());
    }
}
