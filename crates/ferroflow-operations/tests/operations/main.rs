//! Verbs on a database: what they refuse, what they write, and what is in the audit log of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod audit;
mod backfills;
mod cleaning;
mod clearing;
mod connections;
mod dags;
mod fixture;
mod jobs;
mod pools;
mod runs;
mod secrets;
mod stored;
mod variables;
