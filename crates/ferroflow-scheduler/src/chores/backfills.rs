//! Backfills of which all runs have ended.
//!
//! Lock: the row in `backfill`, without waiting for one that somebody else has.

use ferroflow_db::{ScopedFutureExt as _, backfill_completion};
use jiff::{SignedDuration, Timestamp};

use crate::{Context, Error};

/// For so long a backfill without runs may be in the making.
const IN_THE_MAKING: SignedDuration = SignedDuration::from_mins(2);

/// Notes which backfills are completed. Returns them.
pub async fn backfills(cx: &Context, now: Timestamp) -> Result<Vec<i64>, Error> {
    let made_before = now.checked_sub(IN_THE_MAKING).unwrap_or(Timestamp::MIN);
    let found = cx
        .db
        .read(|tx| async move { backfill_completion::completable(tx, made_before).await }.scope_boxed())
        .await?;
    let mut completed = Vec::new();
    for id in found {
        let done = cx
            .db
            .transact(|tx| async move { backfill_completion::complete(tx, id, now).await }.scope_boxed());
        if done.await? {
            completed.push(id);
        }
    }
    Ok(completed)
}
