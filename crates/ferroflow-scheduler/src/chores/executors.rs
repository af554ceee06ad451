//! What the chores ask of this scheduler's executors. A simulation has answers of its own.

use std::sync::Arc;

use ferroflow_db::callback::due::CallbackInHand;
use ferroflow_execution::Refusal;
use ferroflow_executor::{Adopted, Errand, Errands, Orphan, Supervision};
use uuid::Uuid;

use crate::executors::first_of;

/// What the chores ask of this scheduler's executors. An executor is called by the name that a task asks for it by; the
/// default one by none.
pub trait Executors: Clone + Send + Sync + 'static {
    /// Whether there is this executor.
    fn has(&self, executor: Option<&str>) -> bool;
    /// Ends the processes of task instances whose scheduler is gone, should they still run here.
    fn end_tasks(&self, _orphans: &[Orphan]) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
    /// Whether one of them knows that this try of a task lives, whatever its row says of that.
    fn is_alive(&self, _id: Uuid) -> bool {
        false
    }
    /// Accounts for a task instance whose scheduler is gone, and whose process was ended. It may be asked again as long as
    /// the database does not take it.
    fn adopt(&self, orphan: &Orphan) -> impl Future<Output = Result<Adopted, Refusal>> + Send;
    /// Whether it can be told to let go of a task instance that has not started.
    fn can_take_back(&self, executor: Option<&str>) -> bool;
    /// Whether it runs callbacks.
    fn runs_callbacks(&self, executor: Option<&str>) -> bool;
    /// Whether it tries connections.
    fn tests_connections(&self, executor: Option<&str>) -> bool;
    /// How many more callbacks and connections each of them takes now.
    fn free_slots(&self) -> usize;
    /// Hands one of them something to do besides tasks. Those that do nothing else are not given any.
    fn take(&self, _executor: Option<&str>, _errand: Errand) {}
    /// Whether one of them has something to do besides tasks.
    fn has_errands(&self) -> bool {
        false
    }
    /// Whether one of them has this to do.
    fn has_errand(&self, _id: Uuid) -> bool {
        false
    }
    /// Waits until one of them has done something that it was given to do besides tasks.
    fn errand_ended(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
    /// Ends the processes of callbacks whose scheduler is gone, should they still run here.
    fn end_callbacks(&self, _callbacks: &[CallbackInHand]) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The executors of this host, which are all there are.
#[derive(Clone)]
pub struct LocalOnly {
    /// Who supervises what they run.
    pub supervision: Arc<Supervision>,
    /// Each: the names that it may be asked for by, and what it does besides tasks. The first is the default.
    pub executors: Vec<(Vec<String>, Arc<Errands>)>,
}

impl LocalOnly {
    fn errands(&self, executor: Option<&str>) -> Option<&Arc<Errands>> {
        let is_asked =
            |names: &[String]| executor.is_none_or(|executor| names.iter().any(|name| name == executor));
        self.executors.iter().find(|(names, _)| is_asked(names)).map(|(_, errands)| errands)
    }
}

impl Executors for LocalOnly {
    fn has(&self, executor: Option<&str>) -> bool {
        self.errands(executor).is_some()
    }

    async fn end_tasks(&self, orphans: &[Orphan]) {
        ferroflow_executor::end_tasks(&self.supervision, orphans).await;
    }

    fn is_alive(&self, id: Uuid) -> bool {
        self.executors.iter().any(|(_, errands)| errands.is_task_alive(id))
    }

    async fn adopt(&self, orphan: &Orphan) -> Result<Adopted, Refusal> {
        ferroflow_executor::adopt(&self.supervision, orphan).await
    }

    /// Its row is changed before it is told, and a task whose row is not queued does not start.
    fn can_take_back(&self, executor: Option<&str>) -> bool {
        self.has(executor)
    }

    fn runs_callbacks(&self, executor: Option<&str>) -> bool {
        self.has(executor)
    }

    fn tests_connections(&self, executor: Option<&str>) -> bool {
        self.has(executor)
    }

    fn free_slots(&self) -> usize {
        self.executors.iter().map(|(_, errands)| errands.room()).min().unwrap_or_default()
    }

    fn take(&self, executor: Option<&str>, errand: Errand) {
        if let Some(errands) = self.errands(executor) {
            errands.take(errand);
        }
    }

    fn has_errands(&self) -> bool {
        self.executors.iter().any(|(_, errands)| !errands.is_empty())
    }

    fn has_errand(&self, id: Uuid) -> bool {
        self.executors.iter().any(|(_, errands)| errands.has(id))
    }

    async fn errand_ended(&self) {
        first_of(self.executors.iter().map(|(_, errands)| errands.ended())).await;
    }

    async fn end_callbacks(&self, callbacks: &[CallbackInHand]) {
        let processes = callbacks.iter().filter_map(|one| Some((one.id, one.holder.process.as_ref()?)));
        ferroflow_executor::end_callbacks(&self.supervision, processes).await;
    }
}
