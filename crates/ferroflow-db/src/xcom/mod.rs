//! `xcom`, and `task_map`: how many copies of the tasks behind it a value makes.

pub(crate) mod row;
pub mod task_map;

pub use row::{Runs, XComAddress, count, delete, find, range, set};
