//! `task_reschedule`: how often a try was put off, and until when.

use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Notes that a try was put off.
pub async fn insert(
    tx: &mut Tx,
    instance: Uuid,
    start_date: Timestamp,
    end_date: Timestamp,
    reschedule_date: Timestamp,
) -> Result<(), Error> {
    let seconds = end_date.duration_since(start_date).as_secs();
    let binds = binds![instance, start_date, end_date, seconds, reschedule_date];
    tx.execute(sql!("task_reschedule/insert"), binds).await?;
    Ok(())
}

/// Forgets that a try was put off.
pub async fn delete(tx: &mut Tx, instance: Uuid) -> Result<(), Error> {
    tx.execute(sql!("task_reschedule/delete"), binds![instance]).await?;
    Ok(())
}

/// When a try that was put off began for the first time.
pub async fn first_start(tx: &mut Tx, instance: Uuid) -> Result<Option<Timestamp>, Error> {
    let row = tx.fetch_optional(sql!("task_reschedule/first_start"), binds![instance]).await?;
    row.map(|row| row.get("start_date")).transpose()
}
