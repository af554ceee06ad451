//! Which DAGs are there, and that some are not any more.

use jiff::Timestamp;

use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// Where a DAG was found, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDag {
    /// Its name.
    pub dag_id: String,
    /// The bundle its file is in.
    pub bundle_name: Option<String>,
    /// Its file, within the bundle.
    pub relative_fileloc: Option<String>,
    /// When its file was last parsed with the DAG in it.
    pub last_parsed_time: Option<Timestamp>,
}

/// Every DAG that is not stale.
pub async fn active(tx: &mut Tx) -> Result<Vec<FoundDag>, Error> {
    let rows = tx.fetch_all(sql!("dag/active"), binds![false]).await?;
    tx.readable(&rows, found_dag)
}

/// Every DAG of a bundle that is not stale.
pub async fn active_of_bundle(tx: &mut Tx, bundle: &str) -> Result<Vec<FoundDag>, Error> {
    let rows = tx.fetch_all(sql!("dag/active_of_bundle"), binds![bundle, false]).await?;
    tx.readable(&rows, found_dag)
}

/// Marks a DAG stale, unless it was found anew since it was read. False if it was.
pub async fn set_stale(tx: &mut Tx, dag: &FoundDag) -> Result<bool, Error> {
    let binds = binds![true, dag.dag_id.as_str(), false, dag.last_parsed_time];
    Ok(tx.execute(sql!("dag/set_stale"), binds).await? == 1)
}

/// Notes that the file of some DAGs has them still, without a word about what they are now.
pub async fn set_found(tx: &mut Tx, dag_ids: &[String], now: Timestamp) -> Result<(), Error> {
    let binds = vec![now.into(), dag_ids.iter().map(String::as_str).collect()];
    tx.execute(sql!("dag/set_found"), binds).await?;
    Ok(())
}

fn found_dag(row: &Row) -> Result<FoundDag, Error> {
    Ok(FoundDag {
        dag_id: row.get("dag_id")?,
        bundle_name: row.optional("bundle_name")?,
        relative_fileloc: row.optional("relative_fileloc")?,
        last_parsed_time: row.optional("last_parsed_time")?,
    })
}
