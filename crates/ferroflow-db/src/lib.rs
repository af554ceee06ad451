//! The Airflow 3.3.2 metadata database: the contract, and the only coordinator.
//!
//! This crate alone names the driver and holds SQL. Everything goes through [`Db::transact`]; one module per
//! table has the operations, named by what they do, as plain functions of a [`Tx`]. The SQL of an operation
//! is one text for every database, in `sql/<table>/<operation>.sql`; what differs between them is in
//! [`Dialect`]'s table.
//!
//! Timestamps are binds, never SQL's `now()`, and every UPDATE of a state names the state it leaves.

pub mod audit_log;
mod bind;
pub mod callback;
mod connect;
pub mod connection;
pub mod dag;
pub mod dag_bundle;
pub mod dag_run;
pub mod dag_version;
mod db;
mod dialect;
pub mod encoding;
mod error;
pub mod fernet_rotation;
pub mod job;
pub mod log_template;
pub mod pool;
mod row;
pub mod schema;
pub mod serialized_dag;
mod statement;
pub mod task_instance;
#[cfg(feature = "testing")]
pub mod testing;
mod tx;
mod url;
pub mod variable;

pub use connect::{ConnectError, Options};
pub use db::Db;
pub use dialect::Dialect;
pub use error::Error;
pub use ferroflow_model::Json;
pub use scoped_futures::ScopedFutureExt;
pub use tx::Tx;
pub use url::{DatabaseUrl, Family, UrlError};
