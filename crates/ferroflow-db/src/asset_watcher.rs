//! `asset_watcher`: triggers whose events are events of an asset.

use ferroflow_model::stored_assets::StoredWatcher;

use crate::asset::BATCH;
use crate::bind::binds;
use crate::encoding::fernet::Fernet;
use crate::error::Error;
use crate::statement::sql;
use crate::trigger::event_trigger;
use crate::tx::Tx;

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
        for row in &rows {
            found.push(StoredWatcher {
                asset_id: row.get("asset_id")?,
                trigger_id: row.get("trigger_id")?,
                trigger: event_trigger(row, fernet)?,
            });
        }
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

/// Ends the watch over assets that no DAG waits for any longer, and says how many rows that were.
pub async fn delete_of_unscheduled_assets(tx: &mut Tx) -> Result<u64, Error> {
    let rows = tx.fetch_all(sql!("asset_watcher/find_unscheduled"), Vec::new()).await?;
    for row in &rows {
        delete(tx, row.get("asset_id")?, row.get("trigger_id")?).await?;
    }
    Ok(rows.len() as u64)
}
