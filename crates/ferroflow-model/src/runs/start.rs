//! Which queued runs start now.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::decision::Decision;
use super::turns::{Waiting, take_turns};

/// What the tables say of queued runs.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The queued runs.
    pub queued: &'a [QueuedRun<'a>],
    /// Their DAGs.
    pub dags: &'a [DagFacts<'a>],
    /// Their backfills.
    pub backfills: &'a [BackfillFacts],
    /// What runs already. Entries for the same DAG and backfill add up.
    pub running: &'a [Running<'a>],
}

/// A queued run.
#[derive(Clone, Copy, Debug)]
pub struct QueuedRun<'a> {
    /// Its DAG.
    pub dag_id: &'a str,
    /// Its name, unique within the DAG.
    pub run_id: &'a str,
    /// The backfill that it belongs to.
    pub backfill_id: Option<i32>,
    /// Its place within the backfill.
    pub sort_ordinal: Option<i32>,
    /// When it may start.
    pub run_after: Timestamp,
    /// Whether the version of the DAG that it uses is there and can be read.
    pub has_definition: bool,
}

/// The DAG of a queued run.
#[derive(Clone, Copy, Debug)]
pub struct DagFacts<'a> {
    /// Its name.
    pub dag_id: &'a str,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether its file is gone.
    pub is_stale: bool,
    /// How many of its runs may run at once, those of backfills not counted.
    pub max_active_runs: Option<i32>,
}

/// The backfill of a queued run.
#[derive(Clone, Copy, Debug)]
pub struct BackfillFacts {
    /// Its id.
    pub id: i32,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether it is over. A backfill that was cancelled is both over and paused.
    pub is_completed: bool,
    /// How many of its runs may run at once.
    pub max_active_runs: i32,
}

/// What runs already of a DAG: for one of its backfills, or without one.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    /// The DAG.
    pub dag_id: &'a str,
    /// The backfill.
    pub backfill_id: Option<i32>,
    /// How many runs.
    pub count: u32,
    /// When the last of them started, also if it has ended since. Without it, who waits for the longest time
    /// would be first again and again.
    pub last_started: Option<Timestamp>,
}

/// What happens to a queued run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It starts.
    Start,
    /// It does not.
    Refused(NotStarted),
    /// It could, but this pass has started enough.
    Postponed,
}

/// Why a queued run does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStarted {
    /// Its DAG is not in the database.
    #[error("the DAG is not in the database")]
    UnknownDag,
    /// Its DAG is paused.
    #[error("the DAG is paused")]
    DagPaused,
    /// The file of its DAG is gone.
    #[error("the DAG is stale: its file is gone")]
    DagStale,
    /// Its version of the DAG cannot be read.
    #[error("the serialized DAG is missing or cannot be read")]
    NoDefinition,
    /// It is too early.
    #[error("it may start at {0}")]
    NotBefore(Timestamp),
    /// Its backfill is not in the database.
    #[error("backfill {0} is not in the database")]
    UnknownBackfill(i32),
    /// Its backfill is paused.
    #[error("backfill {0} is paused")]
    BackfillPaused(i32),
    /// Its backfill is cancelled.
    #[error("backfill {0} was cancelled, and its runs do not start again; trigger the DAG instead")]
    BackfillCancelled(i32),
    /// None of its kind may run.
    #[error("max_active_runs is {}, so that no run can start", or_not_set(*limit))]
    NeverStarts {
        /// The limit: 0 or less, or none.
        limit: Option<i32>,
    },
    /// As many run, or are before it in the queue, as may.
    #[error("{running} runs are running and {ahead} wait before it, and max_active_runs is {limit}")]
    AtMaxActiveRuns {
        /// How many run.
        running: u32,
        /// How many are before it in the queue.
        ahead: u32,
        /// How many may run.
        limit: u32,
    },
}

/// Answers every queued run: first those that start, in the order of their turns, then those whose turn comes
/// in a later pass, then the others by DAG and name. At most `limit` start.
///
/// Each DAG has a queue, and so has each backfill. A queue offers no more runs than it has places free:
/// however many wait in it, they hide no other.
pub fn decide<'a>(snapshot: &Snapshot<'a>, now: Timestamp, limit: usize) -> Vec<Decision<'a, Verdict>> {
    let rules = Rules::of(snapshot);
    let mut refused = Vec::new();
    let mut queues: BTreeMap<QueueKey<'a>, Vec<&QueuedRun<'a>>> = BTreeMap::new();
    for run in snapshot.queued {
        match rules.refusal(run, now) {
            Some(reason) => refused.push((run, reason)),
            None => queues.entry((run.backfill_id, run.dag_id)).or_default().push(run),
        }
    }
    let (mut others, mut backfills) = (Vec::new(), Vec::new());
    for (key, mut queue) in queues {
        queue.sort_by_key(|run| place_in_queue(run));
        let (offered, over_limit) = rules.offer(key, queue);
        refused.extend(over_limit);
        if key.0.is_some() { &mut backfills } else { &mut others }.push(offered);
    }
    refused.sort_by_key(|(run, _)| (run.dag_id, run.run_id));
    let refused = refused.into_iter().map(|(run, reason)| (run, Verdict::Refused(reason)));
    let in_turn = take_turns([take_turns(others), take_turns(backfills)]);
    let in_turn = in_turn.into_iter().enumerate().map(|(place, waiting)| {
        (waiting.what, if place < limit { Verdict::Start } else { Verdict::Postponed })
    });
    let answer =
        |(run, verdict): (&QueuedRun<'a>, _)| Decision { dag_id: run.dag_id, run_id: run.run_id, verdict };
    in_turn.chain(refused).map(answer).collect()
}

