//! What a scheduler does from time to time, beside its loop: it looks for what was lost, stuck or left behind.
//!
//! One file per chore: what is loaded, one decision of the model, one guarded transaction, and what the loop does with the
//! [report](Report). A new one is a file and a line of the [list](ALL). Each file names its locks; any
//! number of schedulers may do the same chore at once, and each thing is done once. Batches are bounded, and each row of one
//! is a part of its transaction: a row that the database refuses, or that another transaction has, is left as it is and logged (`set_aside.rs`).
//!
//! `schedule.rs` knows which are due. A chore that fails is told with its reason and tried again; it never ends the
//! scheduler.

mod assets;
pub(crate) mod awaiting_input;
mod backfills;
mod connection_tests;
pub(crate) mod dead_schedulers;
mod deadline_context;
mod deadlines;
mod deferred;
pub(crate) mod executor_callbacks;
mod gauges;
mod heartbeats;
mod lost_callbacks;
mod orphan_retries;
pub(crate) mod orphans;
mod paused;
mod report;
mod schedule;
mod stuck;
mod triggers;

use std::pin::Pin;
use std::time::Duration;

use ferroflow_config::Settings;
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
pub use gauges::{PoolSlots, RunningRuns, pool_slots, running_runs, task_counts};
pub use heartbeats::{Heartbeats, heartbeats};
pub use orphan_retries::OrphanRetries;
pub use orphans::{Orphans, orphans};
pub use paused::paused_runs;
pub(crate) use report::{FollowUp, Report};
pub(crate) use schedule::Chores;
pub use stuck::{StuckTasks, stuck_tasks};
pub use triggers::triggers;

pub use crate::refused::{Done, RowRetries, SetAside};
use crate::{Context, Error};

/// What a chore is given.
pub(crate) struct Given<'a> {
    pub(crate) cx: &'a Context,
    pub(crate) executors: &'a ExecutorSet,
    pub(crate) now: Timestamp,
    /// Since when heartbeats are listened to without a gap.
    pub(crate) watching_since: Timestamp,
}

type Reported<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Report>, Error>> + Send + 'a>>;

/// A chore.
pub(crate) struct Chore {
    /// What logs call it.
    pub(crate) name: &'static str,
    /// How long after its end it is done again; never if there is nothing for it to do.
    every: fn(&Settings) -> Option<Duration>,
    run: for<'a> fn(Given<'a>) -> Reported<'a>,
}

/// How often the chores are done that Airflow does in every loop.
const EVERY_LOOP: Duration = Duration::from_secs(1);

/// Every chore.
const ALL: &[Chore] = &[
    dead_schedulers::CHORE,
    orphans::CHORE,
    deferred::CHORE,
    awaiting_input::CHORE,
    backfills::CHORE,
    heartbeats::CHORE,
    paused::CHORE,
    stuck::CHORE,
    assets::CHORE,
    triggers::CHORE,
    connection_tests::STALE,
    deadlines::CHORE,
    connection_tests::CHORE,
    executor_callbacks::CHORE,
    gauges::POOL_SLOTS,
    gauges::TASK_COUNTS,
    gauges::RUNNING_RUNS,
];

/// Does the chore of this name.
pub(crate) async fn run(name: &str, given: Given<'_>) -> Result<Box<dyn Report>, Error> {
    let chore = ALL.iter().find(|chore| chore.name == name).expect("only chores of the list are due");
    (chore.run)(given).await
}

fn reported<'a, R: Report + 'static>(
    chore: impl Future<Output = Result<R, Error>> + Send + 'a,
) -> Reported<'a> {
    Box::pin(async move {
        let report: Box<dyn Report> = Box::new(chore.await?);
        Ok(report)
    })
}

/// Whether anything reads metrics: with the health check, Prometheus may.
fn are_metrics_on(settings: &Settings) -> bool {
    let metrics = &settings.metrics;
    let is_sent = metrics.statsd_on || metrics.statsd_datadog_enabled || metrics.otel_on;
    is_sent || settings.traces.otel_on || settings.scheduler.enable_health_check
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
