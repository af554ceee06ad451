//! What a process learns and tells besides its work: the time, its logs and errors, and its metrics.

mod chain;
pub mod clock;
mod logs;
pub mod metrics;

pub use chain::chain;
pub use logs::{LogForm, UnknownLevel, start_logging};
