//! Who is admitted: at the border of every limit, in random worlds, over time, and where Airflow lets some
//! starve.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod airflow_pages;
mod brute_force;
mod cost;
mod generate;
mod in_use;
mod kept_slots;
mod limits;
mod order;
mod over_time;
mod properties;
mod reference;
mod reservations;
mod starvation;
mod world;
