//! Callbacks and connection tests.
//!
//! Each takes a slot like a task. If none is free, it is the next to have one: as long as it waits, the executor takes no
//! more tasks.

use std::sync::Arc;

use super::Shared;
use crate::Workload;

/// Runs one to its end. It has its place among those that go before tasks from now on, before the future is polled.
pub(super) fn run(shared: &Arc<Shared>, workload: Workload) -> impl Future<Output = ()> + Send + use<> {
    shared.slots.add(&workload.key());
    let shared = Arc::clone(shared);
    async move {
        let entry = shared.slots.entry(workload.key());
        let _slot = shared.slots.slot().await;
        let remains = match &workload {
            Workload::ExecuteCallback(callback) => shared.supervision.run_callback(callback).await,
            Workload::TestConnection(test) => shared.supervision.try_connection(test).await,
            Workload::ExecuteTask(_) => None,
        };
        // It is over, and a scheduler that stops does not wait for it; but a process that cannot be killed keeps its slot.
        let _remnant = remains.as_ref().map(|_| shared.slots.remnant(workload.key()));
        drop(entry);
        if let Some(remains) = remains {
            shared.supervision.until_gone(&remains).await;
        }
    }
}
