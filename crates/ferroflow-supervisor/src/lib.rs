//! The supervisor of what runs user code: a task, a callback or a test of a connection, each in a child of Python's fork
//! server, from its start to its end.
//!
//! [`Supervision::supervise`] is the supervisor of one task (`supervise/`). [`send_heartbeats`] sends the heartbeats of all tasks
//! of a process together, and ends those that are not to run any more. Executors on this host use both, and so will a
//! worker elsewhere.

mod callback;
mod connection_test;
mod heartbeats;
mod prewarmed;
mod room;
mod running;
mod supervise;
mod task_log;
mod workload;
mod zygotes;

pub use heartbeats::send_heartbeats;
pub use running::{Running, RunningTask};
pub use supervise::{CannotSupervise, Supervised, Supervision, TaskEvent};
pub use task_log::{Echo, TaskLogs};
pub use workload::{Bundle, ExecuteCallback, ExecuteTask, TestConnection, WorkloadInstance};
