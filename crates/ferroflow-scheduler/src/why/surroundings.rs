//! Who lives, and who holds what.

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::job::{self, Job};
use ferroflow_db::monitoring::gauges;
use ferroflow_db::task_instance::blockers::{self, SlotHolder};
use ferroflow_db::{Error as DbError, Tx};
use ferroflow_model::admission::{Executor, ExecutorName, Executors, InstanceKey, Limits, Pool};
use ferroflow_model::state::{JobState, TaskState};
use ferroflow_model::why::{AtWork, Component, Slots};
use ferroflow_telemetry::clock::signed;
use jiff::{SignedDuration, Timestamp};

use crate::rescan::JOB_TYPE;
use ferroflow_executor::executor_names;

/// The type of jobs that triggerers are.
const TRIGGERER: &str = "TriggererJob";

/// How many components of a kind are read.
const MAX_COMPONENTS: i64 = 1000;

/// What holds for every DAG.
pub(super) struct Surroundings {
    pub(super) now: Timestamp,
    pub(super) schedulers: Vec<Component>,
    pub(super) has_triggerer: bool,
    pub(super) slots: Slots,
    /// Those of each scheduler that lives.
    pub(super) executors: Vec<Executors>,
    scheduler_patience: SignedDuration,
    triggerer_patience: SignedDuration,
}

impl Surroundings {
    pub(super) async fn load(tx: &mut Tx, settings: &Settings, now: Timestamp) -> Result<Self, DbError> {
        let scheduler_patience = signed(settings.scheduler.scheduler_health_check_threshold);
        let triggerer_patience = signed(settings.triggerer.triggerer_health_check_threshold);
        let schedulers = job::running(tx, Some(JOB_TYPE), None, MAX_COMPONENTS).await?;
        let triggerers = job::running(tx, Some(TRIGGERER), None, MAX_COMPONENTS).await?;
        let schedulers: Vec<Component> =
            schedulers.iter().map(|job| component(job, scheduler_patience, now)).collect();
        let multi_team = settings.core.multi_team;
        let pools = gauges::pools(tx).await?.into_iter().map(|pool| {
            let team = pool.team_name.filter(|_| multi_team).map(Into::into);
            (Arc::from(pool.name), Pool { slots: pool.slots, include_deferred: pool.include_deferred, team })
        });
        let at_work: Vec<AtWork> = blockers::slot_holders(tx).await?.into_iter().map(at_work).collect();
        let slots = Slots { limits: Limits { pools: pools.collect(), ..Limits::default() }, at_work };
        Ok(Self {
            now,
            executors: executors(settings, &schedulers, &slots.at_work),
            has_triggerer: triggerers.iter().any(|job| component(job, triggerer_patience, now).is_alive),
            schedulers,
            slots,
            scheduler_patience,
            triggerer_patience,
        })
    }

    /// A scheduler, whether it lives or not.
    pub(super) async fn scheduler(
        &self,
        tx: &mut Tx,
        id: i64,
        now: Timestamp,
    ) -> Result<Option<Component>, DbError> {
        Ok(job::find(tx, id).await?.map(|job| component(&job, self.scheduler_patience, now)))
    }

    /// A triggerer, whether it lives or not.
    pub(super) async fn triggerer(
        &self,
        tx: &mut Tx,
        id: i64,
        now: Timestamp,
    ) -> Result<Option<Component>, DbError> {
        Ok(job::find(tx, id).await?.map(|job| component(&job, self.triggerer_patience, now)))
    }
}

fn component(job: &Job, patience: SignedDuration, now: Timestamp) -> Component {
    let is_fresh = |heartbeat: Timestamp| now.duration_since(heartbeat) < patience;
    Component {
        id: job.id,
        hostname: job.hostname.clone().unwrap_or_default(),
        heartbeat: job.latest_heartbeat,
        is_alive: job.state == Some(JobState::Running) && job.latest_heartbeat.is_some_and(is_fresh),
    }
}

fn at_work(holding: SlotHolder) -> AtWork {
    let key = holding.key;
    let since = if holding.state == TaskState::Queued { holding.queued_dttm } else { holding.start_date };
    AtWork {
        key: InstanceKey {
            dag_id: key.dag_id.into(),
            run_id: key.run_id.into(),
            task_id: key.task_id.into(),
            map_index: key.map_index,
        },
        state: holding.state,
        pool: holding.pool.into(),
        pool_slots: holding.pool_slots,
        since,
        queued_by: holding.queued_by_job_id,
    }
}

/// What each scheduler has, as far as the rows tell. Without any, what an idle one would have.
fn executors(settings: &Settings, schedulers: &[Component], at_work: &[AtWork]) -> Vec<Executors> {
    let parallelism = i64::from(settings.core.parallelism);
    let names = executor_names(&settings.core.executor, settings.core.multi_team).unwrap_or_default();
    let with = |occupied: i64| {
        let executor = |(place, name): (usize, &ExecutorName)| Executor {
            name: Arc::new(name.clone()),
            slots: parallelism,
            // Rows do not tell which of the executors it is.
            occupied: if place == 0 { occupied } else { 0 },
        };
        Executors { list: names.iter().enumerate().map(executor).collect(), parallelism }
    };
    let has = |scheduler: &Component| {
        let is_executing = |one: &&AtWork| matches!(one.state, TaskState::Queued | TaskState::Running);
        let own = at_work.iter().filter(is_executing).filter(|one| one.queued_by == Some(scheduler.id));
        i64::try_from(own.count()).unwrap_or(i64::MAX)
    };
    let living: Vec<Executors> =
        schedulers.iter().filter(|one| one.is_alive).map(|scheduler| with(has(scheduler))).collect();
    if living.is_empty() { vec![with(0)] } else { living }
}
