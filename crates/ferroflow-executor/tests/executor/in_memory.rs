//! An executor whose workloads run nowhere: what they do is what they are made for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use ferroflow_executor::{
    Bundle, EventKind, EventSender, ExecuteTask, Executor, ExecutorEvents, LocalExecutor, Slots, TaskTry,
    Workload, WorkloadInstance, WorkloadKey, WorkloadKind, executor_events,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use uuid::Uuid;

use crate::suite::{Does, Subject};

pub(crate) struct InMemory {
    executor: Fake,
    events: ExecutorEvents,
    made: u128,
}

struct Fake {
    state: Mutex<State>,
    events: EventSender,
}

#[derive(Default)]
struct State {
    tasks: BTreeMap<Uuid, TaskTry>,
    /// Those that wait for a slot.
    callbacks: VecDeque<Uuid>,
}

impl InMemory {
    pub(crate) fn new() -> Self {
        let (channel, events) = executor_events();
        let sender = EventSender::new(Arc::new(LocalExecutor::name()), channel);
        Self { executor: Fake { state: Mutex::default(), events: sender }, events, made: 100 }
    }
}

impl Subject for InMemory {
    fn executor(&self) -> &dyn Executor {
        &self.executor
    }

    fn events(&mut self) -> &mut ExecutorEvents {
        &mut self.events
    }

    async fn task(&mut self, does: Does) -> ExecuteTask {
        self.made += 1;
        ExecuteTask {
            token: String::new(),
            dag_rel_path: "dag.py".to_owned(),
            bundle_info: Bundle { name: "dags-folder".to_owned(), version: None },
            log_path: None,
            ti: WorkloadInstance {
                id: Uuid::from_u128(self.made),
                task_id: format!("{does:?}"),
                dag_id: "dag".to_owned(),
                run_id: "run".to_owned(),
                try_number: 1,
                dag_version_id: None,
                map_index: -1,
                hostname: None,
                context_carrier: None,
                queue: "default".to_owned(),
                pool_slots: 1,
                priority_weight: 1,
            },
            sentry_integration: String::new(),
        }
    }

    async fn clear(&mut self, _task: &TaskTry) {}
}

impl Fake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn end(&self, id: Uuid, kind: EventKind) {
        let ended = self.state().tasks.remove(&id);
        if let Some(task) = ended {
            self.events.send(WorkloadKey::Task(task), kind);
        }
        let next = self.state().callbacks.pop_front();
        if let Some(id) = next {
            self.events.send(WorkloadKey::Callback(id), EventKind::Ended);
        }
    }
}

impl Executor for Fake {
    fn slots(&self) -> Slots {
        let state = self.state();
        Slots { all: 2, tasks: state.tasks.len(), others: state.callbacks.len() }
    }

    /// What a task does takes it a moment.
    fn submit(&self, workloads: Vec<Workload>) {
        for workload in workloads {
            match workload.key() {
                WorkloadKey::Task(task) => _ = self.state().tasks.insert(task.id, task),
                WorkloadKey::Callback(id) => self.state().callbacks.push_back(id),
                WorkloadKey::ConnectionTest(id) => panic!("connection test {id} is not for it"),
            }
        }
    }

    fn terminate(&self, id: Uuid) {
        if self.state().tasks.contains_key(&id) {
            self.end(id, EventKind::Ended);
        }
    }

    fn supports(&self, kind: WorkloadKind) -> bool {
        kind != WorkloadKind::TestConnection
    }

    fn is_alive(&self, id: Uuid) -> bool {
        self.state().callbacks.contains(&id)
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        let ids: Vec<Uuid> = self.state().tasks.keys().copied().collect();
        ids.into_iter().for_each(|id| self.end(id, EventKind::Ended));
        ready(()).boxed()
    }
}
