//! Runs and paths of logs, beside those of the real Airflow.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod new_runs;
mod paths;

const SCRIPT: &str = "testdata/create_run/runs.py";
