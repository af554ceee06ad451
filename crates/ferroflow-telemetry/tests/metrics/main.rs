//! What becomes of metrics, beside what Airflow makes of the same calls.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod calls;
mod otel;
mod prometheus;
mod receiver;
mod statsd;
