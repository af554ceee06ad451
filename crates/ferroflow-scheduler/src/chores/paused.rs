//! Runs of DAGs that are paused: what was running in them ends, and that has to be looked at.

use std::time::Duration;

use ferroflow_db::dag_run::{self, ClaimedRun};
use ferroflow_db::{Page, ScopedFutureExt as _};

use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "runs of paused DAGs",
    every: |_| Some(Duration::from_mins(1)),
    run: |given| reported(paused_runs(given.cx)),
};

/// How many are read at a time.
const BATCH: u32 = 500;

/// The running runs of paused DAGs in which something has changed since they were last examined. They are to be
/// examined, but nothing of them is to be scheduled.
pub async fn paused_runs(cx: &Context) -> Result<Vec<ClaimedRun>, Error> {
    let mut runs: Vec<ClaimedRun> = Vec::new();
    let mut after = 0;
    loop {
        let some =
            cx.db.read(|tx| async move { dag_run::paused::changed(tx, after, BATCH).await }.scope_boxed());
        let Page { found, next } = some.await?;
        runs.extend(found);
        let Some(next) = next else { return Ok(runs) };
        after = next;
    }
}

impl Report for Vec<ClaimedRun> {
    fn follow_up(&self) -> FollowUp {
        FollowUp { held_runs: self.clone(), rescan: true, ..FollowUp::default() }
    }
}
