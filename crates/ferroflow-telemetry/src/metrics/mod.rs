//! Metrics, under Airflow's names and in statsd's form.
//!
//! Code tells what happened by the functions of [`dag_processing`]; the `metrics` facade hands it to the recorder
//! that [`install`] chose. Without one nothing is sent. What is sent is lost rather than waited for.

pub mod dag_processing;
mod legacy;
mod line;
mod name;
mod recorder;
mod settings;

pub use name::normalized;
pub use recorder::{MetricsError, Recorder, install};
pub use settings::MetricsSettings;
