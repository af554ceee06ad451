//! `dag_version`: the versions of a DAG, counted from 1.

use ferroflow_model::id;
use jiff::Timestamp;
use uuid::Uuid;

use crate::Json;
use crate::bind::binds;
use crate::error::Error;
use crate::row::Row;
use crate::statement::sql;
use crate::tx::Tx;

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
