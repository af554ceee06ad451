//! What every executor keeps to: the same suite over the local executor, with real processes, and over one that runs
//! nothing. A new executor is a third subject.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod in_memory;
mod local;
mod suite;

use in_memory::InMemory;
use local::Local;
use suite::Subject as _;

#[tokio::test]
async fn the_local_executor_conforms() {
    Local::new().await.conforms().await;
}

#[tokio::test]
async fn one_that_runs_nothing_conforms() {
    InMemory::new().conforms().await;
}
