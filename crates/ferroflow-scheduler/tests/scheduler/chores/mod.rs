//! What a scheduler does from time to time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod beside_airflow;
mod cases;
mod locked;
mod locked_orphans;
mod lost_callbacks;
mod refused;
mod rows;
mod together;
mod unreadable;
mod world;
