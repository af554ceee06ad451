//! `deadline_alert`: what must have happened by when, for each serialized DAG.

use ferroflow_model::id;
use ferroflow_model::stored_dag::{DeadlineDefinition, StoredDeadline};
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// An id for a new deadline. It stands in the serialized DAG, which is written before the deadline is.
pub fn new_id(now: Timestamp) -> Uuid {
    id::new_v7(now, rand::random())
}

/// The deadlines with these ids.
pub async fn find(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<StoredDeadline>, Error> {
    let rows = tx.fetch_all(sql!("deadline_alert/find"), vec![ids.iter().copied().collect()]).await?;
    rows.iter()
        .map(|row| {
            let definition = DeadlineDefinition {
                name: row.optional("name")?,
                reference: row.get("reference")?,
                interval: row.get("interval")?,
                callback: row.get("callback_def")?,
            };
            Ok(StoredDeadline { id: row.get("id")?, definition })
        })
        .collect()
}

/// Adds a deadline to a serialized DAG.
pub async fn insert(
    tx: &mut Tx,
    id: Uuid,
    serialized_dag_id: Uuid,
    deadline: &DeadlineDefinition,
    now: Timestamp,
) -> Result<(), Error> {
    let binds = binds![
        id,
        now,
        serialized_dag_id,
        deadline.name.as_deref(),
        deadline.reference.clone(),
        deadline.interval.clone(),
        deadline.callback.clone(),
    ];
    tx.execute(sql!("deadline_alert/insert"), binds).await?;
    Ok(())
}

/// Gives a deadline another name.
pub async fn rename(tx: &mut Tx, id: Uuid, name: Option<&str>) -> Result<(), Error> {
    tx.execute(sql!("deadline_alert/rename"), binds![name, id]).await?;
    Ok(())
}

/// Takes all deadlines of a serialized DAG away.
pub async fn delete_of(tx: &mut Tx, serialized_dag_id: Uuid) -> Result<(), Error> {
    tx.execute(sql!("deadline_alert/delete_of"), binds![serialized_dag_id]).await?;
    Ok(())
}
