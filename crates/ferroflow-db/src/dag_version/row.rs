//! `dag_version`: the versions of a DAG, counted from 1.

use ferroflow_model::id;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

/// What a new version is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDagVersion {
    /// The DAG.
    pub dag_id: String,
    /// The bundle its file is in.
    pub bundle_name: Option<String>,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// What the bundle wants to know about this version.
    pub version_data: Option<Json>,
}

/// One version of a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagVersion {
    /// Its identity.
    pub id: Uuid,
    /// 1 for the first of its DAG.
    pub version_number: i32,
    /// The DAG.
    pub dag_id: String,
    /// The bundle its file is in.
    pub bundle_name: Option<String>,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// What the bundle wants to know about this version.
    pub version_data: Option<Json>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its row was last written.
    pub last_updated: Timestamp,
}

/// The newest version of a DAG, and what is stored beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    /// The DAG.
    pub dag_id: String,
    /// The identity of the version.
    pub id: Uuid,
    /// The bundle its file is in.
    pub bundle_name: Option<String>,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// What the bundle wants to know about this version.
    pub version_data: Option<Json>,
    /// The row of its serialized form.
    pub serialized_dag_id: Option<Uuid>,
    /// The hash of that.
    pub dag_hash: Option<String>,
    /// When that was last written.
    pub written_at: Option<Timestamp>,
    /// The row of its source text.
    pub dag_code_id: Option<Uuid>,
    /// The hash of that.
    pub source_code_hash: Option<String>,
    /// Whether any task instance was made from it.
    pub has_task_instances: bool,
}

/// Makes the next version of a DAG, and returns its id.
///
/// The newest version so far is locked without waiting: two that count up at once would count to the same
/// number. No version data is JSON `null`, as Airflow writes it.
pub async fn insert(tx: &mut Tx, version: &NewDagVersion, now: Timestamp) -> Result<Uuid, Error> {
    let newest = tx.fetch_optional(sql!("dag_version/lock_newest"), binds![version.dag_id.as_str()]).await?;
    let newest_number: i32 = newest.map_or(Ok(0), |row| row.get("version_number"))?;
    let id = id::new_v7(now, rand::random());
    let binds = binds![
        id,
        newest_number + 1,
        version.dag_id.as_str(),
        version.bundle_name.as_deref(),
        version.bundle_version.as_deref(),
        version.version_data.clone().unwrap_or_else(Json::null),
        now,
        now,
    ];
    tx.execute(sql!("dag_version/insert"), binds).await?;
    Ok(id)
}

/// The newest version of a DAG.
pub async fn latest(tx: &mut Tx, dag_id: &str) -> Result<Option<DagVersion>, Error> {
    let row = tx.fetch_optional(sql!("dag_version/latest"), binds![dag_id]).await?;
    row.as_ref().map(dag_version).transpose()
}

/// The newest version of each of some DAGs, with what is stored beside it. A DAG without versions is left out.
pub async fn latest_of(tx: &mut Tx, dag_ids: &[String]) -> Result<Vec<StoredVersion>, Error> {
    let ids = vec![dag_ids.iter().map(String::as_str).collect()];
    let rows = tx.fetch_all(sql!("dag_version/latest_of"), ids).await?;
    rows.iter().map(stored_version).collect()
}

/// Points a version to another version of its bundle, or to another bundle.
pub async fn set_bundle(tx: &mut Tx, id: Uuid, version: &NewDagVersion, now: Timestamp) -> Result<(), Error> {
    let binds = binds![
        version.bundle_name.as_deref(),
        version.bundle_version.as_deref(),
        version.version_data.clone().unwrap_or_else(Json::null),
        now,
        id,
    ];
    tx.execute(sql!("dag_version/set_bundle"), binds).await?;
    Ok(())
}

fn stored_version(row: &Row) -> Result<StoredVersion, Error> {
    Ok(StoredVersion {
        dag_id: row.get("dag_id")?,
        id: row.get("id")?,
        bundle_name: row.optional("bundle_name")?,
        bundle_version: row.optional("bundle_version")?,
        version_data: row.json("version_data")?,
        serialized_dag_id: row.optional("serialized_dag_id")?,
        dag_hash: row.optional("dag_hash")?,
        written_at: row.optional("written_at")?,
        dag_code_id: row.optional("dag_code_id")?,
        source_code_hash: row.optional("source_code_hash")?,
        has_task_instances: row.get::<i64>("has_task_instances")? != 0,
    })
}

fn dag_version(row: &Row) -> Result<DagVersion, Error> {
    Ok(DagVersion {
        id: row.get("id")?,
        version_number: row.get("version_number")?,
        dag_id: row.get("dag_id")?,
        bundle_name: row.optional("bundle_name")?,
        bundle_version: row.optional("bundle_version")?,
        version_data: row.json("version_data")?,
        created_at: row.get("created_at")?,
        last_updated: row.get("last_updated")?,
    })
}
