//! `asset`: what tasks update and DAGs wait for.

use ferroflow_model::asset::Asset;
use ferroflow_model::stored_assets::StoredAsset;
use jiff::Timestamp;

use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// An asset that is there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its id.
    pub id: i64,
    /// False if it was there already. MySQL and MariaDB cannot tell, and say true.
    pub is_new: bool,
}

/// An asset, as user code sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAsset {
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
    /// Its group.
    pub group: String,
    /// What its author noted: a dict.
    pub extra: Json,
}

/// All assets with these names, whatever their URIs.
pub async fn find_by_names(tx: &mut Tx, names: &[&str]) -> Result<Vec<StoredAsset>, Error> {
    let mut found = Vec::new();
    for names in names.chunks(BATCH) {
        let list: Bind = names.iter().copied().collect();
        let rows = tx.fetch_all(sql!("asset/find_by_names"), vec![list]).await?;
        found.extend(tx.readable(&rows, |row| asset(tx, row))?);
    }
    Ok(found)
}

/// The active asset of a name, and its id.
pub async fn active_by_name(tx: &mut Tx, name: &str) -> Result<Option<(i64, FoundAsset)>, Error> {
    let row = tx.fetch_optional(sql!("asset/active_by_name"), binds![name]).await?;
    Ok(tx.readable(row.as_slice(), found_asset)?.pop())
}

/// The active asset of a URI, and its id.
pub async fn active_by_uri(tx: &mut Tx, uri: &str) -> Result<Option<(i64, FoundAsset)>, Error> {
    let row = tx.fetch_optional(sql!("asset/active_by_uri"), binds![uri]).await?;
    Ok(tx.readable(row.as_slice(), found_asset)?.pop())
}

/// The assets that an alias was resolved to, active or not.
pub async fn of_alias(tx: &mut Tx, alias: &str) -> Result<Vec<FoundAsset>, Error> {
    let rows = tx.fetch_all(sql!("asset/of_alias"), binds![alias]).await?;
    tx.readable(&rows, |row| Ok(found_asset(row)?.1))
}

/// Adds an asset, unless there is one of its name and URI already, which stays as it is.
pub async fn insert_if_missing(tx: &mut Tx, asset: &Asset, now: Timestamp) -> Result<Inserted, Error> {
    let (name, uri) = (asset.name.as_str(), asset.uri.as_str());
    let binds = binds![name, uri, asset.group.as_str(), asset.extra.clone(), now, now];
    let is_new = tx.execute(sql!("asset/insert_if_missing"), binds).await? > 0;
    let id = only_id(tx.fetch_optional(sql!("asset/find_id"), binds![name, uri]).await?, "asset/find_id")?;
    Ok(Inserted { id, is_new })
}

/// Gives an asset another group, and another extra.
pub async fn update(tx: &mut Tx, id: i64, asset: &Asset, now: Timestamp) -> Result<(), Error> {
    tx.execute(sql!("asset/update"), binds![asset.group.as_str(), asset.extra.clone(), now, id]).await?;
    Ok(())
}

/// Those of these assets that triggers should watch: active ones that a DAG waits for which is neither stale nor
/// paused.
pub async fn watchable(tx: &mut Tx, ids: &[i64]) -> Result<Vec<i64>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(BATCH) {
        let rows = tx.fetch_all(sql!("asset/watchable"), vec![ids.iter().copied().collect()]).await?;
        found.extend(tx.readable(&rows, |row| row.get::<i64>("id"))?);
    }
    Ok(found)
}

/// The id of a row that was there a moment ago.
pub(crate) fn only_id(row: Option<Row>, operation: &str) -> Result<i64, Error> {
    match row {
        Some(row) => row.get("id"),
        None => Err(Error::Query { operation: operation.to_owned(), cause: sqlx::Error::RowNotFound }),
    }
}

fn found_asset(row: &Row) -> Result<(i64, FoundAsset), Error> {
    let asset = FoundAsset {
        name: row.get("name")?,
        uri: row.get("uri")?,
        group: row.get("group")?,
        extra: row.get("extra")?,
    };
    Ok((row.get("id")?, asset))
}

/// A group or an extra that cannot be read is none, and is replaced.
fn asset(tx: &Tx, row: &Row) -> Result<StoredAsset, Error> {
    Ok(StoredAsset {
        id: row.get("id")?,
        name: row.get("name")?,
        uri: row.get("uri")?,
        group: tx.or_note(row.get("group"))?.unwrap_or_default(),
        extra: tx.or_note(row.get("extra"))?.unwrap_or_else(Json::null),
        is_claimed: row.get("is_claimed")?,
        is_watched: row.get("is_watched")?,
    })
}
