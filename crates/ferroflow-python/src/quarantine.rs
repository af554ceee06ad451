//! User code that hangs or crashes: it is asked less and less often, so that the others keep their processes.

use std::collections::HashMap;
use std::time::Duration;

use ferroflow_telemetry::chain;
use jiff::{SignedDuration, Timestamp};

use crate::helper::{HelperError, whole_second};

/// What cost a process is left alone for this long, then for twice as long,
const FIRST: SignedDuration = SignedDuration::from_secs(30);
/// up to this.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// What stands between why user code is left alone and when it is asked again: up to here, a reason is the same each time.
pub const ASKED_AGAIN: &str = "; it is asked again at ";

/// Beyond so many bad ones, the oldest offences are not the problem.
const MOST: usize = 1_000;

/// Who is left alone, by what tells them apart.
#[derive(Default)]
pub(crate) struct Quarantine(HashMap<String, Offence>);

/// Its time has not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftAlone {
    /// When it is asked again.
    pub(crate) until: Timestamp,
    /// Which user code cost a process the last time: maybe another of the same class.
    pub(crate) whose: String,
    /// What happened then, in the words that were used at once.
    pub(crate) last: String,
}

/// User code costs a process.
#[derive(Clone, Copy)]
pub(crate) struct Deed<'a> {
    pub(crate) whose: &'a str,
    /// What was asked.
    pub(crate) method: &'a str,
    pub(crate) error: &'a HelperError,
}

struct Offence {
    whose: String,
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
                let (whose, last) = (offence.whose.clone(), offence.last.clone());
                Err(LeftAlone { until: whole_second(now, pause), whose, last })
            }
            _ => Ok(()),
        }
    }

    /// Whether user code has cost a process and not answered since.
    pub(crate) fn has_offended(&self, who: &str) -> bool {
        self.0.contains_key(who)
    }

    /// Leaves user code alone, for twice as long each time.
    pub(crate) fn note(&mut self, who: &str, deed: Deed<'_>, now: Timestamp) {
        let before = self.0.get(who).map(|offence| offence.pause);
        let pause = before.map_or(FIRST, |pause| pause.saturating_mul(2).min(LONGEST));
        self.leave_alone(who, deed, pause, now);
    }

    /// Leaves user code alone, for as long each time.
    pub(crate) fn note_again(&mut self, who: &str, deed: Deed<'_>, now: Timestamp) {
        self.leave_alone(who, deed, FIRST, now);
    }

    fn leave_alone(&mut self, who: &str, deed: Deed<'_>, pause: SignedDuration, now: Timestamp) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let (whose, method, last) = (deed.whose.to_owned(), deed.method.to_owned(), chain(deed.error));
        self.0.insert(who.to_owned(), Offence { whose, method, last, at: now, pause });
    }

    /// Forgets what user code did when it was asked this.
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
        let deed = Deed { whose: "bad", method: "next", error: &error };
        let mut quarantine = Quarantine::default();
        quarantine.note("bad", deed, at(0));
        assert!(quarantine.admit("good", 1, at(0)).is_ok());
        assert!(quarantine.has_offended("bad") && !quarantine.has_offended("good"));
        let last = "the Python process for x gave no answer within 1s and was ended".to_owned();
        let left_alone = LeftAlone { until: at(30), whose: "bad".to_owned(), last };
        assert_eq!(quarantine.admit("bad", 1, at(10)).unwrap_err(), left_alone);
        assert_eq!(quarantine.admit("bad", 1, at(20)).unwrap_err(), left_alone, "the reason is the same");
        assert!(quarantine.admit("bad", 1, at(30)).is_ok());
        quarantine.note("bad", deed, at(30));
        assert!(quarantine.admit("bad", 1, at(80)).is_err());
        assert!(quarantine.admit("bad", 1, at(90)).is_ok());
        for _ in 0..50 {
            quarantine.note("bad", deed, at(100));
        }
        assert!(quarantine.admit("bad", 1, at(699)).is_err());
        assert!(quarantine.admit("bad", 1, at(700)).is_ok());
        quarantine.forgive("bad", "next");
        assert!(quarantine.admit("bad", 1, at(100)).is_ok());
    }

    /// Why there is no answer is logged once, and this is what it is known by.
    #[test]
    fn a_crash_is_told_in_the_same_words_at_once_and_in_quarantine() {
        use std::error::Error;
        use std::io;

        use crate::task_instances::InstanceRuleError;
        use crate::timetables::{ReferenceError, TimetableError};

        let now = Timestamp::UNIX_EPOCH;
        let died = || HelperError::Died {
            purpose: "x".to_owned(),
            how: "exit code 3".to_owned(),
            problem: io::Error::other("the connection was closed"),
        };
        let mut quarantine = Quarantine::default();
        quarantine.note("a", Deed { whose: "a", method: "next", error: &died() }, now);
        let LeftAlone { until, whose, last } = quarantine.admit("a", 1, now).unwrap_err();
        let name = || "a".to_owned();
        let pairs: [(Box<dyn Error>, Box<dyn Error>); 3] = [
            (
                Box::new(InstanceRuleError::Failed { dag_id: name(), source: died() }),
                Box::new(InstanceRuleError::InQuarantine { dag_id: whose, until, last: last.clone() }),
            ),
            (
                Box::new(TimetableError::Failed { class: name(), source: died() }),
                Box::new(TimetableError::InQuarantine { class: name(), until, last: last.clone() }),
            ),
            (
                Box::new(ReferenceError::Failed { class: name(), source: died() }),
                Box::new(ReferenceError::InQuarantine { class: name(), until, last }),
            ),
        ];
        for (at_once, later) in pairs {
            let later = chain(&*later);
            let (cause, _) = later.split_once(ASKED_AGAIN).unwrap();
            assert_eq!(cause, chain(&*at_once));
            assert!(cause.ends_with("exit code 3: the connection was closed"), "{cause}");
        }
    }
}
