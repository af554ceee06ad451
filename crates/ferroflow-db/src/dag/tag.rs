//! `dag_tag`: the tags of each DAG.

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// The tags of some DAGs: pairs of a DAG and a tag.
pub async fn of_dags(tx: &mut Tx, dag_ids: &[String]) -> Result<Vec<(String, String)>, Error> {
    let rows =
        tx.fetch_all(sql!("dag_tag/of_dags"), vec![dag_ids.iter().map(String::as_str).collect()]).await?;
    tx.readable(&rows, |row| Ok((row.get("dag_id")?, row.get("name")?)))
}

/// Adds a tag.
pub async fn insert(tx: &mut Tx, dag_id: &str, name: &str) -> Result<(), Error> {
    tx.execute(sql!("dag_tag/insert"), binds![name, dag_id]).await?;
    Ok(())
}

/// Takes a tag away.
pub async fn delete(tx: &mut Tx, dag_id: &str, name: &str) -> Result<(), Error> {
    tx.execute(sql!("dag_tag/delete"), binds![dag_id, name]).await?;
    Ok(())
}
