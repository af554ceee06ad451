//! Deadlines that come with a run, and move with it: `deadline_alert` says which, `deadline` holds them.

use ferroflow_model::id;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::statement::{Bind, binds, sql};
use crate::{Error, Json, Tx};

/// What must have happened by when, as a version of a DAG says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The version.
    pub dag_version_id: Uuid,
    /// Its row.
    pub id: Uuid,
    /// From when the time is counted.
    pub reference: Json,
    /// How much time there is.
    pub interval: Json,
    /// What is called then.
    pub callback: Json,
}

/// What some versions of DAGs say.
pub async fn alerts(tx: &mut Tx, versions: &[Uuid]) -> Result<Vec<Alert>, Error> {
    let rows =
        tx.fetch_all(sql!("deadline_alert/of_versions"), vec![versions.iter().copied().collect()]).await?;
    tx.readable(&rows, |row| {
        Ok(Alert {
            dag_version_id: row.get("dag_version_id")?,
            id: row.get("id")?,
            reference: row.get("reference")?,
            interval: row.get("interval")?,
            callback: row.get("callback_def")?,
        })
    })
}

/// How long the latest successful runs of a DAG took: at most so many.
pub async fn past_durations(tx: &mut Tx, dag_id: &str, most: u32) -> Result<Vec<SignedDuration>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/past_successes"), binds![dag_id, i64::from(most)]).await?;
    tx.readable(&rows, |row| {
        let (start, end): (Timestamp, Timestamp) = (row.get("start_date")?, row.get("end_date")?);
        Ok(end.duration_since(start))
    })
}

/// Adds a deadline to a run. Its callback is there already.
pub async fn insert(
    tx: &mut Tx,
    dag_run_id: i64,
    alert_id: Uuid,
    callback_id: Uuid,
    deadline: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let id = id::new_v7(now, rand::random());
    let binds = binds![id, now, now, dag_run_id, deadline, false, callback_id, alert_id];
    tx.execute(sql!("deadline/insert"), binds).await?;
    Ok(())
}

/// A deadline that a run has not missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMissed {
    /// Its row.
    pub id: Uuid,
    /// By when.
    pub deadline_time: Timestamp,
    /// When the run was queued.
    pub queued_at: Option<Timestamp>,
    /// From when the time is counted.
    pub reference: Json,
    /// How much time there is.
    pub interval: Json,
    /// What is called then.
    pub callback: Json,
}

/// The deadlines that a run has not missed, of those whose definition is still there.
pub async fn not_missed(tx: &mut Tx, dag_run_id: i64) -> Result<Vec<NotMissed>, Error> {
    let rows = tx.fetch_all(sql!("deadline/not_missed_of_run"), binds![dag_run_id, false]).await?;
    rows.iter()
        .map(|row| {
            Ok(NotMissed {
                id: row.get("id")?,
                deadline_time: row.get("deadline_time")?,
                queued_at: row.optional("queued_at")?,
                reference: row.get("reference")?,
                interval: row.get("interval")?,
                callback: row.get("callback_def")?,
            })
        })
        .collect()
}

/// Moves a deadline. False if it was missed in the meantime, or is gone.
pub async fn move_to(tx: &mut Tx, id: Uuid, at: Timestamp, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("deadline/move"), binds![at, now, id, false]).await? == 1)
}

/// Takes away the deadlines of a run that has ended in time, and what would be called. Those that were missed stay.
pub async fn forget_met(tx: &mut Tx, dag_run_id: i64, end: Timestamp) -> Result<usize, Error> {
    let rows = tx.fetch_all(sql!("deadline/callbacks_of_met"), binds![dag_run_id, false, end]).await?;
    let callbacks = rows.iter().map(|row| row.get("callback_id")).collect::<Result<Vec<Uuid>, Error>>()?;
    if callbacks.is_empty() {
        return Ok(0);
    }
    let list: Bind = callbacks.iter().copied().collect();
    tx.execute(sql!("deadline/delete_met"), vec![list.clone(), false.into()]).await?;
    // One that was missed in between keeps its callback.
    tx.execute(sql!("callback/delete_without_deadline"), vec![list]).await?;
    Ok(callbacks.len())
}
