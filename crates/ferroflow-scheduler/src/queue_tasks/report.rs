//! What a pass did, and what is in the way of the others.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::dag_run::lookup::RunWithDag;
use ferroflow_db::task_instance::{TaskInstance, TaskInstanceKey};
use ferroflow_model::admission::{ClosedPool, DagLimits, Decision, InstanceKey, Refusal, Refused, Stopped};
use ferroflow_model::state::{RunState, TaskState};
use uuid::Uuid;

use super::section::Granted;
use crate::refused::SetAside;

/// What a pass did.
#[derive(Clone, Debug, Default)]
pub struct QueuedTasks {
    /// Whether another scheduler was in the critical section: nothing was looked at.
    pub is_busy: bool,
    /// Those that are queued now, in the order of their turns.
    pub queued: Vec<QueuedTask>,
    /// Those that were admitted, and were not as they were known.
    pub left_out: Vec<LeftOut>,
    /// Those that cannot run, and why.
    pub refused: Vec<Refused>,
    /// The pools that have no slot for any candidate any more.
    pub closed_pools: Vec<ClosedPool>,
    /// Why not all were looked at, if so.
    pub stopped: Option<Stopped>,
    /// DAGs that were set aside, each with its reason.
    pub set_aside: Vec<(String, String)>,
    /// Whether another pass could queue more at once.
    pub is_worth_repeating: bool,
    /// How long the section was taken, and how long of that was spent on reading; nothing if it was not entered.
    pub took: Option<(Duration, Duration)>,
}

/// A task instance that is queued now. It is still to be handed to its executor.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedTask {
    /// Its row.
    pub row: TaskInstance,
    /// Its run and DAG.
    pub run: Arc<RunWithDag>,
    /// The place of its executor among those that were given.
    pub executor: usize,
}

/// One that was admitted and is not queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Which one.
    pub key: InstanceKey,
    /// The identity of its try.
    pub id: Uuid,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why one was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// Another transaction holds its row, or it has begun a new life under another id.
    Held,
    /// It waits no longer.
    NotScheduled(Option<TaskState>),
    /// It takes another pool, more or fewer slots, or another executor than was known. It is read again.
    RowChanged,
    /// Its run or its DAG is gone.
    RunGone,
    /// Its run is not running.
    RunNotRunning(RunState),
    /// Its DAG is paused.
    DagPaused,
    /// Its DAG allows other things than were known.
    DagChanged(DagLimits),
    /// The database does not take that it is queued: why. It is tried again, later every time.
    Refused(String),
}

impl LeftOut {
    /// Its row, if the database does not take that it is queued.
    pub(crate) fn set_aside(&self) -> Option<SetAside> {
        let WhyLeftOut::Refused(reason) = &self.why else { return None };
        let InstanceKey { dag_id, run_id, task_id, map_index } = &self.key;
        let (dag_id, run_id, task_id) = (dag_id.to_string(), run_id.to_string(), task_id.to_string());
        let key = TaskInstanceKey { dag_id, run_id, task_id, map_index: *map_index };
        Some(SetAside::instance(&key, reason.clone()))
    }
}

impl fmt::Display for WhyLeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => f.write_str("another transaction has locked its row"),
            Self::NotScheduled(state) => {
                write!(f, "its state is {} by now", state.map_or("none", TaskState::as_str))
            }
            Self::RowChanged => f.write_str("its pool, slots or executor have changed"),
            Self::RunGone => f.write_str("its run or its DAG is gone"),
            Self::RunNotRunning(state) => write!(f, "its run is {state}"),
            Self::DagPaused => f.write_str("its DAG is paused"),
            Self::DagChanged(_) => f.write_str("the limits of its DAG have changed"),
            Self::Refused(reason) => write!(f, "the database refuses to queue it: {reason}"),
        }
    }
}

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many runs were read, since others had changed what waits in them.
    pub runs: usize,
    /// How many task instances were found in them.
    pub found: usize,
    /// How many runs are left for the next sweep.
    pub left: usize,
    /// DAGs that were set aside, each with its reason.
    pub set_aside: Vec<(String, String)>,
    /// DAGs that are not stored any more, and how many of their task instances have failed with that.
    pub lost: Vec<(String, u64)>,
}

/// The report of a pass.
pub(super) fn of(
    granted: Vec<Granted>,
    left_out: Vec<LeftOut>,
    set_aside: Vec<(String, String)>,
    decision: &Decision,
) -> QueuedTasks {
    let out_of_budget = |stopped: &Stopped| matches!(stopped.refusal, Refusal::BudgetUsedUp { .. });
    let queued = granted.into_iter().map(|granted| QueuedTask {
        row: granted.row,
        run: granted.run,
        executor: granted.admitted.executor,
    });
    QueuedTasks {
        is_busy: false,
        queued: queued.collect(),
        is_worth_repeating: !left_out.is_empty() || decision.stopped.as_ref().is_some_and(out_of_budget),
        left_out,
        refused: decision.refused.clone(),
        closed_pools: decision.closed_pools.clone(),
        stopped: decision.stopped.clone(),
        set_aside,
        took: None,
    }
}
