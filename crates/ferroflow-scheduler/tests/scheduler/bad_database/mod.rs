//! A database on which things go wrong, at each of the statements that the life of a task consists of: nothing is lost,
//! nothing is done twice, nothing is invented.
//!
//! One life is lived undisturbed, and what was said to the database is written down. Then it is lived again and again,
//! and each time something goes wrong at other statements: the connection breaks before or after, or the server refuses
//! for a reason that passes. Whatever happens, the same rows must be there in the end, and the same processes must have
//! run. `FERROFLOW_BAD_DATABASE=all` tries every reason at every statement, one
//! at a time, and pairs of them, one right after the other.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod disturbance;
mod life;
mod place;
mod servers;
use crate::driven::sketch;
mod sqlite;
mod work;
