//! DAGs are paused, and are not any more.

use crate::notifications::{self, Notification};
use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// The names of the DAGs that are paused, or of those that are not, sorted.
pub async fn names(tx: &mut Tx, is_paused: bool) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag/names_by_pause"), binds![is_paused]).await?;
    let mut names = rows.iter().map(|row| row.get("dag_id")).collect::<Result<Vec<String>, Error>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Pauses a DAG, so that it has no more runs but those that are triggered manually, or unpauses it. False if it is so
/// already, or is not there.
pub async fn set(tx: &mut Tx, dag_id: &str, is_paused: bool) -> Result<bool, Error> {
    let is_changed = tx.execute(sql!("dag/pause"), binds![is_paused, dag_id, !is_paused]).await? == 1;
    if is_changed {
        notifications::notify(tx, Notification::Dags).await?;
    }
    Ok(is_changed)
}
