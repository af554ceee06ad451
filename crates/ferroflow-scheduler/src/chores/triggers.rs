//! Triggers that nothing refers to.
//!
//! Locks: their rows in `trigger`, without waiting for those that another transaction has.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::trigger::unreferenced::sweep;

use super::left::{Done, Left, or_left};
use super::report::Report;
use super::{Chore, reported};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "unreferenced triggers",
    every: |settings| Some(settings.scheduler.parsing_cleanup_interval),
    run: |given| reported(triggers(given.cx)),
};

/// How many are looked at in one transaction.
const BATCH: u32 = 500;

/// Removes triggers that nothing refers to. Returns how many.
pub async fn triggers(cx: &Context) -> Result<Done<u64>, Error> {
    let (mut report, mut after) = (Done::default(), 0);
    loop {
        cx.progress.gets_on();
        let swept =
            cx.db.transact_in_parts(|tx| async move { sweep(tx, after, BATCH).await }.scope_boxed()).await?;
        report.done += swept.removed;
        for (id, error) in swept.left {
            let row = |reason| Left::row(format!("trigger {id}"), reason);
            or_left(Err::<(), _>(error), cx.db.unreadable(), row, &mut report.left);
        }
        match swept.last {
            Some(last) => after = last,
            None => return Ok(report),
        }
    }
}

impl Report for Done<u64> {
    fn left(&self) -> &[Left] {
        &self.left
    }
}
