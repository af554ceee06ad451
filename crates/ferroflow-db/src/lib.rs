//! The Airflow 3.3.2 metadata database: the contract, and the only coordinator.
//!
//! This crate alone names the driver and holds SQL. Everything goes through [`Db::transact`]; one module per
//! table has the operations, named by what they do, as plain functions of a [`Tx`]. The SQL of an operation
//! is one text for every database, in `sql/<table>/<operation>.sql`; what differs between them is in
//! [`Dialect`]'s table.
//!
//! Timestamps are binds, never SQL's `now()`, and every UPDATE of a state names the state it leaves.

pub mod asset;
pub mod asset_active;
pub mod asset_alias;
pub mod asset_dag_run_queue;
pub mod asset_event;
pub mod asset_listing;
pub mod asset_orphanage;
pub mod asset_partition_dag_run;
pub mod asset_reference;
pub mod asset_registration;
pub mod asset_state_store;
pub mod asset_trigger;
pub mod asset_watcher;
pub mod attending;
pub mod audit_log;
pub mod backfill;
pub mod backfill_completion;
pub mod backfill_creation;
pub mod backfill_making;
mod bind;
pub mod callback;
pub mod cleaning;
pub mod clearing;
mod codes;
mod connect;
pub mod connection;
pub mod connection_test;
pub mod dag;
pub mod dag_bundle;
pub mod dag_change;
pub mod dag_code;
pub mod dag_owner_attributes;
pub mod dag_priority_parsing_request;
pub mod dag_run;
pub mod dag_run_creation;
pub mod dag_run_listing;
pub mod dag_run_note;
pub mod dag_run_query;
pub mod dag_run_start;
pub mod dag_tag;
pub mod dag_version;
pub mod dag_warning;
mod db;
pub mod deadline_alert;
mod dialect;
pub mod due_callback;
pub mod encoding;
mod error;
pub mod fernet_rotation;
pub mod gauges;
pub mod hitl_answer;
pub mod hitl_detail;
pub mod import_error;
pub mod job;
pub mod log_template;
pub mod missed_deadline;
pub mod new_deadline;
pub mod news;
pub mod overview;
mod page;
mod parts;
pub mod paused_run;
pub mod pending_partition;
pub mod pool;
pub mod rendered_task_instance_fields;
mod row;
mod row_text;
pub mod run_facts;
pub mod run_history;
pub mod scheduler_job;
pub mod schema;
pub mod serialized_dag;
pub mod situation;
pub mod sqlite_files;
mod statement;
pub mod table_size;
pub mod task_instance;
pub mod task_instance_history;
pub mod task_instance_query;
pub mod task_instance_step;
pub mod task_map;
pub mod task_reschedule;
pub mod task_state_store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod trigger;
mod turns;
mod tx;
mod unreadable;
pub mod unreferenced_trigger;
mod url;
pub mod variable;
pub mod xcom;

pub use connect::{ConnectError, Options};
pub use db::Db;
pub use dialect::Dialect;
pub use error::Error;
pub use ferroflow_model::Json;
pub use page::Page;
pub use scoped_futures::ScopedFutureExt;
pub use tx::Tx;
pub use unreadable::{BadRow, Unreadable};
pub use url::{DatabaseUrl, Family, UrlError};
