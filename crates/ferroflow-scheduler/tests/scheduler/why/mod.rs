//! Why something does not run: every reason, from rows, on every database.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod dags;
mod instances;
mod place;
mod runs;
use crate::driven::sketch;
