//! Executors: queued task instances become processes, and their ends become events.
//!
//! [`LocalExecutor`] runs them on this host: each has a supervisor (`supervise/`), which is a task of this process, and
//! a child of Python's fork server, in which the task runs. `heartbeats.rs` tells the database of all of them together
//! that they live, and hears from it which are not wanted any more.

mod errands;
mod executor;
mod heartbeats;
mod local;
mod orphans;
mod prewarmed;
mod room;
mod supervise;
mod task_log;
mod workload;
mod zygotes;

pub use errands::{CallbackWorkload, ConnectionTestWorkload, Errand, Errands};
pub use executor::{Event, EventKind, Executor};
pub use local::LocalExecutor;
pub use orphans::{Adopted, Orphan};
pub use supervise::{CannotSupervise, Supervision};
pub use task_log::{Echo, TaskLogs};
pub use workload::{Bundle, Workload, WorkloadInstance};
