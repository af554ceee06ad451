//! What a parse becomes in the database: on every database, and beside the real Airflow.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[macro_use]
mod given;

mod bad_rows;
mod bad_values;
mod beside_airflow;
mod custom_timetables;
mod every_database;
mod hashes;
mod locked;
mod schedules;
