//! `callback`: what the DAG processor, triggerers and executors are to call.

pub mod due;
pub(crate) mod row;

pub use row::{Callback, HeldCallback, delete_held, find, held, hold, hold_some, insert, is_any, release};
