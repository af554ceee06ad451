//! `trigger`: what a triggerer runs for deferred tasks, callbacks, and for assets that are watched.

pub(crate) mod row;
pub mod unreferenced;

pub use row::{
    FreeTrigger, TaskTrigger, delete, find_free, insert, insert_at_start, insert_for_task, lock,
    team_of_bundle,
};
