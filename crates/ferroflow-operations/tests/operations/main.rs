//! Verbs on a database: what they refuse, what they write, and what is in the audit log of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod audit;
mod cleaning;
mod connections;
mod fixture;
mod jobs;
mod pools;
mod secrets;
mod variables;
