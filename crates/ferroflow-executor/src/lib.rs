//! Executors: queued task instances become processes, and their ends become events.
//!
//! [`LocalExecutor`] runs them on this host: each has a supervisor (`ferroflow-supervisor`), which is a task of this
//! process, and a child of Python's fork server, in which the task runs.

mod errands;
mod executor;
mod local;
mod orphans;

pub use errands::{Errand, Errands};
pub use executor::{Event, EventKind, Executor};
pub use ferroflow_supervisor::{
    Bundle, CallbackWorkload, CannotSupervise, ConnectionTestWorkload, Echo, Supervision, TaskLogs, Workload,
    WorkloadInstance,
};
pub use local::LocalExecutor;
pub use orphans::{Adopted, Orphan, adopt, end_callbacks, end_tasks};
