//! A DAG is deleted, with all that is known of it but the log of who did what.

use crate::dag::find;
use crate::statement::{Statement, binds, sql};
use crate::{Error, Tx};

/// What became of a DAG that was to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// So many rows are gone; those that went with them are not counted.
    Rows(u64),
    /// There is no such DAG.
    Unknown,
    /// One of its task instances runs.
    StillRunning {
        /// The run.
        run_id: String,
        /// The task.
        task_id: String,
    },
}

/// Deletes a DAG: its runs and what was in them, its versions and serialized forms, what it says about assets, and the
/// import error of its file. Comes back with the next parse if its file is still there.
pub async fn delete(tx: &mut Tx, dag_id: &str) -> Result<Deleted, Error> {
    if let Some(row) = tx.fetch_optional(sql!("dag_deletion/running"), binds![dag_id]).await? {
        return Ok(Deleted::StillRunning { run_id: row.get("run_id")?, task_id: row.get("task_id")? });
    }
    let Some(dag) = find(tx, dag_id).await? else { return Ok(Deleted::Unknown) };
    let mut rows = 0;
    for statement in statements() {
        rows += tx.execute(statement, binds![dag_id]).await?;
    }
    if let Some(file) = &dag.relative_fileloc {
        let binds = binds![file.as_str(), dag.bundle_name.as_str()];
        tx.execute(sql!("dag_deletion/import_error"), binds).await?;
    }
    Ok(Deleted::Rows(rows))
}

/// Runs first, since versions are kept as long as a run was made with them; the DAG last.
fn statements() -> [&'static Statement; 19] {
    [
        sql!("dag_deletion/task_instance"),
        sql!("dag_deletion/dag_run"),
        sql!("dag_deletion/task_instance_history"),
        sql!("dag_deletion/task_map"),
        sql!("dag_deletion/xcom"),
        sql!("dag_deletion/backfill"),
        sql!("dag_deletion/job"),
        sql!("dag_deletion/dag_code"),
        sql!("dag_deletion/serialized_dag"),
        sql!("dag_deletion/dag_version"),
        sql!("dag_deletion/dag_tag"),
        sql!("dag_deletion/dag_owner_attributes"),
        sql!("dag_deletion/task_inlet_asset_reference"),
        sql!("dag_deletion/task_outlet_asset_reference"),
        sql!("dag_deletion/dag_schedule_asset_reference"),
        sql!("dag_deletion/dag_schedule_asset_name_reference"),
        sql!("dag_deletion/dag_schedule_asset_uri_reference"),
        sql!("dag_deletion/dag_schedule_asset_alias_reference"),
        sql!("dag_deletion/dag"),
    ]
}
