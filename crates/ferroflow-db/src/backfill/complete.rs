//! `backfill`: those of which all runs have ended.

use jiff::Timestamp;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Backfills that are not completed and have no run that waits or runs. One without any run may still be in the making,
/// unless it was made before this time.
pub async fn completable(tx: &mut Tx, made_before: Timestamp) -> Result<Vec<i64>, Error> {
    let rows = tx.fetch_all(sql!("backfill/completable"), binds![made_before]).await?;
    tx.readable(&rows, |row| row.get("id"))
}

/// Notes that a backfill is completed. False if it is already, if a run of it waits or runs, or if another transaction has it.
pub async fn complete(tx: &mut Tx, id: i64, now: Timestamp) -> Result<bool, Error> {
    if tx.fetch_optional(sql!("backfill/lock_open"), binds![id]).await?.is_none() {
        return Ok(false);
    }
    Ok(tx.execute(sql!("backfill/complete"), binds![now, now, id]).await? == 1)
}
