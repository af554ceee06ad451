//! The scheduler: what happens next in the runs of DAGs.
//!
//! Every step gathers rows, asks one pure function of `ferroflow-model`, and writes the answer in one transaction.

pub mod active_runs;
pub mod chores;
mod component;
mod context;
pub mod create_runs;
pub mod cycle;
mod definitions;
pub mod dispatch;
mod due_steps;
mod error;
pub mod examine_runs;
pub mod executor_events;
pub mod executors;
mod fair_queue;
pub mod foreground_run;
mod halves;
mod housekeeping;
mod inbox;
mod job;
mod kept_events;
mod listeners;
mod log_path;
mod log_state;
pub mod manual_run;
mod metrics;
mod put_off;
mod questions;
pub mod queue_tasks;
pub mod rescan;
mod rounds;
pub mod run;
mod run_name;
pub mod scheduler;
mod set_aside;
pub mod single;
mod slice;
pub mod start_runs;
pub mod why;
mod workload;

pub use component::{CannotSchedule, Options, run};
pub use context::Context;
pub use definitions::Definitions;
pub use error::Error;
pub use ferroflow_component::Progress;
pub use ferroflow_execution::LOCK_PATIENCE;
pub use ferroflow_operations::dag_run::create as create_run;
pub use log_path::{LogPaths, TemplateError};
pub use questions::{Answered, NoAnswer, Questions};
pub use run_name::manual_run_id;
pub use workload::{DagFile, workload};
