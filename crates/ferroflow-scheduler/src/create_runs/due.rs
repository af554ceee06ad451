//! Runs that are due are created for a while: others have their turn in between.

use jiff::Timestamp;

use super::{CreatedRuns, create_some, next_due};
use crate::due_steps::DueSteps;
use crate::slice::Slice;
use crate::start_runs::Waiting;
use crate::{Context, Error};

/// Creates runs that are due, if any are. What is created is reported whatever follows.
pub(crate) async fn create_due_runs(
    cx: &Context,
    due: &mut DueSteps,
    slice: &Slice<'_>,
    created: &mut CreatedRuns,
    now: Timestamp,
) -> Result<(), Error> {
    if due.is_run_due(now) && !due.round.is_under_way() {
        // It may be that a queued run has waited for this time to start.
        due.start = Waiting::All;
    }
    if due.crowd_waits || !(due.create || due.is_run_due(now)) {
        return Ok(());
    }
    let done = loop {
        let done = create_some(cx, &mut due.round, now, created).await;
        if done.is_err() || !due.round.is_under_way() || slice.is_over() {
            break done;
        }
    };
    due.start.add(created.created.iter().map(|run| run.dag_id.clone()));
    done?;
    // What is due and cannot be created at the moment is tried again after the next rescan.
    let has_got_on = !created.created.is_empty() || !created.advanced.is_empty();
    due.create = due.round.is_under_way() || (created.is_more_due && has_got_on);
    if !due.round.is_under_way() {
        if due.is_run_due(now) {
            // The time of a run that waited to start may have come meanwhile.
            due.start = Waiting::All;
        }
        due.create_at = next_due(cx, now).await?;
    }
    Ok(())
}
