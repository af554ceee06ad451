//! `dag_run_note`: the note that people keep on a run, at most one.

use jiff::Timestamp;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Adds the note of a run; `user_id` is who wrote it, where that is known.
pub async fn insert(
    tx: &mut Tx,
    dag_run_id: i64,
    user_id: Option<&str>,
    content: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("dag_run_note/insert"), binds![dag_run_id, user_id, content, now, now]).await?;
    Ok(())
}

/// The note of a run.
pub async fn find(tx: &mut Tx, dag_run_id: i64) -> Result<Option<String>, Error> {
    let row = tx.fetch_optional(sql!("dag_run_note/find"), binds![dag_run_id]).await?;
    Ok(row.map(|row| row.optional("content")).transpose()?.flatten())
}
