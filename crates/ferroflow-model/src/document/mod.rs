//! Reading documents from elsewhere: serialized DAGs and timetables.
//!
//! [`parse`] turns text into a [`Value`] that borrows from it; a [`Reader`] then walks the value, remembers
//! where it is, and writes down every [`Problem`] instead of stopping at the first. Both are bounded: depth,
//! number of values and number of problems have limits, so that no document can take the process with it.

mod reader;
mod value;

pub use reader::{Problem, Problems};
pub(crate) use reader::{Reader, decode, python_instant, read_value, timedelta};
pub(crate) use value::{Value, parse, with_arena};
