//! Which runs are created, started and looked at: every reason and boundary, limits that hold, work that is
//! not left undone, and everybody's turn.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod airflow;
mod assets;
mod create;
mod create_properties;
mod examine;
mod given;
mod next;
mod partitions;
mod simulate_create;
mod simulate_examine;
mod simulate_start;
mod start;
mod start_properties;
mod starvation;
