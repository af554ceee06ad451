//! The scheduler: what happens next in the runs of DAGs.
//!
//! Every step gathers rows, asks one pure function of `ferroflow-model`, and writes the answer in one transaction.

pub mod attended;
pub mod chores;
mod context;
pub mod create_runs;
pub mod cycle;
mod definitions;
pub mod dispatch;
pub mod drive;
mod error;
pub mod examine_runs;
pub mod executors;
mod fair_queue;
mod halves;
pub mod harvest;
mod housekeeping;
pub mod job;
mod kept_events;
mod log_path;
pub mod look_around;
pub mod manual_run;
mod metrics;
mod news;
mod put_off;
mod questions;
pub mod queue_tasks;
mod rounds;
pub mod run;
mod run_name;
pub mod scheduler;
mod set_aside;
pub mod single;
mod slice;
pub mod standing;
pub mod start_runs;
mod told;
mod wants;
pub mod why;
mod workload;

pub use context::Context;
pub use definitions::Definitions;
pub use error::Error;
pub use ferroflow_execution::LOCK_PATIENCE;
pub use ferroflow_execution::create_run;
pub use log_path::{LogPaths, TemplateError};
pub use questions::{Answered, NoAnswer, Questions};
pub use run_name::manual_run_id;
pub use standing::Progress;
pub use workload::{DagFile, workload};
