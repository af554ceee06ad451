//! Triggers that nothing refers to.
//!
//! Locks: their rows in `trigger`, without waiting for those that another transaction has.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::trigger::unreferenced::sweep;

use super::report::Report;
use super::{Chore, reported};
use crate::refused::{Done, SetAside, or_set_aside};
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
            let row = |reason| SetAside::row(format!("trigger {id}"), reason);
            or_set_aside(Err::<(), _>(error), cx.db.unreadable(), row, &mut report.set_aside);
        }
        match swept.last {
            Some(last) => after = last,
            None => return Ok(report),
        }
    }
}

impl Report for Done<u64> {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }
}
