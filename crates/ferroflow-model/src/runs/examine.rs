//! Which running runs are looked at now.

use jiff::{SignedDuration, Timestamp};

use super::decision::Decision;
use super::turns::{Waiting, take_turns};

/// The longest time for which a run that cannot be looked at is left alone.
const MAX_BACK_OFF: SignedDuration = SignedDuration::from_secs(300);

/// A running run.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct RunningRun<'a> {
    /// Its DAG.
    pub dag_id: &'a str,
    /// Its name, unique within the DAG.
    pub run_id: &'a str,
    /// Whether it is pauseds DAG.
    pub dag_is_paused: bool,
    /// Whether the file of its DAG is gone.
    pub dag_is_stale: bool,
    /// Whether it belongs to a backfill.
    pub is_backfill: bool,
    /// When it may start.
    pub run_after: Timestamp,
    /// Its logical date.
    pub logical_date: Option<Timestamp>,
    /// When it started.
    pub started: Option<Timestamp>,
    /// When it fails because it took too long.
    pub times_out: Option<Timestamp>,
    /// When it was last looked at.
    pub last_examined: Option<Timestamp>,
    /// Whether something of it has changed since.
    pub is_dirty: bool,
    /// How looking at it went wrong, if it did. A new version of its DAG makes this void.
    pub failures: Option<Failures>,
}

/// Attempts to look at a run that went wrong in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failures {
    /// How many.
    pub count: u32,
    /// When the last one was.
    pub last: Timestamp,
}

/// How much is looked at, and how often at least.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many runs a pass looks at.
    pub limit: usize,
    /// For how long a run of which nothing has changed may be passed over in favour of those that have
    /// changed.
    pub patience: SignedDuration,
}

/// What happens to a running run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is looked at.
    Examine,
    /// It is not.
    Refused(NotExamined),
    /// It could be, but this pass looks at enough.
    Postponed,
}

/// Why a running run is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExamined {
    /// Its DAG is paused.
    #[error("the DAG is paused")]
    DagPaused,
    /// The file of its DAG is gone.
    #[error("the DAG is stale: its file is gone")]
    DagStale,
    /// It is too early.
    #[error("it may start at {0}")]
    NotBefore(Timestamp),
    /// It stands for a time that has not come.
    #[error("its logical date lies ahead, at {0}")]
    LogicalDateAhead(Timestamp),
    /// It went wrong, and is tried again later.
    #[error("it could not be looked at {failures} times in a row, and is tried again at {until}")]
    BackingOff {
        /// How many times it went wrong.
        failures: u32,
        /// When it is tried again.
        until: Timestamp,
    },
}

/// Answers every running run: first those to look at, in the order of their turns, then those whose turn
/// comes in a later pass, then the others by DAG and name.
///
/// What has changed or timed out comes first, and what was passed over for too long comes with it. Runs of
/// backfills, runs that went wrong and all others take turns, each in the order in which they were last
/// looked at.
pub fn decide<'a>(runs: &[RunningRun<'a>], now: Timestamp, pace: Pace) -> Vec<Decision<'a, Verdict>> {
    let overdue = now.checked_sub(pace.patience).unwrap_or(Timestamp::MIN);
    let mut sorted: Vec<&RunningRun<'a>> = runs.iter().collect();
    sorted.sort_by_key(|run| (run.dag_id, run.run_id));
    let (mut urgent, mut others) = (Lanes::default(), Lanes::default());
    let mut refused = Vec::new();
    for run in sorted {
        if let Some(reason) = refusal(run, now) {
            refused.push((run, Verdict::Refused(reason)));
        } else if run.is_dirty || has_timed_out(run, now) || waits_since(run) <= overdue {
            urgent.push(run);
        } else {
            others.push(run);
        }
    }
    let in_turn = urgent.in_turn().into_iter().chain(others.in_turn()).enumerate();
    let in_turn = in_turn.map(|(place, waiting)| {
        (waiting.what, if place < pace.limit { Verdict::Examine } else { Verdict::Postponed })
    });
    let answer =
        |(run, verdict): (&RunningRun<'a>, _)| Decision { dag_id: run.dag_id, run_id: run.run_id, verdict };
    in_turn.chain(refused).map(answer).collect()
}

/// Why a run would not be looked at even if it were the only one.
fn refusal(run: &RunningRun<'_>, now: Timestamp) -> Option<NotExamined> {
    if run.dag_is_paused {
        return Some(NotExamined::DagPaused);
    }
    if run.dag_is_stale {
        return Some(NotExamined::DagStale);
    }
    if run.run_after > now {
        return Some(NotExamined::NotBefore(run.run_after));
    }
    if let Some(Failures { count, last }) = run.failures
        && let until = last.checked_add(back_off(count)).unwrap_or(Timestamp::MAX)
        && until > now
    {
        return Some(NotExamined::BackingOff { failures: count, until });
    }
    // Time runs out for it all the same.
    let ahead = run.logical_date.filter(|logical_date| *logical_date > now && !has_timed_out(run, now));
    ahead.map(NotExamined::LogicalDateAhead)
}

fn has_timed_out(run: &RunningRun<'_>, now: Timestamp) -> bool {
    run.times_out.is_some_and(|times_out| times_out < now)
}

/// One second after the first failure, and twice as long after each further one.
fn back_off(failures: u32) -> SignedDuration {
    let seconds = failures.checked_sub(1).map_or(0, |doublings| 1_i64 << doublings.min(32));
    SignedDuration::from_secs(seconds).min(MAX_BACK_OFF)
}

fn waits_since(run: &RunningRun<'_>) -> Timestamp {
    let failed = run.failures.map(|failures| failures.last);
    failed.max(run.last_examined).or(run.started).unwrap_or(run.run_after)
}

#[derive(Default)]
struct Lanes<'r, 'a> {
    plain: Vec<Waiting<&'r RunningRun<'a>>>,
    backfill: Vec<Waiting<&'r RunningRun<'a>>>,
    broken: Vec<Waiting<&'r RunningRun<'a>>>,
}

impl<'r, 'a> Lanes<'r, 'a> {
    fn push(&mut self, run: &'r RunningRun<'a>) {
        let lane = match run {
            RunningRun { failures: Some(_), .. } => &mut self.broken,
            RunningRun { is_backfill: true, .. } => &mut self.backfill,
            _ => &mut self.plain,
        };
        lane.push(Waiting { since: waits_since(run), what: run });
    }

    fn in_turn(self) -> Vec<Waiting<&'r RunningRun<'a>>> {
        take_turns([self.plain, self.backfill, self.broken].map(|mut lane| {
            lane.sort_by_key(|waiting| waiting.since);
            lane
        }))
    }
}
