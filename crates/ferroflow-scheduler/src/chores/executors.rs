//! What the chores ask of this scheduler's executors. A simulation has answers of its own.

use std::sync::Arc;

use ferroflow_execution::Refusal;
use ferroflow_executor::{Adopted, Orphan, Supervision};

/// What the chores ask of this scheduler's executors. An executor is called by the name that a task asks for it by; the
/// default one by none.
pub trait Executors: Send + Sync {
    /// Whether there is this executor.
    fn has(&self, executor: Option<&str>) -> bool;
    /// Looks after a task instance whose scheduler is gone. Its process does not run any more afterwards, if it ran
    /// here.
    fn adopt(&self, orphan: &Orphan) -> impl Future<Output = Result<Adopted, Refusal>> + Send;
    /// Whether it can be told to let go of a task instance that has not started.
    fn can_take_back(&self, executor: Option<&str>) -> bool;
    /// Whether it runs callbacks.
    fn runs_callbacks(&self, executor: Option<&str>) -> bool;
    /// Whether it tries connections.
    fn tests_connections(&self, executor: Option<&str>) -> bool;
    /// How much more all of them together take now.
    fn free_slots(&self) -> usize;
}

/// The executor of this host, alone. It runs tasks, and nothing else.
pub struct LocalOnly {
    /// Who supervises the tasks.
    pub supervision: Arc<Supervision>,
    /// The names that tasks may ask for it by.
    pub names: Vec<String>,
    /// How many task instances it runs at once.
    pub slots: usize,
}

impl Executors for LocalOnly {
    fn has(&self, executor: Option<&str>) -> bool {
        executor.is_none_or(|executor| self.names.iter().any(|name| name == executor))
    }

    async fn adopt(&self, orphan: &Orphan) -> Result<Adopted, Refusal> {
        self.supervision.adopt(orphan).await
    }

    /// Its row is changed before it is told, and a task whose row is not queued does not start.
    fn can_take_back(&self, executor: Option<&str>) -> bool {
        self.has(executor)
    }

    fn runs_callbacks(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn tests_connections(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn free_slots(&self) -> usize {
        self.slots
    }
}
