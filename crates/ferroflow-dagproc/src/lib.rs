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

use ferroflow_component::{JobType, Runtime, Services, Shutdown, run_job};

pub use callbacks::run_callbacks_of_run;
pub use context::Context;
pub use error::Error;

use manager::Manager;

/// What is parsed, and how often.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The bundles; all if none is named.
    pub bundles: Vec<String>,
    /// How often each file is parsed; without end if not given.
    pub num_runs: Option<u32>,
}

/// How long the database may take for the last writes: a service manager has no more patience.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Processes DAG files until it is stopped, or until all were parsed as often as asked.
pub async fn run(runtime: &Runtime, options: &Options, shutdown: &Shutdown) -> Result<(), Error> {
    let cx = Arc::new(Context::new(runtime).of_a_processor());
    tokio::select! {
        configured = cx.configured() => {
            configured.map_err(|error| Error::NotStarted(Box::new(error)))?;
        }
        () = shutdown.stop.cancelled() => return Ok(()),
    }
    run_job(runtime, JobType::DagProcessor, Services::default(), async |job| {
        let mut manager = Manager::prepare(cx, options, job).await?;
        manager.serve(&shutdown.stop).await
    })
    .await
}
