//! Runs that could not be moved on. Each is tried again, later every time: whatever is in the way, it does not cost more
//! the longer it stays there, and nothing else waits for it.

use std::fmt;

use ferroflow_telemetry::metrics::scheduling;
use jiff::{SignedDuration, Timestamp};

use super::{ActiveRuns, Entry, RunKey};
use crate::fair_queue::Cause;
use crate::refused::cause;

/// What is in the way of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Another transaction has its row, or that of one of its task instances or of its DAG.
    Locked,
    /// Others have written its rows meanwhile.
    Changed,
    /// The database does not take what was to be written: why.
    Refused(String),
    /// User code is asked about it, and has not answered yet: who. It goes on with the answer.
    Awaited(String),
    /// The database does nothing now: why. That is no matter of this run.
    Passing(String),
    /// It cannot be read, or what is asked about it has no answer: why.
    Unreadable(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked => f.write_str(
                "another transaction has locked the row of the run, of its DAG or of one of its tasks",
            ),
            Self::Changed => f.write_str("others write the rows of the run at the same time"),
            Self::Refused(reason) => {
                write!(f, "the database does not take what was to be written: {reason}")
            }
            Self::Awaited(who) => write!(f, "{who} is asked, and has not answered yet"),
            Self::Passing(reason) | Self::Unreadable(reason) => f.write_str(reason),
        }
    }
}

impl Obstacle {
    /// What metrics call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Changed => "changed",
            Self::Refused(_) => "refused",
            Self::Awaited(_) => "user code",
            Self::Passing(_) => "passing",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// How long a run waits that has met it so often before, without having moved on.
    fn pause(&self, before: u32) -> SignedDuration {
        // What was read anew after another transaction had written it is right, nearly always.
        let is_worth_another_try = matches!(self, Self::Changed | Self::Refused(_));
        if is_worth_another_try && before == 0 {
            return SignedDuration::ZERO;
        }
        let (first, longest) = match self {
            Self::Locked | Self::Changed | Self::Passing(_) => {
                (SignedDuration::from_millis(100), SignedDuration::from_secs(5))
            }
            Self::Refused(_) | Self::Awaited(_) | Self::Unreadable(_) => {
                (SignedDuration::from_millis(500), SignedDuration::from_mins(1))
            }
        };
        let doubled = before - u32::from(is_worth_another_try);
        (first * 2_i32.pow(doubled.min(10))).min(longest)
    }

    /// Whether it is the same to a reader of the log: when user code is asked again makes no other of it.
    fn is_same(&self, other: &Self) -> bool {
        self.name() == other.name() && cause(&self.to_string()) == cause(&other.to_string())
    }

    /// How often in a row it is met before it is worth a word, if ever.
    fn is_told_after(&self) -> Option<u32> {
        match self {
            Self::Unreadable(_) => Some(1),
            Self::Refused(_) => Some(2),
            Self::Locked | Self::Changed | Self::Awaited(_) => Some(4),
            Self::Passing(_) => None,
        }
    }
}

impl ActiveRuns {
    /// Takes a run back that could not be moved on.
    pub(crate) fn put_off(&mut self, key: RunKey, mut entry: Entry, obstacle: Obstacle, now: Timestamp) {
        scheduling::run_put_off(obstacle.name());
        self.know(&key, &entry);
        let pause = obstacle.pause(entry.failures);
        entry.failures = entry.failures.saturating_add(1);
        let is_worth_a_word = obstacle.is_told_after().is_some_and(|times| entry.failures >= times);
        if is_worth_a_word && !entry.told.as_ref().is_some_and(|told| told.is_same(&obstacle)) {
            let (dag_id, run_id, reason) = (&key.dag_id, &key.run_id, obstacle.to_string());
            tracing::warn!(dag_id, run_id, reason, "run set aside; it is retried with increasing delay");
            entry.told = Some(obstacle);
        }
        let due = (!pause.is_zero()).then(|| now.checked_add(pause).unwrap_or(Timestamp::MAX));
        (entry.due, entry.put_off_until) = (due, due);
        match due {
            Some(due) => _ = self.due.insert((due, key.clone())),
            None => self.dirty.add(key.clone(), Cause::Event),
        }
        self.runs.insert(key, entry);
    }
}

impl Entry {
    /// It has been moved on, or nothing was in the way of that.
    pub(super) fn has_moved_on(&mut self, key: &RunKey) {
        if let Some(obstacle) = self.told.take() {
            let (dag_id, run_id, before) = (&key.dag_id, &key.run_id, obstacle.to_string());
            tracing::info!(dag_id, run_id, before, "run is no longer set aside");
        }
        (self.failures, self.due, self.put_off_until) = (0, None, None);
    }

    /// Whether it is not to be looked at yet, whatever happens.
    pub(super) fn has_to_wait(&self, now: Timestamp) -> bool {
        self.put_off_until.is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_python::ASKED_AGAIN;

    use super::*;

    fn pauses(obstacle: &Obstacle) -> Vec<i128> {
        (0..9).map(|before| obstacle.pause(before).as_millis()).collect()
    }

    #[test]
    fn every_try_waits_longer_up_to_a_limit() {
        let locked = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000];
        assert_eq!(pauses(&Obstacle::Locked), locked);
        assert_eq!(pauses(&Obstacle::Passing(String::new())), locked);
        assert_eq!(pauses(&Obstacle::Changed), [0, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        let refused = [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000];
        assert_eq!(pauses(&Obstacle::Refused(String::new())), refused);
        assert_eq!(Obstacle::Unreadable(String::new()).pause(0).as_millis(), 500);
        assert_eq!(Obstacle::Unreadable(String::new()).pause(u32::MAX).as_secs(), 60);
    }

    #[test]
    fn a_reason_is_the_same_whenever_it_is_asked_again() {
        let reason = |when: &str| Obstacle::Unreadable(format!("the weight rule w hangs{when}"));
        let first = reason(&format!("{ASKED_AGAIN}08:00"));
        assert!(first.is_same(&reason(&format!("{ASKED_AGAIN}08:01"))));
        assert!(first.is_same(&reason("")));
        assert!(!first.is_same(&Obstacle::Unreadable("another".to_owned())));
        assert!(!Obstacle::Refused("a".to_owned()).is_same(&Obstacle::Passing("a".to_owned())));
    }

    #[test]
    fn one_that_was_put_off_waits_whatever_happens_in_it() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        let key = RunKey { dag_id: "dag".to_owned(), run_id: "run".to_owned() };
        let mut active_runs = ActiveRuns::default();
        active_runs.track(key.clone(), 1, Cause::Crowd);
        for tries in 0..20 {
            let now = now + SignedDuration::from_secs(10) * tries;
            let (taken, entry) = active_runs.take_dirty(now, 10).pop().unwrap();
            assert_eq!(taken, key);
            active_runs.put_off(taken, entry, Obstacle::Locked, now);
            active_runs.track(key.clone(), 1, Cause::Crowd);
            assert!(active_runs.take_dirty(now, 10).is_empty(), "it waits");
            assert!(
                !active_runs.is_dirty(now) && active_runs.next_due().unwrap() > now,
                "and is not forgotten"
            );
        }
        active_runs.wait_for_nothing();
        assert_eq!(active_runs.take_dirty(now, 10).len(), 1, "after a clock was set back, none waits");
    }
}