fn or_not_set(limit: Option<i32>) -> String {
    limit.map_or_else(|| "not set".to_owned(), |limit| limit.to_string())
}

/// The backfill, or none, and the DAG.
type QueueKey<'a> = (Option<i32>, &'a str);

struct Rules<'a> {
    dags: BTreeMap<&'a str, &'a DagFacts<'a>>,
    backfills: BTreeMap<i32, &'a BackfillFacts>,
    running: BTreeMap<QueueKey<'a>, Load>,
}

#[derive(Clone, Copy, Default)]
struct Load {
    running: u32,
    last_started: Option<Timestamp>,
}

impl<'a> Rules<'a> {
    fn of(snapshot: &Snapshot<'a>) -> Self {
        let mut running: BTreeMap<QueueKey<'a>, Load> = BTreeMap::new();
        for some in snapshot.running {
            let load = running.entry((some.backfill_id, some.dag_id)).or_default();
            load.running = load.running.saturating_add(some.count);
            load.last_started = load.last_started.max(some.last_started);
        }
        Self {
            dags: snapshot.dags.iter().map(|dag| (dag.dag_id, dag)).collect(),
            backfills: snapshot.backfills.iter().map(|backfill| (backfill.id, backfill)).collect(),
            running,
        }
    }

    /// Why a run would not start even if it were the only one.
    fn refusal(&self, run: &QueuedRun<'_>, now: Timestamp) -> Option<NotStarted> {
        let Some(dag) = self.dags.get(run.dag_id) else { return Some(NotStarted::UnknownDag) };
        if dag.is_paused {
            return Some(NotStarted::DagPaused);
        }
        if dag.is_stale {
            return Some(NotStarted::DagStale);
        }
        if let Some(id) = run.backfill_id {
            match self.backfills.get(&id) {
                None => return Some(NotStarted::UnknownBackfill(id)),
                Some(backfill) if backfill.is_paused && backfill.is_completed => {
                    return Some(NotStarted::BackfillCancelled(id));
                }
                Some(backfill) if backfill.is_paused => return Some(NotStarted::BackfillPaused(id)),
                Some(_) => {}
            }
        }
        let limit = self.max_active_runs((run.backfill_id, run.dag_id));
        if limit.is_none_or(|limit| limit <= 0) {
            return Some(NotStarted::NeverStarts { limit });
        }
        if !run.has_definition {
            return Some(NotStarted::NoDefinition);
        }
        (run.run_after > now).then_some(NotStarted::NotBefore(run.run_after))
    }

    fn max_active_runs(&self, (backfill_id, dag_id): QueueKey<'_>) -> Option<i32> {
        match backfill_id {
            Some(id) => self.backfills.get(&id).map(|backfill| backfill.max_active_runs),
            None => self.dags.get(dag_id).and_then(|dag| dag.max_active_runs),
        }
    }

    /// As many of a queue as there are places, and why not the others.
    fn offer<'r>(&self, key: QueueKey<'a>, queue: Vec<&'r QueuedRun<'a>>) -> Offer<'r, 'a> {
        let limit = self.max_active_runs(key).and_then(|limit| u32::try_from(limit).ok()).unwrap_or(0);
        let Load { running, last_started } = self.running.get(&key).copied().unwrap_or_default();
        let (mut offered, mut over_limit) = (Vec::new(), Vec::new());
        for (run, ahead) in queue.into_iter().zip(0..) {
            if running.saturating_add(ahead) < limit {
                let since = last_started.map_or(run.run_after, |last| last.max(run.run_after));
                offered.push(Waiting { since, what: run });
            } else {
                over_limit.push((run, NotStarted::AtMaxActiveRuns { running, ahead, limit }));
            }
        }
        (offered, over_limit)
    }
}

type Offer<'r, 'a> = (Vec<Waiting<&'r QueuedRun<'a>>>, Vec<(&'r QueuedRun<'a>, NotStarted)>);

/// A backfill says in which order its runs come. Others come in the order of their times.
fn place_in_queue<'a>(run: &QueuedRun<'a>) -> (Option<i32>, Timestamp, &'a str) {
    let ordinal = run.backfill_id.and(run.sort_ordinal);
    (ordinal, run.run_after, run.run_id)
}
