//! Old rows: they are deleted, and kept in tables named `_airflow_deleted__…`, which can be exported and dropped.

mod archives;
mod clean;
mod tables;

pub use archives::{Archives, Purpose, archives};
pub use clean::{CleanProgress, CleanRequest, Cleaned, Cleaning, clean};
pub use ferroflow_db::cleaning::{KeepLast, Old, Table};
pub use tables::{Tables, UnknownTable, tables};
