//! What a scheduler does from time to time, beside its loop: it looks for what was lost, stuck or left behind.
//!
//! One file per chore: what is loaded, one decision of the model, one guarded transaction. Each file names its locks; any
//! number of schedulers may do the same chore at once, and each thing is done once. Batches are bounded, and each row of one
//! is a part of its transaction: a row that the database refuses, or that somebody else has, is left and told of (`left.rs`).
//!
//! `schedule.rs` knows which are due. A chore that fails is told with its reason and tried again; it never ends the
//! scheduler.

mod assets;
mod awaiting_input;
mod backfills;
mod connection_tests;
mod dead_schedulers;
mod deadline_context;
mod deadlines;
mod deferred;
mod executor_callbacks;
mod gauges;
mod heartbeats;
mod kept_back;
mod left;
mod lost_callbacks;
mod orphans;
mod paused;
mod schedule;
mod stuck;
mod triggers;
mod unsettled;

use std::time::Duration;

use ferroflow_db::connection::test_request::StaleTest;
use ferroflow_db::dag_run::ClaimedRun;
use ferroflow_db::monitoring::gauges::TaskCount;
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_execution::Service;
use ferroflow_executor::ExecutorSet;
use jiff::Timestamp;

pub use assets::{Assets, assets};
pub use awaiting_input::{AwaitingInput, awaiting_input};
pub use backfills::backfills;
pub use connection_tests::{ConnectionTests, connection_tests, stale_connection_tests};
pub use dead_schedulers::{DeadSchedulers, dead_schedulers};
pub use deadlines::{Deadlines, deadlines};
pub use deferred::deferred;
pub use executor_callbacks::{ExecutorCallback, ExecutorCallbacks, executor_callbacks};
pub use gauges::{PoolSlots, pool_slots, running_runs, task_counts};
pub use heartbeats::{Heartbeats, heartbeats};
pub use kept_back::KeptBack;
pub(crate) use left::or_left;
pub use left::{Done, Left};
pub use orphans::{Orphans, orphans};
pub use paused::paused_runs;
pub use schedule::{Chore, Chores};
pub use stuck::{StuckTasks, stuck_tasks};
pub use triggers::triggers;
pub use unsettled::Unsettled;

use crate::{Context, Error};

/// What a chore has done, and what is left to whoever runs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// [`dead_schedulers`].
    DeadSchedulers(DeadSchedulers),
    /// [`orphans`].
    Orphans(Orphans),
    /// [`heartbeats`]: the executor is to be told to end those tries.
    Heartbeats(Heartbeats),
    /// [`stuck_tasks`]: the executor is to be told to let go of those tries.
    Stuck(StuckTasks),
    /// [`deferred`]: these are scheduled now.
    Deferred(Done<Vec<TaskInstanceKey>>),
    /// [`awaiting_input`]: these are scheduled now.
    AwaitingInput(AwaitingInput),
    /// [`paused_runs`]: these are to be examined.
    Paused(Vec<ClaimedRun>),
    /// [`assets`].
    Assets(Assets),
    /// [`triggers`]: how many were removed.
    Triggers(Done<u64>),
    /// [`backfills`]: which are completed.
    Backfills(Done<Vec<i64>>),
    /// [`deadlines`].
    Deadlines(Deadlines),
    /// [`executor_callbacks`]: these are to be handed over.
    ExecutorCallbacks(ExecutorCallbacks),
    /// [`connection_tests`]: these are to be handed over.
    ConnectionTests(ConnectionTests),
    /// [`stale_connection_tests`].
    StaleConnectionTests(Done<Vec<StaleTest>>),
    /// [`pool_slots`].
    PoolSlots(Vec<PoolSlots>),
    /// [`task_counts`].
    TaskCounts(Vec<TaskCount>),
    /// [`running_runs`].
    RunningRuns(i64),
}

impl Report {
    /// The rows that could not be dealt with, and are tried again.
    pub(crate) fn left(&self) -> &[Left] {
        match self {
            Self::DeadSchedulers(found) => &found.left,
            Self::Deferred(found) => &found.left,
            Self::AwaitingInput(found) => &found.left,
            Self::Assets(found) => &found.left,
            Self::Triggers(found) => &found.left,
            Self::Backfills(found) => &found.left,
            Self::Deadlines(found) => &found.left,
            Self::ExecutorCallbacks(found) => &found.left,
            Self::ConnectionTests(found) => &found.left,
            Self::StaleConnectionTests(found) => &found.left,
            // These tell of task instances themselves, or only read.
            _ => &[],
        }
    }
}

/// Does one chore.
pub async fn run(
    chore: Chore,
    cx: &Context,
    now: Timestamp,
    watching_since: Timestamp,
    executors: &ExecutorSet,
) -> Result<Report, Error> {
    Ok(match chore {
        Chore::DeadSchedulers => Report::DeadSchedulers(dead_schedulers(cx, now).await?),
        Chore::Orphans => Report::Orphans(orphans(cx, now, executors).await?),
        Chore::Heartbeats => Report::Heartbeats(heartbeats(cx, now, watching_since, executors).await?),
        Chore::Stuck => Report::Stuck(stuck_tasks(cx, now, executors).await?),
        Chore::Deferred => Report::Deferred(deferred(cx, now).await?),
        Chore::AwaitingInput => Report::AwaitingInput(awaiting_input(cx, now).await?),
        Chore::Paused => Report::Paused(paused_runs(cx).await?),
        Chore::Assets => Report::Assets(assets(cx, now).await?),
        Chore::Triggers => Report::Triggers(triggers(cx).await?),
        Chore::Backfills => Report::Backfills(backfills(cx, now).await?),
        Chore::Deadlines => Report::Deadlines(deadlines(cx, now).await?),
        Chore::ExecutorCallbacks => Report::ExecutorCallbacks(executor_callbacks(cx, now, executors).await?),
        Chore::ConnectionTests => Report::ConnectionTests(connection_tests(cx, now, executors).await?),
        Chore::StaleConnectionTests => Report::StaleConnectionTests(stale_connection_tests(cx, now).await?),
        Chore::PoolSlots => Report::PoolSlots(pool_slots(cx).await?),
        Chore::TaskCounts => Report::TaskCounts(task_counts(cx).await?),
        Chore::RunningRuns => Report::RunningRuns(running_runs(cx).await?),
    })
}

/// So long a chore waits for a row that others have locked, if it deals with rows one after the other.
const FOR_ONE_ROW: Duration = Duration::from_millis(100);

/// Who writes what a chore finds row by row: of many rows that are locked none is waited for long.
fn in_haste(cx: &Context) -> Service {
    Service { db: cx.db.with_lock_patience(FOR_ONE_ROW), ..cx.service.clone() }
}

/// So long before a time.
fn ago(now: Timestamp, duration: Duration) -> Timestamp {
    now.checked_sub(duration).unwrap_or(Timestamp::MIN)
}
