//! Runs workloads on this host.

mod orphans;
mod others;
mod slots;
mod tasks;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_model::supervision::EndOrder;
use ferroflow_supervisor::{Running, Supervision, send_heartbeats};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use crate::registry::{LOCAL_EXECUTOR, Resources};
use crate::{Adopted, EventSender, Executor, ExecutorName, Orphan, Slots, Workload, WorkloadKind};
use slots::SlotTable;

/// Runs each workload in a process of its own, as many at a time as it has slots. While nothing runs, there is no process
/// but Python's fork server. (Where tasks come one after the other, one process more waits for the next of them, for a
/// moment.)
///
/// Dropping it kills what runs; [`shut_down`](Executor::shut_down) also records what became of it.
pub struct LocalExecutor {
    shared: Arc<Shared>,
    tasks: Mutex<JoinSet<()>>,
    others: Mutex<JoinSet<()>>,
    heartbeats: AbortHandle,
}

/// What its workloads have in common.
struct Shared {
    supervision: Arc<Supervision>,
    running: Arc<Running>,
    slots: SlotTable,
    events: EventSender,
}

impl LocalExecutor {
    /// An executor with so many slots.
    pub fn new(supervision: Arc<Supervision>, slots: usize, events: EventSender) -> Self {
        hide_from_tasks();
        let running = Arc::new(Running::default());
        let slots = SlotTable::new(Arc::clone(&running), slots, events.clone());
        let shared = Arc::new(Shared { supervision, running, slots, events });
        let looking_after = Arc::clone(&shared);
        let heartbeats =
            tokio::spawn(
                async move { send_heartbeats(&looking_after.supervision, &looking_after.running).await },
            );
        let (tasks, others) = (Mutex::default(), Mutex::default());
        Self { shared, tasks, others, heartbeats: heartbeats.abort_handle() }
    }

    /// What Airflow calls it.
    pub fn name() -> ExecutorName {
        ExecutorName { alias: Some("LocalExecutor".into()), module_path: LOCAL_EXECUTOR.into(), team: None }
    }

    /// As the configuration says.
    pub(crate) fn construct(resources: &Resources, events: EventSender) -> Arc<dyn Executor> {
        let slots = usize::try_from(resources.settings.core.parallelism).unwrap_or(usize::MAX);
        Arc::new(Self::new(Arc::clone(&resources.supervision), slots, events))
    }
}

impl Executor for LocalExecutor {
    fn slots(&self) -> Slots {
        self.shared.slots.taken()
    }

    fn submit(&self, workloads: Vec<Workload>) {
        let (mut tasks, mut others) = (locked(&self.tasks), locked(&self.others));
        // Those that have ended.
        while tasks.try_join_next().is_some() || others.try_join_next().is_some() {}
        for workload in workloads {
            match workload {
                Workload::ExecuteTask(task) => _ = tasks.spawn(tasks::run(&self.shared, task)),
                Workload::ExecuteCallback(_) | Workload::TestConnection(_) => {
                    others.spawn(others::run(&self.shared, workload));
                }
            }
        }
    }

    fn terminate(&self, id: Uuid) {
        self.shared.running.turn_away(id);
    }

    fn supports(&self, _kind: WorkloadKind) -> bool {
        true
    }

    /// A task whose row is not queued does not start.
    fn can_revoke(&self) -> bool {
        true
    }

    fn is_alive(&self, id: Uuid) -> bool {
        let limit = self.shared.supervision.settings.scheduler.task_instance_heartbeat_timeout;
        self.shared.slots.has(id) || self.shared.running.lives(id, limit)
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.has_begun
    }

    fn adopt<'a>(&'a self, orphans: &'a [Orphan]) -> BoxFuture<'a, Vec<Adopted>> {
        orphans::adopt(&self.shared.supervision.host.name, orphans).boxed()
    }

    fn debug_dump(&self) {
        let Slots { tasks, others, .. } = self.slots();
        tracing::info!(
            tasks,
            callbacks_and_connection_tests = others,
            "state: processes of the local executor"
        );
    }

    /// Tells all tasks to end, waits for that, and records what became of them. Callbacks and connection tests are ended;
    /// their rows say who had them, so that others find them.
    fn shut_down(&self) -> BoxFuture<'_, ()> {
        async {
            self.shared.supervision.close();
            self.shared.supervision.hurry.cancel();
            self.shared.running.order_all(EndOrder::Shutdown);
            let mut others = std::mem::take(&mut *locked(&self.others));
            others.shutdown().await;
            let mut tasks = std::mem::take(&mut *locked(&self.tasks));
            while tasks.join_next().await.is_some() {}
        }
        .boxed()
    }
}

impl Drop for LocalExecutor {
    fn drop(&mut self) {
        self.heartbeats.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tasks run as the same user. They must not read secrets out of the memory of this process, as with Airflow. (What
/// the environment holds they are given anyway.)
fn hide_from_tasks() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "tasks may be able to read the memory of this process");
    }
}
