//! `asset_alias`: names that stand for assets which are known only when a task has run.

use ferroflow_model::asset::AssetAlias;
use ferroflow_model::stored_assets::StoredAlias;

use crate::asset::Inserted;
use crate::asset::row::only_id;
use crate::statement::{BATCH, Bind, binds, sql};
use crate::{Error, Tx};

/// The aliases with these names.
pub async fn find_by_names(tx: &mut Tx, names: &[&str]) -> Result<Vec<StoredAlias>, Error> {
    let mut found = Vec::new();
    for names in names.chunks(BATCH) {
        let list: Bind = names.iter().copied().collect();
        let rows = tx.fetch_all(sql!("asset_alias/find_by_names"), vec![list]).await?;
        found.extend(tx.readable(&rows, |row| {
            // A group that cannot be read is none, and is replaced.
            let group = tx.or_note(row.get("group"))?.unwrap_or_default();
            Ok(StoredAlias { id: row.get("id")?, name: row.get("name")?, group })
        })?);
    }
    Ok(found)
}

/// Adds an alias, unless there is one of its name already, which stays as it is.
pub async fn insert_if_missing(tx: &mut Tx, alias: &AssetAlias) -> Result<Inserted, Error> {
    let name = alias.name.as_str();
    let binds = binds![name, alias.group.as_str()];
    let is_new = tx.execute(sql!("asset_alias/insert_if_missing"), binds).await? > 0;
    let row = tx.fetch_optional(sql!("asset_alias/find_id"), binds![name]).await?;
    Ok(Inserted { id: only_id(row, "asset_alias/find_id")?, is_new })
}

/// Gives an alias another group.
pub async fn update(tx: &mut Tx, id: i64, alias: &AssetAlias) -> Result<(), Error> {
    tx.execute(sql!("asset_alias/update"), binds![alias.group.as_str(), id]).await?;
    Ok(())
}
