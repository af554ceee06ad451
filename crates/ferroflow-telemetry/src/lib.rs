//! What a process learns and tells besides its work: the time, its logs, and its metrics.

pub mod clock;
mod logs;
pub mod metrics;

pub use logs::{UnknownLevel, log_to_stderr};
