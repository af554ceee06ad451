//! Runs that assets ask for: what waits in `asset_dag_run_queue`, and which events a run consumes.

use ferroflow_model::runs::events::EventWindow;
use jiff::Timestamp;

use crate::dag_run::create::padded_rows;
use crate::statement::{BATCH, Row, binds, sql};
use crate::{Error, Tx};

/// An asset that has changed since a DAG last ran for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedAsset {
    /// The asset,
    pub asset_id: i64,
    /// its name
    pub name: String,
    /// and its URI.
    pub uri: String,
    /// The DAG.
    pub dag_id: String,
    /// When it was queued: at the first event that no run has consumed.
    pub created_at: Timestamp,
    /// Whether the row of the DAG has a condition on assets.
    pub has_expression: bool,
}

/// All that waits.
pub async fn queued(tx: &mut Tx) -> Result<Vec<QueuedAsset>, Error> {
    let rows = tx.fetch_all(sql!("asset_dag_run_queue/all"), Vec::new()).await?;
    tx.readable(&rows, queued_asset)
}

/// Locks and returns the queued assets of some DAGs that no other transaction has locked.
pub async fn lock_queued(tx: &mut Tx, dag_ids: &[&str]) -> Result<Vec<QueuedAsset>, Error> {
    let list = dag_ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("asset_dag_run_queue/lock_free"), vec![list]).await?;
    let locked: Vec<(i64, String)> =
        tx.readable(&rows, |row| Ok((row.get("asset_id")?, row.get("target_dag_id")?)))?;
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    // Names are read apart: MariaDB would lock what is joined.
    let list = dag_ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("asset_dag_run_queue/of_dags"), vec![list]).await?;
    let mut queued = tx.readable(&rows, queued_asset)?;
    queued.retain(|one| {
        locked.iter().any(|(asset_id, dag_id)| *asset_id == one.asset_id && *dag_id == one.dag_id)
    });
    Ok(queued)
}

/// Takes assets, each with its DAG, out of the queue: exactly these. What comes meanwhile stays.
pub async fn unqueue(tx: &mut Tx, queued: &[(i64, &str)]) -> Result<(), Error> {
    for queued in queued.chunks(BATCH) {
        let tuples = padded_rows(queued.iter().map(|(asset_id, dag_id)| binds![*asset_id, *dag_id]));
        tx.execute(sql!("asset_dag_run_queue/delete_many"), vec![tuples]).await?;
    }
    Ok(())
}

/// Since when a DAG waits for its assets.
pub async fn waits_since(tx: &mut Tx, dag_id: &str) -> Result<Option<Timestamp>, Error> {
    let row = tx.fetch_optional(sql!("dag_schedule_asset_reference/waits_since"), binds![dag_id]).await?;
    Ok(row.map_or(Ok(None), |row| tx.or_note(row.optional("since")))?.flatten())
}

/// Ties the events of a window that no run of the DAG has yet to one that waits for them, and says how many these are.
pub async fn consume(tx: &mut Tx, dag_run_id: i64, dag_id: &str, window: EventWindow) -> Result<u64, Error> {
    let EventWindow { after, belated_after, up_to } = window;
    let mut binds = binds![dag_run_id];
    // Once for assets, and once for aliases.
    for _ in 0..2 {
        binds.extend(binds![dag_id, up_to, belated_after.is_none(), belated_after, after.is_none(), after]);
    }
    binds.extend(binds![dag_id]);
    tx.execute(sql!("dagrun_asset_event/consume_window"), binds).await
}

fn queued_asset(row: &Row) -> Result<QueuedAsset, Error> {
    Ok(QueuedAsset {
        asset_id: row.get("asset_id")?,
        name: row.get("name")?,
        uri: row.get("uri")?,
        dag_id: row.get("target_dag_id")?,
        created_at: row.get("created_at")?,
        has_expression: row.get("has_expression")?,
    })
}
