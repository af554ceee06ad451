//! The DAG processor: folders of Python files become rows that a scheduler can act on.
//!
//! [`run`] is the whole of it. `manager.rs` is the loop; `parse_file.rs` is what happens to one file: a child parses
//! it ([`ferroflow_python`]), and `store/` writes what came of it in one transaction. `bundle.rs` and `files/` tell
//! which files there are, `callbacks.rs` runs what schedulers leave for us, `chores.rs` has what is done from time to
//! time.

mod bundle;
mod callbacks;
mod child_log;
mod children;
mod chores;
mod context;
mod error;
mod events;
mod extensions;
mod file;
pub mod files;
mod gone;
mod held_callbacks;
mod looks;
mod manager;
pub mod once;
mod parse_file;
mod rest;
pub mod store;
mod waiting_callbacks;

use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::{ScopedFutureExt as _, job};
use ferroflow_model::state::JobState;
use ferroflow_telemetry::clock;
use tokio_util::sync::CancellationToken;

pub use callbacks::run_callbacks_of_run;
pub use context::{Context, Parts};
pub use error::Error;
pub use ferroflow_execution::Host;

use manager::Manager;

/// What is parsed, and how often.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The bundles; all if none is named.
    pub bundles: Vec<String>,
    /// How often each file is parsed; without end if not given.
    pub num_runs: Option<u32>,
}

/// How long the database may take to note the end: a service manager has no more patience.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Processes DAG files until it is told to stop, or until all were parsed as often as asked.
pub async fn run(cx: Arc<Context>, options: &Options, stop: &CancellationToken) -> Result<(), Error> {
    let mut job_id = cx.announce(clock::now()).await?;
    let outcome = serve(&cx, options, &mut job_id, stop).await;
    cx.python.stop().await;
    let state = if outcome.is_ok() { JobState::Success } else { JobState::Failed };
    let now = clock::now();
    let finish = cx.db.transact(|tx| async move { job::finish(tx, job_id, state, now).await }.scope_boxed());
    // A service manager does not wait for a database that is gone: without a heartbeat, the row tells the same.
    match tokio::time::timeout(LAST_WORDS, finish).await {
        Ok(finished) => outcome.and(finished.map(drop).map_err(Error::from)),
        Err(_) => outcome,
    }
}

/// `job_id` may become another, if the row is removed.
async fn serve(
    cx: &Arc<Context>,
    options: &Options,
    job_id: &mut i64,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let mut manager = tokio::select! {
        manager = Manager::prepare(Arc::clone(cx), options, *job_id) => manager?,
        () = stop.cancelled() => return Ok(()),
    };
    let outcome = manager.serve(stop).await;
    *job_id = manager.job_id;
    outcome
}
