//! `ferroflow scheduler` at work: alone, beside others, killed, and in the place of the official one.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod alone;
mod changed;
mod chaos;
mod ending;
mod executor_work;
mod guide;
mod health;
mod http;
mod killed;
mod locked;
mod logs_served;
mod operations;
mod scene;
mod swapped;
mod told;
mod why;

const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");
