//! What every component stands on, whatever its work is: scheduler, DAG processor and those to come.
//!
//! A process begins with a [`Session`], its configuration. [`run_component`] makes the [`Runtime`] of it (database, Python,
//! what answers user code), follows signals, and runs one component; `standalone` runs several on one runtime. A component
//! is a function `run(&Runtime, options, &Shutdown)`, and does its work within [`run_job`], which has its row in `job`, its
//! heartbeat and what others ask of it over HTTP.

mod block_on;
mod capped;
mod error;
mod health;
mod job;
mod job_type;
mod loop_status;
mod process;
mod runtime;
pub mod serve_logs;
mod session;
mod shutdown;

pub use block_on::{block_on, block_on_threads};
pub use error::Error;
pub use health::HealthEndpoint;
pub use job::{Job, JobId, Services, row as job_row, run_job};
pub use job_type::{EXECUTOR_CLASS, JobType};
pub use loop_status::{LoopStatus, Progress};
pub use process::{Process, run_component};
pub use runtime::{Runtime, RuntimeParts};
pub use session::Session;
pub use shutdown::{Shutdown, StateReports};
