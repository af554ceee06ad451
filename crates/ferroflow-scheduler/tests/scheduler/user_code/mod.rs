//! What users write in Python and a scheduler calls: rows are those of Airflow's own, and bad code harms nobody else.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bad;
mod deadlines;
mod hanging;
mod listeners;
mod official;
mod partitions;
mod site;
