//! Task instances.

mod clear;
mod find;
mod list;

pub use clear::{ClearRequest, Clearing, ToClear, clear, clear_action};
pub use find::{InstanceName, check_mapped, find, find_task};
pub use list::list;
