//! Partition keys: a time written by a format, and read back.
//!
//! Airflow leaves both to Python's `strftime` and `strptime`, which are less of a pair than their names say:
//! writing is the C library's work and knows more directives, flags and widths than reading does.

mod fields;
mod pattern;
mod search;
mod strftime;
mod strptime;

pub(crate) use pattern::digit;
pub(crate) use search::{Step, first_way};
pub(crate) use strftime::format;
pub use strptime::KeyMismatch;
pub(crate) use strptime::parse;
