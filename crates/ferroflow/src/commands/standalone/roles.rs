//! The components, in one process.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use ferroflow_dagproc::{Context, Options};
use ferroflow_db::Db;
use tokio_util::sync::CancellationToken;

use super::snapshot::Phase;
use crate::commands::scheduler::Work;
use crate::session::Session;

impl Phase {
    /// What somebody wants of it: that it ends, and that it ends soon.
    pub(super) fn of(work: &Work) -> Self {
        match (work.stop.is_cancelled(), work.hurry.is_cancelled()) {
            (false, _) => Self::Working,
            (true, false) => Self::Waiting,
            (true, true) => Self::Ending,
        }
    }
}

/// Runs them until they are told to end, or one ends by itself. The DAG processor is the last to end: Python, from which
/// tasks are started, ends with it.
pub(super) async fn run_roles(session: Arc<Session>, db: Db, bridge: Arc<Context>, work: Work) -> Result<()> {
    let end_processing = CancellationToken::new();
    let mut processing = tokio::spawn(process(Arc::clone(&bridge), end_processing.clone()));
    let mut scheduling = tokio::spawn(schedule(session, db, bridge, work.clone()));
    let (dag_processor, scheduler) = tokio::select! {
        first = &mut processing => {
            work.stop.cancel();
            (first, scheduling.await)
        }
        first = &mut scheduling => {
            end_processing.cancel();
            (processing.await, first)
        }
    };
    dag_processor
        .context("the DAG processor has crashed")?
        .and(scheduler.context("the scheduler has crashed")?)
}

async fn process(bridge: Arc<Context>, stop: CancellationToken) -> Result<()> {
    ferroflow_dagproc::run(bridge, &Options::default(), &stop).await.context("DAG files cannot be parsed")
}

async fn schedule(session: Arc<Session>, db: Db, bridge: Arc<Context>, work: Work) -> Result<()> {
    work.run(&session, &db, &bridge).await
}
