//! What keeps schedulers from writing what follows. Whether the database takes it only the database knows: it is tried, and
//! undone at once.

use ferroflow_config::Settings;
use ferroflow_db::task_instance::{self, queueing};
use ferroflow_db::{Db, Error as DbError, ScopedFutureExt as _, dag_run};
use ferroflow_model::state::TaskState;
use ferroflow_model::why::{Kind, Reason};
use jiff::Timestamp;
use uuid::Uuid;

use super::instances;
use crate::create_runs::make_next_run;
use crate::run::{ActiveRun, SeenInstance, Stale};
use crate::{Error, LOCK_PATIENCE};

/// Of so many task instances it is asked whether they can be queued.
const MAX_INSTANCES: usize = 50;

/// What is in the way of a run that is running. That it cannot be read is told elsewhere.
pub(super) async fn of_running(
    db: &Db,
    settings: &Settings,
    (dag_id, run_id): (&str, &str),
    now: Timestamp,
) -> Option<Reason> {
    let run_settings = instances::run_settings(settings);
    let run = ActiveRun::load(db, &run_settings, dag_id, run_id, now).await.ok()?;
    let is_scheduled = |instance: &SeenInstance| instance.state == Some(TaskState::Scheduled);
    let scheduled: Vec<SeenInstance> = run.instances().filter(is_scheduled).take(MAX_INSTANCES).collect();
    match run.rehearse(db, &run_settings, now).await {
        Ok(None) => of_scheduled(db, &scheduled, now).await,
        Ok(Some(stale)) => told(stale, "what follows"),
        Err(Error::Db(DbError::Column(bad))) => Some(Reason::new(Kind::UnreadableRow, bad.to_string())),
        Err(_) => None,
    }
}

/// What is in the way of a run that waits to start.
pub(super) async fn of_queued(db: &Db, (dag_id, run_id): (&str, &str), now: Timestamp) -> Option<Reason> {
    let db = db.with_lock_patience(LOCK_PATIENCE);
    let started = db.rehearse(|tx| {
        async move {
            let Some(id) = dag_run::lookup::id(tx, dag_id, run_id).await? else { return Ok(None) };
            if dag_run::start::lock_queued(tx, &[id]).await?.is_empty() {
                return Ok(Some(Stale::Locked));
            }
            dag_run::start::start(tx, &[id], now).await?;
            Ok(None)
        }
        .scope_boxed()
    });
    told(stale(started.await)?, "that it starts")
}

/// What is in the way of the next run of a DAG, if one is due by its schedule.
pub(super) async fn of_dag(db: &Db, settings: &Settings, dag_id: &str, now: Timestamp) -> Option<Reason> {
    let (db, run_settings) = (db.with_lock_patience(LOCK_PATIENCE), &instances::run_settings(settings));
    let made = db.rehearse(|tx| {
        async move { Error::split(make_next_run(tx, (settings, run_settings), dag_id, now).await) }
            .scope_boxed()
    });
    // Why none can be made is told elsewhere.
    told(stale(made.await.map(|_| None))?, "its next run")
}

/// What is in the way of task instances that wait to be queued: of the first of them, if of any.
async fn of_scheduled(db: &Db, scheduled: &[SeenInstance], now: Timestamp) -> Option<Reason> {
    let ids: Vec<Uuid> = scheduled.iter().map(|instance| instance.id).collect();
    if ids.is_empty() {
        return None;
    }
    stale(queued(db, &ids, now).await)?;
    for instance in scheduled {
        if let Some(stale) = stale(queued(db, &[instance.id], now).await) {
            let key = &instance.key;
            return told(
                stale,
                &format!("that task {} (map index {}) is queued", key.task_id, key.map_index),
            );
        }
    }
    None
}

async fn queued(db: &Db, ids: &[Uuid], now: Timestamp) -> Result<Option<Stale>, DbError> {
    let db = db.with_lock_patience(LOCK_PATIENCE);
    let queued = db.rehearse(|tx| {
        async move {
            let free = queueing::lock(tx, ids).await?;
            let free: Vec<Uuid> = free.into_iter().map(|row| row.id).collect();
            task_instance::scheduling::queue(tx, &free, None, now).await.map(|_| None)
        }
        .scope_boxed()
    });
    queued.await
}

fn stale(tried: Result<Option<Stale>, DbError>) -> Option<Stale> {
    tried.or_else(|error| Stale::after(error).map(Some)).ok().flatten()
}

fn told(stale: Stale, what: &str) -> Option<Reason> {
    match stale {
        Stale::Locked => {
            let text =
                "another transaction has locked a row that is needed; nothing follows here until it ends";
            Some(Reason::new(Kind::Locked, text))
        }
        Stale::Refused(reason) => {
            let text = format!("the database does not take {what}: {reason}");
            Some(Reason::new(Kind::Refused, text))
        }
        Stale::Changed => None,
    }
}
