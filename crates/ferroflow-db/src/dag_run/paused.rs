//! `dag_run`: running runs of DAGs that are paused.

use crate::dag_run::ClaimedRun;
use crate::statement::{Row, binds, sql};
use crate::{Error, Page, Tx};

/// Running runs of paused DAGs of which a task instance has changed since a scheduler last looked at them, by the id of
/// their row and after one, as many as asked for. They are not locked.
pub async fn changed(tx: &mut Tx, after: i64, limit: u32) -> Result<Page<ClaimedRun, i64>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/paused_changed"), binds![true, after, i64::from(limit)]).await?;
    tx.page(&rows, limit.into(), run)
}

fn run(row: &Row) -> Result<ClaimedRun, Error> {
    Ok(ClaimedRun { id: row.get("id")?, dag_id: row.get("dag_id")?, run_id: row.get("run_id")? })
}
