//! What Airflow's things are, and what happens to them next.
//!
//! This crate is pure: no runtime, no database, no clock, no file, no environment. A decision is a function
//! of a snapshot and `now`; the caller loads the snapshot and applies the answer.

pub mod admission;
pub mod asset;
pub mod backfill;
pub mod dag;
pub mod document;
pub mod extended_json;
pub mod file_queue;
pub mod id;
mod indented_json;
mod json;
pub mod key;
pub mod outcome;
pub mod partition_mapper;
mod python_text;
mod python_time;
pub mod readiness;
pub mod retry;
pub mod runs;
pub mod sdk_json;
pub mod staleness;
pub mod state;
pub mod state_machine;
pub mod stored_assets;
pub mod stored_dag;
pub mod supervision;
pub mod timetable;
pub mod weight;
pub mod why;

pub use indented_json::{indented_json, sorted_json};
pub use json::{InvalidJson, Json, python_float, standard_json};
pub use python_text::python_literal;
pub use python_time::{python_datetime, python_isoformat};
