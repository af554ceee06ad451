//! One file per command.

pub(crate) mod assets;
pub(crate) mod backfill;
pub(crate) mod completion;
pub(crate) mod config;
mod confirm;
pub(crate) mod connections;
pub(crate) mod dag_processor;
pub(crate) mod dags;
mod date_arg;
pub(crate) mod db;
pub(crate) mod doctor;
mod foreground;
pub(crate) mod info;
pub(crate) mod jobs;
mod json_arg;
mod masking;
mod operations;
mod pattern;
pub(crate) mod pools;
pub(crate) mod python;
pub(crate) mod rotate_fernet_key;
pub(crate) mod scheduler;
mod secret_file;
mod secrets;
pub(crate) mod standalone;
pub(crate) mod tasks;
pub(crate) mod timetable;
mod user_code;
pub(crate) mod variables;
pub(crate) mod version;
mod which_run;
pub(crate) mod why;

/// A command has told what it found, and that is bad news: nothing is left to say, but its exit code is 1.
#[derive(Debug)]
pub(crate) struct ReportedFailure;

impl std::error::Error for ReportedFailure {}

impl std::fmt::Display for ReportedFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("see above")
    }
}
