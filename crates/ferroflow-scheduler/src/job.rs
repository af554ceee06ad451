//! The scheduler's own row in `job`, by which its peers see that it lives.

use ferroflow_db::dag_run::ownership;
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx};
use ferroflow_execution::Host;
use ferroflow_model::state::JobState;
use ferroflow_telemetry::metrics::scheduling;
use jiff::Timestamp;

use crate::rescan::{EXECUTOR_CLASS, JOB_TYPE};

/// Announces a scheduler on this host. Returns the id of its row.
pub async fn start(db: &Db, host: &Host, now: Timestamp) -> Result<i64, Error> {
    let new = &NewJob {
        job_type: JOB_TYPE.to_owned(),
        hostname: host.name.clone(),
        unixname: host.user.clone(),
        executor_class: Some(EXECUTOR_CLASS.to_owned()),
    };
    let id = db.transact(|tx| async move { job::insert(tx, new, now).await }.scope_boxed()).await?;
    scheduling::job_started();
    Ok(id)
}

/// Shows that the scheduler lives. A peer that took it for dead is told otherwise: its row is running again. False if its
/// row is gone: nothing shows that it lives, and its task instances are taken for orphans.
pub async fn beat(db: &Db, id: i64, now: Timestamp) -> Result<bool, Error> {
    let beaten = db.transact(|tx| async move { job::heartbeat(tx, id, now).await }.scope_boxed()).await;
    match beaten {
        Ok(_) => scheduling::heartbeat(),
        Err(_) => scheduling::job_heartbeat_failed(),
    }
    beaten
}

/// Leaves its runs to its peers, who look after them at once: this scheduler only waits for tasks to end.
pub async fn retire(db: &Db, id: i64) -> Result<(), Error> {
    let let_go = db.transact(|tx| {
        async move {
            ownership::let_go(tx, id).await?;
            notifications::notify(tx, Notification::Schedulers).await
        }
        .scope_boxed()
    });
    let_go.await
}

/// Notes how the scheduler has ended. Its peers look after what it had at once.
pub async fn end(db: &Db, id: i64, outcome: JobState, now: Timestamp) -> Result<(), Error> {
    db.transact(|tx| finish(tx, id, outcome, now).scope_boxed()).await?;
    scheduling::job_ended();
    Ok(())
}

async fn finish(tx: &mut Tx, id: i64, outcome: JobState, now: Timestamp) -> Result<(), Error> {
    if !job::finish(tx, id, outcome, now).await? {
        // A peer took it for dead. How it has really ended is known better here.
        job::heartbeat(tx, id, now).await?;
        job::finish(tx, id, outcome, now).await?;
    }
    // Its runs wait for another scheduler.
    notifications::notify(tx, Notification::Schedulers).await
}
