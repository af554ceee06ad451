//! Backfills of which all runs have ended, and those whose makers are gone before they were complete.
//!
//! Lock: the row in `backfill`, without waiting for one that another transaction has. Going on with a backfill locks more, in
//! transactions of its own.

use std::time::Duration;

use ferroflow_db::{ScopedFutureExt as _, backfill};
use ferroflow_operations::backfill::{abandoned_before, finish};
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_telemetry::chain;
use jiff::{SignedDuration, Timestamp};

use super::report::Report;
use super::{Chore, reported};
use crate::refused::{Done, SetAside, or_set_aside, so_far};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "completed backfills",
    every: |_| Some(Duration::from_secs(30)),
    run: |given| reported(backfills(given.cx, given.now)),
};

/// For so long a backfill without runs may be in the making.
const IN_THE_MAKING: SignedDuration = SignedDuration::from_mins(2);

/// Notes which backfills are completed, and returns them. Goes on with those that were left half made.
pub async fn backfills(cx: &Context, now: Timestamp) -> Result<Done<Vec<i64>>, Error> {
    let mut report = Done::default();
    go_on_with_abandoned(cx, now, &mut report.set_aside).await?;
    let made_before = now.checked_sub(IN_THE_MAKING).unwrap_or(Timestamp::MIN);
    let found = cx
        .db
        .read(|tx| async move { backfill::complete::completable(tx, made_before).await }.scope_boxed())
        .await?;
    let db = super::in_haste(cx).db;
    for id in found {
        cx.progress.gets_on();
        let done =
            db.transact(|tx| async move { backfill::complete::complete(tx, id, now).await }.scope_boxed());
        match done.await {
            Err(error) if !error.is_about_rows() => return so_far(report, error.into()),
            done => {
                let row = |reason| SetAside::row(format!("backfill {id}"), reason);
                if or_set_aside(done, cx.db.unreadable(), row, &mut report.set_aside) == Some(true) {
                    report.done.push(id);
                }
            }
        }
    }
    Ok(report)
}

impl Report for Done<Vec<i64>> {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }
}

/// Takes over backfills whose makers are gone. They are made beside the loop: there may be thousands of runs, and
/// Python may have a say.
async fn go_on_with_abandoned(
    cx: &Context,
    now: Timestamp,
    set_aside: &mut Vec<SetAside>,
) -> Result<(), Error> {
    let before = abandoned_before(now);
    let found = cx
        .db
        .read(|tx| async move { backfill::create_runs::abandoned(tx, before).await }.scope_boxed())
        .await?;
    let db = super::in_haste(cx).db;
    for (id, dag_id) in found {
        cx.progress.gets_on();
        let is_ours = db.transact(|tx| {
            async move { backfill::create_runs::take_over(tx, id, before, now).await }.scope_boxed()
        });
        // Who has locked it makes it.
        match is_ours.await {
            Err(error) if !error.is_about_rows() => return Err(error.into()),
            is_ours => {
                let row =
                    |reason| SetAside { dag_id: Some(dag_id.clone()), row: format!("backfill {id}"), reason };
                if or_set_aside(is_ours, cx.db.unreadable(), row, set_aside) != Some(true) {
                    continue;
                }
            }
        }
        let (secrets, making) = (cx.service.secrets(), making(cx)?);
        tokio::spawn(async move {
            match finish(&secrets, &making, id).await {
                Ok(made) => {
                    tracing::info!(
                        dag_id,
                        backfill_id = id,
                        runs = made.made,
                        "interrupted backfill is complete"
                    );
                }
                Err(refusal) => {
                    let reason = chain(&refusal);
                    tracing::warn!(
                        dag_id,
                        backfill_id = id,
                        reason,
                        "interrupted backfill cannot be completed"
                    );
                }
            }
        });
    }
    Ok(())
}

fn making(cx: &Context) -> Result<RunMaking, Error> {
    let making = RunMaking::new(&cx.settings, cx.run_settings.unixname.clone(), cx.timetables.clone())?;
    Ok(match &cx.run_settings.rules {
        Some(rules) => making.with_rules(std::sync::Arc::clone(rules)),
        None => making,
    })
}
