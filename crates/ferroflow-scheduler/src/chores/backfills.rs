//! Backfills of which all runs have ended, and those whose makers are gone before they were complete.
//!
//! Lock: the row in `backfill`, without waiting for one that somebody else has. Who goes on with a backfill locks more, in
//! transactions of its own.

use ferroflow_db::{ScopedFutureExt as _, backfill_completion, backfill_making};
use ferroflow_execution::RunMaking;
use ferroflow_execution::backfill::{abandoned_before, finish};
use ferroflow_telemetry::chain;
use jiff::{SignedDuration, Timestamp};

use crate::{Context, Error};

/// For so long a backfill without runs may be in the making.
const IN_THE_MAKING: SignedDuration = SignedDuration::from_mins(2);

/// Notes which backfills are completed, and returns them. Goes on with those that were left half made.
pub async fn backfills(cx: &Context, now: Timestamp) -> Result<Vec<i64>, Error> {
    go_on_with_abandoned(cx, now).await?;
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
        match done.await {
            Ok(true) => completed.push(id),
            Ok(false) => {}
            // The next time.
            Err(error) if error.is_busy() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(completed)
}

/// Takes backfills over that nobody makes any more. They are made beside the loop: there may be thousands of runs, and
/// Python may have a say.
async fn go_on_with_abandoned(cx: &Context, now: Timestamp) -> Result<(), Error> {
    let before = abandoned_before(now);
    let found =
        cx.db.read(|tx| async move { backfill_making::abandoned(tx, before).await }.scope_boxed()).await?;
    for (id, dag_id) in found {
        let is_ours = cx.db.transact(|tx| {
            async move { backfill_making::take_over(tx, id, before, now).await }.scope_boxed()
        });
        match is_ours.await {
            Ok(true) => {}
            Ok(false) => continue,
            // Who has locked it makes it.
            Err(error) if error.is_busy() => continue,
            Err(error) => return Err(error.into()),
        }
        let (service, making) = (cx.service.clone(), making(cx)?);
        tokio::spawn(async move {
            match finish(&service, &making, id).await {
                Ok(made) => {
                    tracing::info!(
                        dag_id,
                        backfill_id = id,
                        runs = made.made,
                        "an interrupted backfill is complete"
                    );
                }
                Err(refusal) => {
                    let reason = chain(&refusal);
                    tracing::warn!(
                        dag_id,
                        backfill_id = id,
                        reason,
                        "an interrupted backfill cannot be completed"
                    );
                }
            }
        });
    }
    Ok(())
}

fn making(cx: &Context) -> Result<RunMaking, Error> {
    let making = RunMaking::new(&cx.settings, cx.driver.unixname.clone(), cx.timetables.clone())?;
    Ok(match &cx.driver.rules {
        Some(rules) => making.with_rules(std::sync::Arc::clone(rules)),
        None => making,
    })
}
