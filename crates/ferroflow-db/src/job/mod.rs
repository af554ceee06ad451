//! `job`: a row for each long-running component, by which the others see that it lives.

pub(crate) mod row;
pub mod schedulers;

pub use row::{Job, NewJob, find, finish, heartbeat, insert, list, running};
