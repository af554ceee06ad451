//! One file per command.

pub(crate) mod config;
pub(crate) mod dag_processor;
pub(crate) mod dags;
pub(crate) mod db;
mod foreground;
pub(crate) mod info;
pub(crate) mod jobs;
pub(crate) mod python;
pub(crate) mod rotate_fernet_key;
pub(crate) mod scheduler;
pub(crate) mod tasks;
pub(crate) mod timetable;
pub(crate) mod version;
pub(crate) mod why;

/// A command has told what it found, and that is bad news: nothing is left to say, but its exit code is 1.
#[derive(Debug)]
pub(crate) struct BadNews;

impl std::error::Error for BadNews {}

impl std::fmt::Display for BadNews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("see above")
    }
}
