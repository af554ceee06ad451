//! `dag_run`: the runs of DAGs.

pub mod create;
mod fields;
pub mod history;
pub mod list;
pub mod lookup;
pub mod note;
pub mod ownership;
pub mod paused;
pub(crate) mod row;
pub mod start;

pub use row::{
    ClaimedRun, DagRun, NewDagRun, claim_running, count_active, delete, find, find_either, insert,
    latest_automated, previous, set_examined, set_state,
};
