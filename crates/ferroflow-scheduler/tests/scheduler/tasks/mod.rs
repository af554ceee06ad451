//! Task instances are queued, handed over and heard of, on every database.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod dispatched;
mod harvested;
mod limits;
mod lost;
mod passes;
mod place;
mod recorded;
mod swept;
mod turns;
