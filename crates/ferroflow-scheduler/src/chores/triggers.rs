//! Triggers that nothing waits for.
//!
//! Locks: their rows in `trigger`, without waiting for those that somebody else has.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::unreferenced_trigger::sweep;

use crate::{Context, Error};

/// How many are looked at in one transaction.
const BATCH: u32 = 500;

/// Removes triggers that nothing waits for. Returns how many.
pub async fn triggers(cx: &Context) -> Result<u64, Error> {
    let (mut removed, mut after) = (0, 0);
    loop {
        let swept = cx.db.transact(|tx| async move { sweep(tx, after, BATCH).await }.scope_boxed()).await?;
        removed += swept.removed;
        match swept.last {
            Some(last) => after = last,
            None => return Ok(removed),
        }
    }
}
