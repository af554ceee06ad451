//! `ferroflow scheduler` at work: alone, beside others, and killed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod alone;
mod health;
mod killed;
mod scene;

const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");
