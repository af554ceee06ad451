//! What happens next in a run.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod at_rest;
mod chance;
mod deadlock;
mod expansion;
mod explanation;
mod groups;
mod integrity;
mod new_instances;
mod properties;
mod random_dag;
mod rules;
mod setups;
mod simulation;
mod sketch;
mod starting;
mod waiting;
