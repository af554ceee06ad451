//! What a process learns and tells besides its work: the time, and its logs.

pub mod clock;
mod logs;

pub use logs::{UnknownLevel, log_to_stderr};
