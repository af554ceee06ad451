//! What tasks do, and what is done to them, that should not be: the state is right, the reason can be read, the slot is
//! free, no process is left, and nothing runs twice.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod asking;
mod bad_run;
mod crashes;
mod database_gone;
mod database_refuses;
mod exhausted;
mod grandchildren;
mod killed;
mod limits;
mod logs;
mod logs_cannot_be_written;
mod orphans;
mod proxy;
mod slots;
mod stage;
mod stopped;
mod successive;
mod templates;
mod unkillable;
mod unwanted;

const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");
