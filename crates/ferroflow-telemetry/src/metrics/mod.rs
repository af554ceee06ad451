//! Metrics, under Airflow's names: sent in statsd's form, exported to OpenTelemetry, or shown to Prometheus.
//!
//! Code tells what happened by the functions of [`scheduling`], [`runs`], [`executing`] and [`dag_processing`]; the
//! `metrics` facade hands it to the recorders that [`install`] chose. Without one nothing is kept. What is sent is lost
//! rather than waited for.

pub mod dag_processing;
pub mod executing;
mod install;
mod legacy;
mod line;
mod name;
pub mod otel;
mod prometheus;
mod recorder;
pub mod runs;
pub mod scheduling;
mod settings;
mod tags;
pub mod user_code;

pub use install::{Installed, install};
pub use name::normalized;
pub use prometheus::{Prometheus, Shown};
pub use recorder::{MetricsError, Recorder};
pub use settings::{MetricsSettings, OtelSettings};
pub use tags::{PoolTags, RunTags, TaskTags};
