//! Notifications: what one transaction has changed and a scheduler wants to know at once.
//!
//! A transaction that changes something [notifies](notify()) of it. Once it is committed, all receivers in this process get it
//! (`Db::notifications`), and on PostgreSQL every process that [listens](listen()), by `NOTIFY`. [`triggers`] do the same for
//! changes of official components. Notifications are hints: a scheduler that misses one finds out by looking, only later.

mod listen;
pub(crate) mod notify;
pub mod triggers;

pub use listen::listen;
pub use notify::{Notification, Receiver, notify, notify_others};
