//! What runs of DAGs leave in the database beside what they leave with official Airflow: of DAG files of our own that
//! have something of everything, and of Airflow's examples. `testdata/execution` has both, and the recordings.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod accepted;
mod command;
mod differences;
mod differential;
mod plan;
mod play;
mod scheduled;
mod world;

const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");
