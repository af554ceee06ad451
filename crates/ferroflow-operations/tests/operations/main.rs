//! Verbs on a database: what they refuse, what they write, and what is in the audit log of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod backfills;
mod clearing;
mod dags;
mod fixture;
mod runs;
mod stored;
