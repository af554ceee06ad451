//! How the task instances of a run stand.

use std::collections::HashMap;
use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::{self, TaskInstance, blockers};
use ferroflow_db::{Error as DbError, Tx, hitl_detail, trigger};
use ferroflow_model::admission::{Candidate, DagLimits, InstanceKey};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_model::why::{self, Holder, InstanceSituation, Parked, Place, RunSituation, Slots};
use ferroflow_telemetry::clock::signed;

use super::{Answer, View};
use crate::run::{ActiveRun, Pace, RunSettings, SeenInstance};
use crate::{Error, Questions};

/// How many task instances are told of.
const MAX_INSTANCES: usize = 50;

/// What was found of a run.
#[derive(Default)]
pub(super) struct Found {
    pub(super) parts: Vec<Answer>,
    pub(super) left_out: usize,
    /// The names of its tasks.
    pub(super) tasks: Vec<String>,
}

/// The answers about the unfinished instances of a run, or about all of one task.
pub(super) async fn answers(
    tx: &mut Tx,
    view: &View<'_>,
    situation: &mut RunSituation<'_>,
    row: &DagRun,
    task_id: Option<&str>,
) -> Result<Found, Error> {
    let run =
        match ActiveRun::read(tx, &run_settings(view.settings), &row.dag_id, &row.run_id, None, view.now)
            .await
        {
            Ok(run) => run,
            Err(Error::Db(error)) => return Err(error.into()),
            // Why the DAG cannot be used is told of the DAG.
            Err(_) => return Ok(Found::default()),
        };
    let all: Vec<SeenInstance> = run.instances().collect();
    situation.unfinished = all.iter().filter(|instance| is_unfinished(instance)).count();
    let is_meant = |instance: &&SeenInstance| match task_id {
        Some(task_id) => instance.key.task_id == task_id,
        // Why a run has failed, those that have failed say, too.
        None => is_unfinished(instance) || row.state == RunState::Failed && has_failed(instance),
    };
    let mut chosen: Vec<&SeenInstance> = all.iter().filter(is_meant).collect();
    let left_out = chosen.len().saturating_sub(MAX_INSTANCES);
    chosen.truncate(MAX_INSTANCES);
    let dag = run.definition.dag();
    let slots = slots(tx, view, &run).await?;
    let ids: Vec<_> = chosen.iter().map(|instance| instance.id).collect();
    let rows = if ids.is_empty() { Vec::new() } else { task_instance::find_all(tx, &ids).await? };
    let rows: HashMap<_, _> = rows.into_iter().map(|row| (row.id, row)).collect();
    let mut parts = Vec::new();
    for seen in chosen {
        let Some(instance) = rows.get(&seen.id) else { continue };
        find_unreadable(tx, instance).await?;
        let situation = InstanceSituation {
            run: situation,
            dag,
            state: instance.state,
            waiting: run.explain(seen.reference, view.now),
            is_mapped: dag[seen.reference.task].is_mapped(),
            upstream: upstream(dag, seen, &all),
            candidate: candidate(dag, row, instance),
            slots: &slots,
            executors: &view.around.executors,
            place: place(tx, view, instance).await?,
            since: since(instance),
        };
        parts.push(Answer {
            subject: key(instance).to_string(),
            state: instance.state.map_or_else(|| "none".to_owned(), |state| state.to_string()),
            reasons: why::of_instance(&situation, view.now),
            parts: Vec::new(),
            left_out: 0,
        });
    }
    let tasks = dag.tasks().iter().map(|task| task.task_id.to_string()).collect();
    Ok(Found { parts, left_out, tasks })
}

fn is_unfinished(instance: &SeenInstance) -> bool {
    !instance.state.is_some_and(TaskState::is_finished)
}

fn has_failed(instance: &SeenInstance) -> bool {
    matches!(instance.state, Some(TaskState::Failed | TaskState::UpstreamFailed))
}

pub(super) fn run_settings(settings: &Settings) -> RunSettings {
    RunSettings {
        job_id: None,
        unixname: String::new(),
        fernet: Arc::new(Fernet::default()),
        longest_wait: i64::try_from(settings.core.max_task_retry_delay.as_secs()).unwrap_or(i64::MAX),
        pace: Pace::Scheduled,
        rules: None,
        questions: Questions::default(),
    }
}

/// The limits that hold for the DAG, too.
async fn slots(tx: &mut Tx, view: &View<'_>, run: &ActiveRun) -> Result<Slots, DbError> {
    let mut slots = view.around.slots.clone();
    let team = if view.settings.core.multi_team {
        trigger::team_of_bundle(tx, &view.row.bundle_name).await?
    } else {
        None
    };
    let limits = DagLimits {
        max_active_tasks: view.row.max_active_tasks,
        // That it is paused is told anyway.
        is_paused: false,
        team: team.map(Into::into),
    };
    slots.limits.dags.insert(run.row.dag_id.as_str().into(), limits);
    Ok(slots)
}

