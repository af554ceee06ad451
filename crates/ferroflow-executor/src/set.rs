//! The executors of a scheduler, by their names.

use std::sync::Arc;

use ferroflow_model::admission::ExecutorName;
use tokio::sync::mpsc::UnboundedSender;
use uuid::Uuid;

use crate::{EventSender, Executor, ExecutorEvent, WorkloadKind};

/// An executor under the names by which tasks ask for it.
#[derive(Clone)]
pub struct NamedExecutor {
    pub name: Arc<ExecutorName>,
    pub executor: Arc<dyn Executor>,
}

impl NamedExecutor {
    /// Makes an executor that tells through this channel what happens.
    pub fn new(
        name: ExecutorName,
        channel: &UnboundedSender<ExecutorEvent>,
        make: impl FnOnce(EventSender) -> Arc<dyn Executor>,
    ) -> Self {
        let name = Arc::new(name);
        let executor = make(EventSender::new(Arc::clone(&name), channel.clone()));
        Self { name, executor }
    }
}

/// The executors of a scheduler, of whatever types, in the order of the configuration: the first is the default.
#[derive(Clone)]
pub struct ExecutorSet(Arc<[NamedExecutor]>);

impl ExecutorSet {
    pub fn new(executors: impl IntoIterator<Item = NamedExecutor>) -> Self {
        Self(executors.into_iter().collect())
    }

    /// All of them. Their places here are those that queueing gives to tasks.
    pub fn all(&self) -> &[NamedExecutor] {
        &self.0
    }

    /// The place of one that is asked for by a name: an alias, a class or the path of a class. The default without one.
    pub fn place(&self, name: Option<&str>) -> Option<usize> {
        self.0.iter().position(|one| name.is_none_or(|name| one.name.is_called(name)))
    }

    /// The same executor itself.
    pub fn find(&self, name: Option<&str>) -> Option<&dyn Executor> {
        self.0.get(self.place(name)?).map(|one| &*one.executor)
    }

    /// How many more workloads of a kind each of those takes that run such. Without any, there is no limit: all of them are
    /// refused.
    pub fn room(&self, kind: WorkloadKind) -> usize {
        let able = self.0.iter().filter(|one| one.executor.supports(kind));
        able.map(|one| one.executor.slots().free_for(kind)).min().unwrap_or(usize::MAX)
    }

    /// Whether one of them knows that a workload lives, whatever its row says.
    pub fn is_alive(&self, id: Uuid) -> bool {
        self.0.iter().any(|one| one.executor.is_alive(id))
    }
}
