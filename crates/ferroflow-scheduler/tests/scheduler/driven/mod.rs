//! Runs of many shapes, driven to their end on every database, by an executor that only writes states.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod fake;
mod place;
mod shapes;
pub(crate) mod sketch;
mod waiting;
mod written;
