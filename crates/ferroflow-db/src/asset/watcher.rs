//! `asset_watcher`: triggers whose events are events of an asset.

use ferroflow_model::stored_assets::StoredWatcher;

use crate::encoding::fernet::Fernet;
use crate::statement::{BATCH, binds, sql};
use crate::trigger::row::event_trigger;
use crate::{Error, Tx};

/// What watches these assets.
pub async fn find_by_assets(
    tx: &mut Tx,
    fernet: &Fernet,
    asset_ids: &[i64],
) -> Result<Vec<StoredWatcher>, Error> {
    let mut found = Vec::new();
    for ids in asset_ids.chunks(BATCH) {
        let rows =
            tx.fetch_all(sql!("asset_watcher/find_by_assets"), vec![ids.iter().copied().collect()]).await?;
        found.extend(tx.readable(&rows, |row| {
            Ok(StoredWatcher {
                asset_id: row.get("asset_id")?,
                trigger_id: row.get("trigger_id")?,
                // One that cannot be read is none, and is replaced.
                trigger: tx.or_note(event_trigger(row, fernet))?.flatten(),
            })
        })?);
    }
    Ok(found)
}

/// Lets a trigger watch an asset.
pub async fn insert(tx: &mut Tx, name: &str, asset_id: i64, trigger_id: i64) -> Result<(), Error> {
    tx.execute(sql!("asset_watcher/insert"), binds![name, asset_id, trigger_id]).await?;
    Ok(())
}

/// Lets a trigger no longer watch an asset. The triggerer deletes triggers that nothing uses.
pub async fn delete(tx: &mut Tx, asset_id: i64, trigger_id: i64) -> Result<(), Error> {
    tx.execute(sql!("asset_watcher/delete"), binds![asset_id, trigger_id]).await?;
    Ok(())
}

/// What watches assets that no DAG waits for any longer: ids of an asset and its trigger.
pub async fn unscheduled(tx: &mut Tx) -> Result<Vec<(i64, i64)>, Error> {
    let rows = tx.fetch_all(sql!("asset_watcher/find_unscheduled"), Vec::new()).await?;
    tx.readable(&rows, |row| Ok((row.get("asset_id")?, row.get("trigger_id")?)))
}
