//! What holds for every schedule, in every zone of the database, around every change of its clocks.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod chain;
mod civil;
mod clocks;
mod generate;
mod grid;
mod latest_cron;
mod latest_delta;
mod plain;
mod scenario;
mod tally;
