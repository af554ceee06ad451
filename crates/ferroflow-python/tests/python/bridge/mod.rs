//! The bridge with the real Airflow behind it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod callbacks;
mod exhausted;
mod hostile;
mod hot_pages;
mod parsing;
mod servers;
mod support;
mod templates;
mod titles;
mod unkillable;
