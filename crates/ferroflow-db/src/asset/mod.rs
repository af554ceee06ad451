//! What tasks update and DAGs wait for: `asset`, and the tables that say who uses which and what happened to it.

pub mod active;
pub mod alias;
pub mod dag_run_queue;
pub mod event;
pub mod list;
pub mod orphans;
pub mod reference;
pub mod registration;
pub(crate) mod row;
pub mod state_store;
pub mod triggered_runs;
pub mod watcher;

pub use row::{
    FoundAsset, Inserted, active_by_name, active_by_uri, find_by_names, insert_if_missing, of_alias, update,
    watchable,
};
