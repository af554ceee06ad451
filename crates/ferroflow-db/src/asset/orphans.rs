//! `asset_active`, as schedulers keep it: what nothing refers to is not in use, and what something refers to is, unless
//! its name or its URI is another's.

use std::collections::BTreeSet;

use ferroflow_model::stored_assets::AssetKey;
use jiff::Timestamp;

use crate::dag::warning::DagWarning;
use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Page, Tx};

/// An asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAsset {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
}

/// Assets that are in use although nothing refers to them, as many as asked for, after one.
pub async fn unreferenced(tx: &mut Tx, after: i64, limit: u32) -> Result<Page<FoundAsset, i64>, Error> {
    let rows = tx.fetch_all(sql!("asset_active/unreferenced"), binds![after, i64::from(limit)]).await?;
    tx.page(&rows, limit.into(), asset)
}

/// Notes that an asset is not in use. False if something refers to it by now.
pub async fn retire(tx: &mut Tx, asset: &FoundAsset) -> Result<bool, Error> {
    let (name, uri, id) = (asset.name.as_str(), asset.uri.as_str(), asset.id);
    Ok(tx.execute(sql!("asset_active/delete_unreferenced"), binds![name, uri, id, id, id, id]).await? == 1)
}

/// Assets that something refers to and that are not in use: each with its group, and the DAGs that refer to it.
pub async fn waiting(tx: &mut Tx) -> Result<Vec<(FoundAsset, String, BTreeSet<String>)>, Error> {
    let rows = tx.fetch_all(sql!("asset/referenced_inactive"), Vec::new()).await?;
    let mut found = Vec::with_capacity(rows.len());
    for rows in rows.chunks(BATCH) {
        let ids: Bind = tx.readable(rows, |row| row.get::<i64>("id"))?.into_iter().collect();
        let references = tx.fetch_all(sql!("asset_reference/dags_of_assets"), vec![ids; 3]).await?;
        let references =
            tx.readable(&references, |row| Ok((row.get::<i64>("asset_id")?, row.get::<String>("dag_id")?)))?;
        for row in rows {
            let Some((asset, group)) =
                tx.or_note(asset(row).and_then(|asset| Ok((asset, row.get("group")?))))?
            else {
                continue;
            };
            let dags =
                references.iter().filter(|(id, _)| *id == asset.id).map(|(_, dag)| dag.clone()).collect();
            found.push((asset, group, dags));
        }
    }
    Ok(found)
}

/// The assets in use that have one of these names or one of these URIs.
pub async fn claims(tx: &mut Tx, keys: &[AssetKey<'_>]) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    for keys in keys.chunks(BATCH) {
        let names: Bind = keys.iter().map(|(name, _)| *name).collect();
        let uris: Bind = keys.iter().map(|(_, uri)| *uri).collect();
        let rows = tx.fetch_all(sql!("asset_active/claims"), vec![names, uris]).await?;
        found.extend(tx.readable(&rows, |row| Ok((row.get("name")?, row.get("uri")?)))?);
    }
    Ok(found)
}

/// The warnings of one type.
pub async fn warnings(tx: &mut Tx, warning_type: &str) -> Result<Vec<DagWarning>, Error> {
    let rows = tx.fetch_all(sql!("dag_warning/of_type"), binds![warning_type]).await?;
    let warning = |row: &Row| {
        Ok(DagWarning {
            dag_id: row.get("dag_id")?,
            warning_type: row.get("warning_type")?,
            message: row.get("message")?,
        })
    };
    tx.readable(&rows, warning)
}

/// Adds a warning, or changes what it says. Its time stays that of the first.
pub async fn warn(tx: &mut Tx, warning: &DagWarning, now: Timestamp) -> Result<(), Error> {
    let binds = binds![warning.dag_id.as_str(), warning.warning_type.as_str(), warning.message.as_str(), now];
    tx.execute(sql!("dag_warning/set"), binds).await?;
    Ok(())
}

/// Drops what is kept for assets that are not in use. Returns how many values that were.
pub async fn drop_state(tx: &mut Tx) -> Result<u64, Error> {
    tx.execute(sql!("asset_state_store/delete_inactive"), Vec::new()).await
}

fn asset(row: &Row) -> Result<FoundAsset, Error> {
    Ok(FoundAsset { id: row.get("id")?, name: row.get("name")?, uri: row.get("uri")? })
}
