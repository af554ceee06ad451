//! `dag_code`: the source text of each version of a DAG.

use ferroflow_model::id;
use ferroflow_model::stored_dag::md5_hex;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Stores the source text of a version.
pub async fn insert(
    tx: &mut Tx,
    dag_id: &str,
    dag_version_id: Uuid,
    fileloc: &str,
    source: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let id = id::new_v7(now, rand::random());
    let binds = binds![id, dag_id, fileloc, now, now, source, md5_hex(source), dag_version_id];
    tx.execute(sql!("dag_code/insert"), binds).await?;
    Ok(())
}

/// Replaces a text: a comment was edited, say, which makes no new version.
pub async fn update(tx: &mut Tx, id: Uuid, source: &str, now: Timestamp) -> Result<(), Error> {
    tx.execute(sql!("dag_code/update"), binds![source, md5_hex(source), now, id]).await?;
    Ok(())
}
