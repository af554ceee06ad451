//! Helper processes of the real Airflow: what users write in Python is asked, and can do no harm.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bundles;
mod extensions;
mod home;
mod timetables;
