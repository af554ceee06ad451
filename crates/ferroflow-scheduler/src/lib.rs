//! The scheduler: what happens next in the runs of DAGs.
//!
//! Every step gathers rows, asks one pure function of `ferroflow-model`, and writes the answer in one transaction.
//!
//! The way of a task through the code: [`scheduler`] is the loop and [`cycle`] its steps, in order. [`create_runs`] makes
//! a run that is due, [`start_runs`] starts it, [`examine_runs`] finds with the model's `readiness` which task instances
//! are ready (`run/step.rs`), [`queue_tasks`] queues those that the model's `admission` lets in, and [`dispatch`] hands
//! them to an executor. Its events come back through `inbox.rs` to [`executor_events`], and the run is examined again.
//!
//! Beside that way, [`rescan`] finds what no event has told, [`chores`] look for what was lost, stuck or left behind, and
//! `refused/` says what becomes of a write that the database refuses. [`foreground_run`] takes a single run through the
//! same steps without a scheduler; [`why`] says what a DAG, run or task waits for.

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
mod housekeeping;
mod inbox;
mod job;
mod kept_events;
mod listeners;
mod log_path;
mod log_state;
pub mod manual_run;
mod metrics;
mod questions;
pub mod queue_tasks;
mod refused;
pub mod rescan;
mod rounds;
pub mod run;
mod run_name;
pub mod scheduler;
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
