//! Schedulers that are gone.
//!
//! No lock: a row is given up by an UPDATE that names its heartbeat, and comes back by the next heartbeat of a scheduler
//! that only was slow.

use ferroflow_db::job::schedulers::SchedulerWithoutHeartbeat;
use ferroflow_db::{ScopedFutureExt as _, Tx, job};
use ferroflow_telemetry::metrics::scheduling;
use jiff::Timestamp;

use super::report::{FollowUp, Report};
use super::{Chore, reported};
use super::{executor_callbacks, orphans};
use crate::metrics::Told;
use crate::refused::{SetAside, or_set_aside};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "dead schedulers",
    every: |settings| Some(settings.scheduler.scheduler_heartbeat_sec),
    run: |given| reported(dead_schedulers(given.cx, given.now)),
};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadSchedulers {
    /// Those without heartbeat for longer than `[scheduler] scheduler_health_check_threshold`, and have been given
    /// up just now.
    pub given_up: Vec<SchedulerWithoutHeartbeat>,
    /// The jobs of those that were heard of lately and do not run any more.
    pub ended: Vec<i64>,
    /// Those that are not given up although they have no heartbeat.
    pub set_aside: Vec<SetAside>,
}

impl Report for DeadSchedulers {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    /// What those that are gone had is looked for once.
    fn follow_up(&self) -> FollowUp {
        let gone = self.ended.iter().copied().chain(self.given_up.iter().map(|gone| gone.id));
        FollowUp {
            hastens: vec![orphans::CHORE.name, executor_callbacks::CHORE.name],
            hastens_for: Some(gone.collect()),
            ..FollowUp::default()
        }
    }

    fn measure(&self, _told: &mut Told) {
        if !self.given_up.is_empty() {
            scheduling::schedulers_given_up(self.given_up.len());
        }
    }
}

/// Gives up schedulers that are silent, and tells which have ended.
pub async fn dead_schedulers(cx: &Context, now: Timestamp) -> Result<DeadSchedulers, Error> {
    let threshold = cx.settings.scheduler.scheduler_health_check_threshold;
    let before = super::ago(now, threshold);
    // Those that were given up a while ago have been looked after.
    let lately = super::ago(now, threshold.saturating_mul(4));
    let found =
        cx.db.transact_in_parts(|tx| give_up_silent(tx, cx.job_id, (before, lately), now).scope_boxed());
    let found = found.await?;
    for gone in &found.given_up {
        let (hostname, last) = (gone.hostname.as_deref().unwrap_or("?"), gone.latest_heartbeat);
        tracing::warn!(
            job = gone.id,
            hostname,
            ?last,
            "scheduler without heartbeat; job is marked as failed"
        );
    }
    Ok(found)
}

async fn give_up_silent(
    tx: &mut Tx,
    own: i64,
    (before, lately): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<DeadSchedulers, ferroflow_db::Error> {
    let (mut given_up, mut set_aside) = (Vec::new(), Vec::new());
    let silent = job::schedulers::without_heartbeat(tx, before, now).await?;
    // This one lives, since it asks.
    for silent in silent.into_iter().filter(|silent| silent.id != own) {
        tx.begin_part().await?;
        let is_given_up = job::schedulers::fail(tx, silent.id, before, now).await;
        let is_given_up = tx.end_part(is_given_up).await?;
        let row = |reason| SetAside::row(format!("job {} of a scheduler", silent.id), reason);
        if or_set_aside(is_given_up, tx.unreadable(), row, &mut set_aside) == Some(true) {
            given_up.push(silent);
        }
    }
    let mut ended = job::schedulers::ended(tx, lately).await?;
    ended.retain(|id| *id != own);
    Ok(DeadSchedulers { given_up, ended, set_aside })
}
