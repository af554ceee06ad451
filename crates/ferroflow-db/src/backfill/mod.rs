//! Runs for a stretch of the past: `backfill` and `backfill_dag_run`.

pub mod complete;
pub mod create;
pub mod create_runs;
pub(crate) mod row;

pub use row::{Backfill, find, lock_free, with_queued_runs};
