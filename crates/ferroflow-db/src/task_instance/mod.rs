//! `task_instance`: the tasks of a run, or the mapped copies of them; the current try of each, and its history.

pub mod blockers;
pub mod clear;
pub mod dependencies;
pub mod execution;
mod fields;
pub mod heartbeat;
pub mod history;
pub mod list;
pub mod lookup;
pub mod mutation;
pub mod orphans;
pub mod overdue;
pub mod queueing;
pub mod rendered_fields;
pub mod reschedule;
pub(crate) mod row;
pub mod scheduling;
pub mod siblings;
pub mod state_store;
pub mod version_change;

pub use row::{TaskInstance, TaskInstanceKey, current_id, find, find_all, insert, insert_many, set_state};