/// What is directly upstream and has not succeeded.
fn upstream(dag: &Dag, of: &SeenInstance, all: &[SeenInstance]) -> Vec<Holder> {
    let tasks = dag.graph().upstream(of.reference.task);
    let lacks = all
        .iter()
        .filter(|other| tasks.contains(&other.reference.task) && other.state != Some(TaskState::Success));
    let holder = |other: &SeenInstance| Holder {
        what: instance_key(&other.key).to_string(),
        state: other.state.map_or_else(|| "none".to_owned(), |state| state.to_string()),
        since: other.end_date.or(other.start_date),
    };
    let missing = tasks.iter().filter(|task| !all.iter().any(|other| other.reference.task == **task));
    let missing = missing.map(|task| Holder {
        what: format!("task '{}'", dag[*task].task_id),
        state: "without a task instance in this run".to_owned(),
        since: None,
    });
    lacks.map(holder).chain(missing).collect()
}

fn candidate(dag: &Dag, run: &DagRun, instance: &TaskInstance) -> Option<Candidate> {
    let details = dag[dag.find(&instance.key.task_id)?].details();
    (instance.state == Some(TaskState::Scheduled)).then(|| Candidate {
        key: key(instance),
        priority_weight: instance.priority_weight.unwrap_or(1).into(),
        run_after: run.run_after,
        is_backfill: run.run_type == RunType::Backfill,
        waiting_since: instance.scheduled_dttm.unwrap_or(run.run_after),
        pool: instance.pool.as_str().into(),
        pool_slots: instance.pool_slots,
        executor: instance.executor.as_deref().map(Into::into),
        max_active_tis_per_dag: details.max_active_tis_per_dag,
        max_active_tis_per_dagrun: details.max_active_tis_per_dagrun,
    })
}

/// Reads what a worker or a triggerer would read: a row that cannot be read is told of.
async fn find_unreadable(tx: &mut Tx, instance: &TaskInstance) -> Result<(), DbError> {
    match instance.state {
        Some(TaskState::Queued | TaskState::Running) => {
            let facts = task_instance::execution::facts(tx, instance.id).await;
            tx.unreadable().or_note(facts)?;
        }
        Some(TaskState::AwaitingInput) => {
            let question = hitl_detail::find(tx, instance.id).await;
            tx.unreadable().or_note(question)?;
        }
        _ => {}
    }
    Ok(())
}

async fn place(tx: &mut Tx, view: &View<'_>, instance: &TaskInstance) -> Result<Place, DbError> {
    let queued_by = match instance.queued_by_job_id {
        Some(id) => view.around.scheduler(tx, id, view.now).await?,
        None => None,
    };
    let triggerer = match instance.trigger_id {
        Some(id) => match blockers::triggerer(tx, id).await? {
            Some(job) => view.around.triggerer(tx, job, view.now).await?,
            None => None,
        },
        None => None,
    };
    let host = instance.hostname.clone().filter(|host| !host.is_empty());
    Ok(Place {
        queued_by,
        executor: instance.executor.clone(),
        queued_timeout: signed(view.settings.scheduler.task_queued_timeout),
        process: host.map(|host| (host, instance.pid)),
        heartbeat: instance.last_heartbeat_at,
        heartbeat_timeout: signed(view.settings.scheduler.task_instance_heartbeat_timeout),
        parked: Some(Parked {
            trigger_id: instance.trigger_id,
            triggerer,
            has_triggerer: view.around.has_triggerer,
            until: instance.trigger_timeout,
        }),
    })
}

/// When it became what it is.
fn since(instance: &TaskInstance) -> Option<jiff::Timestamp> {
    match instance.state? {
        TaskState::Scheduled => instance.scheduled_dttm,
        TaskState::Queued => instance.queued_dttm,
        TaskState::Running | TaskState::Restarting => instance.start_date,
        TaskState::Deferred | TaskState::AwaitingInput => instance.updated_at,
        _ => instance.end_date,
    }
}

fn key(instance: &TaskInstance) -> InstanceKey {
    instance_key(&instance.key)
}

fn instance_key(key: &task_instance::TaskInstanceKey) -> InstanceKey {
    InstanceKey {
        dag_id: key.dag_id.as_str().into(),
        run_id: key.run_id.as_str().into(),
        task_id: key.task_id.as_str().into(),
        map_index: key.map_index,
    }
}
