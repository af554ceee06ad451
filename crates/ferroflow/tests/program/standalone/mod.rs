//! `ferroflow standalone`: from nothing to runs that have ended, and what stops it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod examples;
mod home;
mod keys;
mod killed;
mod own_files;
mod stopped;
mod terminal;
