//! `dag_owner_attributes`: the link that a DAG's author gives for each owner.

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// The link of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerLink {
    /// The DAG.
    pub dag_id: String,
    /// The owner.
    pub owner: String,
    /// Where to find the owner.
    pub link: String,
}

/// The links of some DAGs.
pub async fn of_dags(tx: &mut Tx, dag_ids: &[String]) -> Result<Vec<OwnerLink>, Error> {
    let ids = vec![dag_ids.iter().map(String::as_str).collect()];
    let rows = tx.fetch_all(sql!("dag_owner_attributes/of_dags"), ids).await?;
    tx.readable(&rows, |row| {
        // A link that cannot be read is none, and is replaced.
        let link = tx.or_note(row.get("link"))?.unwrap_or_default();
        Ok(OwnerLink { dag_id: row.get("dag_id")?, owner: row.get("owner")?, link })
    })
}

/// Adds a link.
pub async fn insert(tx: &mut Tx, link: &OwnerLink) -> Result<(), Error> {
    let binds = binds![link.dag_id.as_str(), link.owner.as_str(), link.link.as_str()];
    tx.execute(sql!("dag_owner_attributes/insert"), binds).await?;
    Ok(())
}

/// Changes a link.
pub async fn update(tx: &mut Tx, link: &OwnerLink) -> Result<(), Error> {
    let binds = binds![link.link.as_str(), link.dag_id.as_str(), link.owner.as_str()];
    tx.execute(sql!("dag_owner_attributes/update"), binds).await?;
    Ok(())
}

/// Takes a link away.
pub async fn delete(tx: &mut Tx, dag_id: &str, owner: &str) -> Result<(), Error> {
    tx.execute(sql!("dag_owner_attributes/delete"), binds![dag_id, owner]).await?;
    Ok(())
}
