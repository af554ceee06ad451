//! `dag_warning`: what is questionable about a DAG that was parsed.

use jiff::Timestamp;

use crate::statement::{Bind, binds, sql};
use crate::{Error, Tx};

/// Something questionable about a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagWarning {
    /// The DAG.
    pub dag_id: String,
    /// Of which kind it is. A DAG has one warning of each.
    pub warning_type: String,
    /// What to tell people.
    pub message: String,
}

/// The warnings of some DAGs.
pub async fn of_dags(tx: &mut Tx, dag_ids: &[String]) -> Result<Vec<DagWarning>, Error> {
    let ids = vec![dag_ids.iter().map(String::as_str).collect()];
    let rows = tx.fetch_all(sql!("dag_warning/of_dags"), ids).await?;
    tx.readable(&rows, |row| {
        // A message that cannot be read is none, and is replaced.
        let message = tx.or_note(row.get("message"))?.unwrap_or_default();
        Ok(DagWarning { dag_id: row.get("dag_id")?, warning_type: row.get("warning_type")?, message })
    })
}

/// Adds a warning.
pub async fn insert(tx: &mut Tx, warning: &DagWarning, now: Timestamp) -> Result<(), Error> {
    let binds = binds![warning.dag_id.as_str(), warning.warning_type.as_str(), warning.message.as_str(), now];
    tx.execute(sql!("dag_warning/insert"), binds).await?;
    Ok(())
}

/// Changes what a warning says. Its time stays that of the first.
pub async fn update(tx: &mut Tx, warning: &DagWarning) -> Result<(), Error> {
    let binds = binds![warning.message.as_str(), warning.dag_id.as_str(), warning.warning_type.as_str()];
    tx.execute(sql!("dag_warning/update"), binds).await?;
    Ok(())
}

/// Takes a warning away.
pub async fn delete(tx: &mut Tx, dag_id: &str, warning_type: &str) -> Result<(), Error> {
    tx.execute(sql!("dag_warning/delete"), binds![dag_id, warning_type]).await?;
    Ok(())
}

/// Removes the warnings about DAGs of a file, and about those that are named, if they are stale. Which those are is asked
/// apart: in one statement with the removal, MySQL and MariaDB would lock rows of DAGs, and wait for those of others.
pub async fn delete_of_stale_dags_of_file(
    tx: &mut Tx,
    bundle: &str,
    file: &str,
    named: &[String],
) -> Result<(), Error> {
    let named: Bind = named.iter().map(String::as_str).collect();
    let rows = tx.fetch_all(sql!("dag_warning/stale_of_file"), binds![true, bundle, file, named]).await?;
    let stale: Vec<String> = tx.readable(&rows, |row| row.get("dag_id"))?;
    if stale.is_empty() {
        return Ok(());
    }
    let stale: Vec<&str> = stale.iter().map(String::as_str).collect();
    delete_of_dags(tx, &stale).await
}

/// The stale DAGs that there are warnings about.
pub async fn stale_dags(tx: &mut Tx) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag_warning/stale_dags"), binds![true]).await?;
    tx.readable(&rows, |row| row.get("dag_id"))
}

/// Removes all warnings about some DAGs.
pub async fn delete_of_dags(tx: &mut Tx, dag_ids: &[&str]) -> Result<(), Error> {
    tx.execute(sql!("dag_warning/delete_of_dags"), vec![dag_ids.iter().copied().collect()]).await?;
    Ok(())
}
