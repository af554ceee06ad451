//! Step 1 of the cycle: runs that are due are made.
//!
//! A pass gathers what may be due without a lock, asks the model whose turn it is, and asks Python where a timetable or
//! a partition mapper is a custom one; a DAG of which Python has not answered yet gets its run in a later pass. Then it
//! goes through the DAGs in their turns, many of them in one transaction: their rows in `dag` are locked, what is locked is
//! looked at again and decided anew, and the runs are written.
//!
//! Locks, in this order: `dag` (skipping those that others hold), `asset_dag_run_queue` (the same). Partitions of assets
//! lock their rows in `asset_partition_dag_run` only, as official schedulers do.

mod ask;
pub(crate) mod assets;
mod awaited;
mod batch;
mod candidates;
mod due;
mod facts;
mod partition_runs;
mod partitions;
mod plan;
mod rehearsal;
mod report;
mod shaping;

use std::collections::BTreeSet;

use ferroflow_db::dag::scheduling::LastDue;
use ferroflow_db::{ScopedFutureExt as _, dag};
use ferroflow_operations::dag_run::RunMaking;
use jiff::Timestamp;

use crate::refused::RetryLater;
use crate::{Context, Error};

pub(crate) use due::create_due_runs;
pub(crate) use plan::Plan;
pub(crate) use rehearsal::make_next_run;
pub use report::{Created, CreatedRuns, NotCreated, Refused};

/// So many runs are made in one transaction, if `[scheduler] max_dagruns_to_create_per_loop` does not say more.
const RUNS_PER_TRANSACTION: usize = 100;

/// A transaction that has so many task instances takes no further run.
const INSTANCES_PER_TRANSACTION: usize = 5_000;

/// So many DAGs that are due are looked at in one pass. The next one can follow at once; in between, others may have their
/// turn.
const DAGS_PER_PASS: usize = 100;

/// How far one has come with the DAGs that are due, in the order of their times: none is looked at again before all were,
/// so those that get no run keep no other from its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct DueRound {
    /// The last that was looked at, if there may be more.
    last: Option<LastDue>,
    /// DAGs whose runs the database has refused,
    dags: RetryLater<String>,
    /// and partitions of assets, by their rows.
    partitions: RetryLater<i64>,
}

impl DueRound {
    /// Whether there may be more.
    pub(crate) fn is_under_way(&self) -> bool {
        self.last.is_some()
    }

    /// The clock was set back: what was due then may not be now.
    pub(crate) fn begin_anew(&mut self) {
        self.last = None;
    }
}

/// Makes the runs that are due: of partitions of assets, of schedules and of assets. None if `[scheduler]
/// use_job_schedule` is off.
pub async fn create_runs(cx: &Context, now: Timestamp) -> Result<CreatedRuns, Error> {
    let (mut report, mut round) = (CreatedRuns::default(), DueRound::default());
    loop {
        create_some(cx, &mut round, now, &mut report).await?;
        if !round.is_under_way() {
            return Ok(report);
        }
    }
}

/// The same for some of the DAGs, in one pass. What was made is told whatever follows.
pub(crate) async fn create_some(
    cx: &Context,
    round: &mut DueRound,
    now: Timestamp,
    report: &mut CreatedRuns,
) -> Result<(), Error> {
    if !cx.settings.scheduler.use_job_schedule {
        return Ok(());
    }
    let mut part = CreatedRuns::default();
    let done = pass(cx, round, now, &mut part).await;
    for run in &part.created {
        round.dags.done(&run.dag_id);
        cx.run_settings.questions.used(&run.dag_id, run.partition_key.as_deref());
    }
    part.advanced.iter().for_each(|dag_id| cx.run_settings.questions.used(dag_id, None));
    report.add(part);
    done
}

async fn pass(
    cx: &Context,
    round: &mut DueRound,
    now: Timestamp,
    report: &mut CreatedRuns,
) -> Result<(), Error> {
    // Each is large, and a future that awaits both would be larger than a stack likes.
    Box::pin(partitions::create(cx, &mut round.partitions, now, report)).await?;
    let got_run: BTreeSet<String> = report.created.iter().map(|run| run.dag_id.clone()).collect();
    let gathered = Box::pin(candidates::gather(cx, &got_run, round, now, report)).await?;
    if batch::create(cx, &gathered, &mut round.dags, now, report).await? {
        // The same are looked at once more, without those that are put off.
        report.is_more_due = true;
    } else {
        round.last = gathered.last;
    }
    Ok(())
}

/// What checks the names of runs. It takes a while to be made, so only who has a run to make asks for it.
fn making(cx: &Context) -> Result<RunMaking, Error> {
    Ok(RunMaking::new(&cx.settings, cx.run_settings.unixname.clone(), None)?)
}

/// When the next run is due after `now`: one that a schedule makes, or a queued one that may not start before.
pub async fn next_due(cx: &Context, now: Timestamp) -> Result<Option<Timestamp>, Error> {
    let due = cx.db.read(|tx| async move { dag::scheduling::next_due(tx, now).await }.scope_boxed());
    Ok(due.await?)
}

/// How many runs a transaction may make.
fn runs_per_transaction(cx: &Context) -> usize {
    let configured = cx.settings.scheduler.max_dagruns_to_create_per_loop;
    usize::try_from(configured).unwrap_or(usize::MAX).max(RUNS_PER_TRANSACTION)
}
