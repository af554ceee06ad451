//! Old rows go, a batch at a time, into tables of their own or for good.
//!
//! Which tables, which rows and what the tables for old rows are called is Airflow's; see `airflow db clean`. A batch is a
//! transaction of its own: it looks for rows without locking any, locks those that no other transaction holds, copies and deletes
//! them. Batches go on where the last one has stopped, so that what stays is looked at once.

mod archives;
pub(crate) mod batch;
pub(crate) mod condition;
mod tables;

pub use archives::{archives, columns, drop_archive, each_row, existing_tables, is_empty, make_archive};
pub use batch::{Batch, Key, Old, batch, count};
pub use tables::{KeepLast, TABLES, Table, WITH_FAB, with_dependents};
