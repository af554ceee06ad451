//! Runs that are due are made, and queued runs start: as rows say, beside other schedulers, and beside Airflow's own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod assets;
mod backfills;
mod clock;
mod concurrency;
mod deadlines;
mod due;
mod executor_events;
mod knobs;
mod obstacles;
mod official;
pub(crate) mod place;
mod refusals;
mod refused;
mod seed;
use crate::driven::sketch;
mod starting;
mod together;
mod turns;
mod versions;
mod whole;
