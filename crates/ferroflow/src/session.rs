//! What commands begin with, and how they run.

use anyhow::Result;

pub(crate) use ferroflow_component::Session;

/// Runs a command's asynchronous part that has much to do at a time.
pub(crate) fn block_on_threads<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    ferroflow_component::block_on_threads(work)
}

/// Runs a command's asynchronous part.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    ferroflow_component::block_on(work)
}
