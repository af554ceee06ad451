//! Executors: queued workloads become processes, and what happens to them becomes events.
//!
//! [`Executor`] is what any executor is to a scheduler, which has several of them, of whatever types, in an
//! [`ExecutorSet`]. `registry.rs` makes them by the names in `[core] executor`: a new executor is a file with an
//! implementation of the trait, and a line there.
//!
//! [`LocalExecutor`] runs workloads on this host: each task instance has a supervisor (`ferroflow-supervisor`), which is a
//! task of this process, and a child of Python's fork server, in which the task runs.

mod event;
mod executor;
mod local;
mod names;
mod registry;
mod set;
mod workload;

pub use event::{EventKind, EventSender, ExecutorEvent, ExecutorEvents, executor_events};
pub use executor::{Adopted, Executor, Orphan, Slots};
pub use ferroflow_model::admission::ExecutorName;
pub use ferroflow_supervisor::{
    Bundle, CannotSupervise, Echo, ExecuteCallback, ExecuteTask, Supervision, TaskLogs, TestConnection,
    WorkloadInstance,
};
pub use local::LocalExecutor;
pub use names::{BadExecutors, executor_names};
pub use registry::{LOCAL_EXECUTOR, Resources, construct, is_available};
pub use set::{ExecutorSet, NamedExecutor};
pub use workload::{TaskTry, Workload, WorkloadKey, WorkloadKind};
