//! Queued runs start: at once where a user waits for one or one has ended, and all others for a while.

use std::collections::BTreeSet;

use ferroflow_db::notifications;
use jiff::Timestamp;

use super::{StartedRuns, Waiting, start_some};
use crate::cycle::later_if_locked;
use crate::due_steps::DueSteps;
use crate::refused::RetryLater;
use crate::slice::Slice;
use crate::{Context, Error};

/// Starts the queued runs that are due. What has started is reported whatever follows.
pub(crate) async fn start_due_runs(
    cx: &Context,
    due: &mut DueSteps,
    notifications: &notifications::Receiver,
    started: &mut StartedRuns,
    now: Timestamp,
) -> Result<(), Error> {
    if !due.start_soon.is_empty() {
        let of = Waiting::Of(due.start_soon.clone());
        let later = start(cx, &of, &mut due.refused_starts, &Slice::endless(), started, now).await;
        let later = later.map(|later| due.start_soon = later);
        later_if_locked(later, "queued runs start later")?;
    }
    if !due.start.is_none() && !due.crowd_waits {
        let of = due.start.clone();
        let later = start(cx, &of, &mut due.refused_starts, &Slice::new(notifications), started, now).await;
        let later = later.map(|later| due.start = Waiting::of(&later));
        later_if_locked(later, "queued runs start later")?;
    }
    Ok(())
}

/// Starts runs of some DAGs; answers in which of them more could.
async fn start(
    cx: &Context,
    of: &Waiting,
    refused: &mut RetryLater<i64>,
    slice: &Slice<'_>,
    started: &mut StartedRuns,
    now: Timestamp,
) -> Result<BTreeSet<String>, Error> {
    let mut part = StartedRuns::default();
    let done = start_some(cx, of, refused, slice, now, &mut part).await;
    let later = part.later.clone();
    started.add(part);
    done.map(|()| later)
}
