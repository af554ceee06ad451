//! Notification: what one transaction has changed and a scheduler wants to know at once.
//!
//! Whoever changes something tells it in the same transaction ([`tell`]). Once that is committed, everybody in this
//! process hears it who asked for [`Db::notifications`], and on PostgreSQL every process that [listens](listen), by `NOTIFY`.
//! [`triggers`] make changes of official components heard, too. Notification are hints: whoever misses one finds out by looking,
//! only later.

mod listen;
pub(crate) mod notify;
pub mod triggers;

pub use listen::listen;
pub use notify::{Notification, Receiver, notify, notify_others};
