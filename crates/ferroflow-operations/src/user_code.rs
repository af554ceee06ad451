//! Who is asked what only Python can say.

use std::pin::Pin;
use std::sync::Arc;

use ferroflow_model::dag::{Dag, WeightRule};
use ferroflow_model::stored_dag::needs_python;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_python::timetables::Timetables;

use crate::OperationError;
use crate::secrets::SecretsBackend;

/// What is ready when Python has started.
pub type Started<'a, T> = Pin<Box<dyn Future<Output = Result<T, OperationError>> + Send + 'a>>;

/// Starts what asks Python, once a verb needs it: most requests do without. A server has everything at hand
/// ([`RunUserCode`]), a command starts Python for the DAG that it is about.
pub trait UserCode: Send + Sync {
    /// What evaluates timetables of user code.
    fn timetables(&self) -> Started<'_, Option<Arc<Timetables>>>;
    /// What has a say about new runs of a DAG.
    fn for_new_runs<'a>(&'a self, dag: &'a Dag) -> Started<'a, RunUserCode>;
}

/// What has a say about new runs. Without it, runs of DAGs that need it are refused.
#[derive(Clone, Default)]
pub struct RunUserCode {
    /// Timetables and deadline references.
    pub timetables: Option<Arc<Timetables>>,
    /// Weight rules and the mutation hook.
    pub instance_rules: Option<Arc<InstanceRules>>,
    /// A variable may say how much time a deadline gives.
    pub secrets_backend: Option<Arc<dyn SecretsBackend>>,
}

impl UserCode for RunUserCode {
    fn timetables(&self) -> Started<'_, Option<Arc<Timetables>>> {
        Box::pin(async { Ok(self.timetables.clone()) })
    }

    fn for_new_runs<'a>(&'a self, _: &'a Dag) -> Started<'a, RunUserCode> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// Whether new runs of a DAG may need Python even where there is no mutation hook. Of deadlines it is not known here
/// whether a class of user code counts them.
pub fn has_user_code(dag: &Dag) -> bool {
    let has_weights = dag.tasks().iter().any(|task| matches!(task.weight_rule, WeightRule::Custom(_)));
    needs_python(&dag.timetable) || has_weights || !dag.deadlines.is_empty()
}
