//! A DAG is deleted with all that there can be of it.

use ferroflow_db::asset::reference;
use ferroflow_db::backfill::create::{self, NewBackfill};
use ferroflow_db::dag::delete::{Deleted, delete};
use ferroflow_db::dag::owner_attributes::{self, OwnerLink};
use ferroflow_db::dag::tag;
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion, dag_code};
use ferroflow_db::import_error::{self, ImportError};
use ferroflow_db::testing::change;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx};
use ferroflow_model::backfill::Reprocess;
use ferroflow_model::stored_assets::Access;
use ferroflow_testkit::rows::{add_dag, add_run};

use super::{add, assets, key, stored, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { made(tx).await }.scope_boxed()).await;
    // Jobs of a single DAG are those of old versions of Airflow.
    let insert = "INSERT INTO job (dag_id, state, job_type) VALUES ('deleted', 'success', 'BackfillJob')";
    change(db, insert).await.unwrap();
    within(db, |tx| async move { deleted(tx).await }.scope_boxed()).await;
}

async fn made(tx: &mut Tx) -> Result<(), Error> {
    let dag_id = "deleted".to_owned();
    add_dag(tx, "deleted").await?;
    tag::insert(tx, "deleted", "tag").await?;
    let [owner, link] = ["owner", "link"].map(str::to_owned);
    owner_attributes::insert(tx, &OwnerLink { dag_id: dag_id.clone(), owner, link }).await?;
    let version = NewDagVersion {
        dag_id: dag_id.clone(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    };
    let dag_version_id = dag_version::insert(tx, &version, NOW).await?;
    let serialized = NewSerializedDag {
        dag_id: dag_id.clone(),
        dag_version_id,
        dag_hash: "hash".to_owned(),
        data: stored!({}),
    };
    serialized_dag::insert(tx, &serialized, false, NOW).await?;
    dag_code::insert(tx, "deleted", dag_version_id, "/deleted.py", "pass", NOW).await?;
    let backfill = NewBackfill {
        dag_id,
        from: NOW,
        to: NOW,
        conf: stored!({}),
        reprocess: Reprocess::None,
        max_active_runs: 1,
        triggering_user_name: None,
        is_paused: false,
    };
    create::insert(tx, &backfill, NOW).await?;
    add_run(tx, "deleted", "run", NOW).await?;
    add(tx, key("deleted", "run", "task"), |_| ()).await?;
    let (asset_id, alias_id) = assets::ids(tx).await?;
    for reference in assets::references("deleted", asset_id, alias_id) {
        reference::insert(tx, &reference, &Access::ANYBODY, NOW).await?;
    }
    let error = ImportError {
        bundle_name: "dags-folder".to_owned(),
        filename: "deleted.py".to_owned(),
        stacktrace: "SyntaxError".to_owned(),
    };
    import_error::insert(tx, &error, NOW).await?;
    Ok(())
}

async fn deleted(tx: &mut Tx) -> Result<(), Error> {
    assert!(matches!(delete(tx, "tasks").await?, Deleted::StillRunning { .. }));
    assert!(matches!(delete(tx, "deleted").await?, Deleted::Rows(16)));
    Ok(())
}
