//! Partitions of DAGs for which something has come, and what: `asset_partition_dag_run` and
//! `partitioned_asset_key_log`.

pub mod pending;
pub(crate) mod row;

pub use row::{Arrival, Partition, insert, newest, note_arrival, set_partition_date};
