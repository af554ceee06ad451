//! How much of what there is: values for metrics.

use ferroflow_db::monitoring::gauges::{self, PoolUse, TaskCount};
use ferroflow_db::pool::Pool;
use ferroflow_db::{ScopedFutureExt as _, Tx};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::metrics::scheduling;

use super::report::Report;
use super::{Chore, are_metrics_on, reported};
use crate::metrics::{self, Told};
use crate::{Context, Error};

pub(crate) const POOL_SLOTS: Chore = Chore {
    name: "metrics of pools",
    every: |settings| are_metrics_on(settings).then_some(settings.scheduler.pool_metrics_interval),
    run: |given| reported(pool_slots(given.cx)),
};

pub(crate) const TASK_COUNTS: Chore = Chore {
    name: "metrics of task instances",
    every: |settings| are_metrics_on(settings).then_some(settings.scheduler.ti_metrics_interval),
    run: |given| reported(task_counts(given.cx)),
};

pub(crate) const RUNNING_RUNS: Chore = Chore {
    name: "metrics of runs",
    every: |settings| are_metrics_on(settings).then_some(settings.scheduler.dagrun_metrics_interval),
    run: |given| reported(running_runs(given.cx)),
};

/// The slots of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolSlots {
    /// The pool.
    pub pool: String,
    /// The team it belongs to.
    pub team_name: Option<String>,
    /// Those that are free, less than none if it was made smaller; `None` if there is no limit.
    pub open: Option<i64>,
    /// Those that queued task instances hold.
    pub queued: i64,
    /// Those that running ones hold.
    pub running: i64,
    /// Those that deferred ones would hold, whether the pool counts them or not.
    pub deferred: i64,
    /// Those that scheduled ones wait for.
    pub scheduled: i64,
}

/// The slots of every pool.
pub async fn pool_slots(cx: &Context) -> Result<Vec<PoolSlots>, Error> {
    let (pools, used) = cx.db.read(|tx| load(tx).scope_boxed()).await?;
    Ok(pools.iter().map(|pool| slots(pool, &used)).collect())
}

async fn load(tx: &mut Tx) -> Result<(Vec<Pool>, Vec<PoolUse>), ferroflow_db::Error> {
    Ok((gauges::pools(tx).await?, gauges::pool_use(tx).await?))
}

fn slots(pool: &Pool, used: &[PoolUse]) -> PoolSlots {
    let sum = |state| {
        let of_state = used.iter().filter(|used| used.pool == pool.name && used.state == state);
        of_state.map(|used| used.slots).sum::<i64>()
    };
    let (queued, running, deferred) =
        (sum(TaskState::Queued), sum(TaskState::Running), sum(TaskState::Deferred));
    let counted = queued + running + if pool.include_deferred { deferred } else { 0 };
    PoolSlots {
        pool: pool.name.clone(),
        team_name: pool.team_name.clone(),
        open: (pool.slots >= 0).then(|| i64::from(pool.slots) - counted),
        queued,
        running,
        deferred,
        scheduled: sum(TaskState::Scheduled),
    }
}

/// How many task instances of each task have not ended, by state.
pub async fn task_counts(cx: &Context) -> Result<Vec<TaskCount>, Error> {
    Ok(cx.db.read(|tx| async move { gauges::by_task(tx).await }.scope_boxed()).await?)
}

/// How many runs are running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningRuns(pub i64);

/// How many runs are running.
pub async fn running_runs(cx: &Context) -> Result<RunningRuns, Error> {
    let found = cx.db.read(|tx| async move { gauges::running_runs(tx).await }.scope_boxed());
    Ok(RunningRuns(found.await?))
}

impl Report for Vec<PoolSlots> {
    fn measure(&self, _told: &mut Told) {
        self.iter().for_each(metrics::pool_slots);
    }
}

impl Report for Vec<TaskCount> {
    fn measure(&self, told: &mut Told) {
        told.task_counts(self);
    }
}

impl Report for RunningRuns {
    fn measure(&self, _told: &mut Told) {
        scheduling::running_runs(self.0);
    }
}
