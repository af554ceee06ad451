//! The components, in one process.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use ferroflow_component::{Runtime, Shutdown};
use tokio_util::sync::CancellationToken;

use super::snapshot::Phase;

impl Phase {
    /// What was asked of it: that it ends, and that it ends soon.
    pub(super) fn of(shutdown: &Shutdown) -> Self {
        match (shutdown.stop.is_cancelled(), shutdown.hurry.is_cancelled()) {
            (false, _) => Self::Working,
            (true, false) => Self::Waiting,
            (true, true) => Self::Ending,
        }
    }
}

/// Runs them until they are stopped, or one ends by itself. The DAG processor is the last to end: what tasks leave for
/// it, it does as long as they run.
pub(super) async fn run_roles(runtime: Arc<Runtime>, shutdown: Shutdown) -> Result<()> {
    // What hurries the scheduler says nothing to the DAG processor, which waits for nothing.
    let end_processing = Shutdown { stop: CancellationToken::new(), hurry: shutdown.hurry.clone() };
    let mut processing = tokio::spawn(process(Arc::clone(&runtime), end_processing.clone()));
    let mut scheduling = tokio::spawn(schedule(runtime, shutdown.clone()));
    let (dag_processor, scheduler) = tokio::select! {
        first = &mut processing => {
            shutdown.stop.cancel();
            (first, scheduling.await)
        }
        first = &mut scheduling => {
            end_processing.stop.cancel();
            (processing.await, first)
        }
    };
    dag_processor
        .context("the DAG processor has crashed")?
        .and(scheduler.context("the scheduler has crashed")?)
}

async fn process(runtime: Arc<Runtime>, shutdown: Shutdown) -> Result<()> {
    let options = ferroflow_dagproc::Options::default();
    ferroflow_dagproc::run(&runtime, &options, &shutdown).await.context("DAG files cannot be parsed")
}

async fn schedule(runtime: Arc<Runtime>, shutdown: Shutdown) -> Result<()> {
    Ok(ferroflow_scheduler::run(&runtime, ferroflow_scheduler::Options::default(), &shutdown).await?)
}
