//! What becomes of a write that the database refuses: no other waits for it, and it is not lost.
//!
//! - *Refused*: the database does not take a row, for a constraint, a trigger or a right of its own, or since another
//!   transaction has locked the row or its value cannot be read. Of a batch, the rows that are refused are found by
//!   [halving it](Batches); the others are written.
//! - *Set aside*: a row that was refused stays as it is ([`SetAside`]). It is in the log once, with the reason, as long as
//!   that is so ([`SetAsideLog`]), and in the metric of the same name.
//! - *Retried later*: it is tried again, after twice as long every time ([`RetryLater`], and [`RowRetries`] for chores).
//!
//! The same of runs is in `active_runs/patience.rs`, of executors' events in `kept_events.rs`, and of orphans in
//! `chores/orphan_retries.rs`, each beside what is retried.

mod halves;
mod log;
mod retry_later;
mod row_retries;
mod set_aside;

pub(crate) use halves::Batches;
pub(crate) use log::{SetAsideLog, cause};
pub(crate) use retry_later::RetryLater;
pub use row_retries::RowRetries;
pub use set_aside::{Done, SetAside};
pub(crate) use set_aside::{or_set_aside, so_far};
