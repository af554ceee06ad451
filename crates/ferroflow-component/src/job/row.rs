//! The row of a component in `job`, by which others see that it lives.

use ferroflow_db::job::{self, NewJob};
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx};
use ferroflow_execution::Host;
use ferroflow_model::state::JobState;
use jiff::Timestamp;

use crate::JobType;

/// Announces a component on this host. Returns the id of its row.
pub async fn start(db: &Db, job_type: JobType, host: &Host, now: Timestamp) -> Result<i64, Error> {
    let new = &NewJob {
        job_type: job_type.as_str().to_owned(),
        hostname: host.name.clone(),
        unixname: host.user.clone(),
        executor_class: job_type.executor_class().map(str::to_owned),
    };
    let id = db.transact(|tx| async move { job::insert(tx, new, now).await }.scope_boxed()).await?;
    job_type.count_start();
    Ok(id)
}

/// Shows that the component lives. Its row is running again even if a peer took it for dead. False if its
/// row is gone.
pub async fn beat(db: &Db, job_type: JobType, id: i64, now: Timestamp) -> Result<bool, Error> {
    let beaten = db.transact(|tx| async move { job::heartbeat(tx, id, now).await }.scope_boxed()).await;
    job_type.count_heartbeat(beaten.is_ok());
    beaten
}

/// Notes how the component has ended.
pub async fn end(
    db: &Db,
    job_type: JobType,
    id: i64,
    outcome: JobState,
    now: Timestamp,
) -> Result<(), Error> {
    db.transact(|tx| finish(tx, job_type, id, outcome, now).scope_boxed()).await?;
    job_type.count_end();
    Ok(())
}

async fn finish(
    tx: &mut Tx,
    job_type: JobType,
    id: i64,
    outcome: JobState,
    now: Timestamp,
) -> Result<(), Error> {
    if !job::finish(tx, id, outcome, now).await? {
        // A peer took it for dead. How it has really ended is known better here.
        job::heartbeat(tx, id, now).await?;
        job::finish(tx, id, outcome, now).await?;
    }
    if job_type.is_heard_by_schedulers() {
        // Its runs wait for a scheduler, which looks after them at once.
        notifications::notify(tx, Notification::Schedulers).await?;
    }
    Ok(())
}
