//! Commands beside what those of `airflow` were seen to print and to write, on the same rows.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod backfills;
mod cleaning;
mod completion;
mod connections;
mod dags;
mod deadlines;
mod recorded;
mod rendering;
mod runs;
mod site;
mod tasks;
mod variables;
