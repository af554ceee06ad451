//! Components: which live.

mod alive;
mod check;
mod list;

pub use alive::{JobQuery, alive};
pub use check::{CheckRequest, check};
pub use ferroflow_db::job::Job;
pub use list::{ListRequest, list};
