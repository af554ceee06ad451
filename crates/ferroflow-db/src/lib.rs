//! The Airflow 3.3.2 metadata database: the contract, and the only coordinator.
//!
//! This crate alone names the driver and holds SQL. Everything goes through [`Db::transact`]; one folder per
//! table has the operations, named by what they do, as plain functions of a [`Tx`]. The SQL of an operation
//! is one text for every database, in `sql/<table>/<operation>.sql`; what differs between them is in
//! [`Dialect`]'s table.
//!
//! Timestamps are binds, never SQL's `now()`, and every UPDATE of a state names the state it leaves.

pub mod asset;
pub mod asset_partition_dag_run;
pub mod audit_log;
pub mod backfill;
pub mod callback;
pub mod cleaning;
mod connect;
pub mod connection;
pub mod dag;
pub mod dag_bundle;
pub mod dag_run;
pub mod dag_version;
pub mod deadline;
pub mod encoding;
pub mod hitl_detail;
pub mod import_error;
pub mod job;
pub mod list;
pub mod log_template;
pub mod monitoring;
pub mod notifications;
pub mod pool;
pub mod schema;
mod statement;
pub mod task_instance;
#[cfg(feature = "testing")]
pub mod testing;
mod transaction;
pub mod trigger;
pub mod variable;
pub mod xcom;

pub use connect::{ConnectError, DatabaseUrl, Family, Options, UrlError, sqlite_files};
pub use ferroflow_model::Json;
pub use scoped_futures::ScopedFutureExt;
pub use statement::{Dialect, Page};
pub use transaction::{BadRow, Db, Error, Tx, Unreadable};
