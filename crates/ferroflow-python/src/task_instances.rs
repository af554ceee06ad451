//! What user code says of task instances that come into being: custom weight rules, and
//! `task_instance_mutation_hook`.
//!
//! Sites without a hook pay one question per process for knowing so; DAGs whose rules are Airflow's own, none.

mod answers;
mod error;

use std::collections::BTreeSet;
use std::time::Duration;

use ferroflow_telemetry::metrics::user_code;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::ForkServer;
use crate::asking::{Asking, NoAnswer, Subject};
use crate::quarantine::LeftAlone;

pub use answers::{Columns, Hooked, Shaped};
pub use error::InstanceRuleError;

/// So many DAGs in a row that cost a process mean that the hook is bad, not a DAG.
const SUSPICIOUS: u32 = 3;

/// The weight rules and the mutation hook of an installation.
pub struct InstanceRules {
    asking: Asking,
    has_hook: OnceCell<bool>,
}

/// What the official scheduler would be doing with the instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// They are those of a new run or of tasks that a DAG has got.
    Created,
    /// They are those of a mapped task.
    Expanded,
}

/// A question about instances of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The version of the DAG: its id, as text.
    pub version: String,
    /// What is done with them.
    pub occasion: Occasion,
    /// The DAG
    pub dag_id: String,
    /// and the run.
    pub run_id: String,
    /// The run as it will be, if it is not there yet: the fields that `DagRun` is made of.
    pub new_run: Option<Value>,
    /// The custom weight rules that have a say: their import paths.
    pub classes: BTreeSet<String>,
    /// Those to be made: task, map index and state.
    pub added: Vec<(String, i32, Option<&'static str>)>,
    /// Those that are there, by id, and the map index that they will have.
    pub there: Vec<(String, i32)>,
}

impl InstanceRules {
    /// Rules that may take up to `limit` (`[ferroflow] user_code_timeout`) for each answer.
    pub fn new(server: ForkServer, limit: Duration) -> Self {
        let asking = Asking::new(server, "weight rules and task_instance_mutation_hook", limit);
        Self { asking: asking.suspecting_everybody(SUSPICIOUS), has_hook: OnceCell::new() }
    }

    /// From now on, a weight rule that hangs or crashes is left alone for a while, whatever DAG it is of.
    pub fn blame_classes(&self) {
        self.asking.blame_classes();
    }

    /// Whether there is a mutation hook, if that was asked.
    pub fn known_hook(&self) -> Option<bool> {
        self.has_hook.get().copied()
    }

    /// Whether there is a mutation hook. Asked once, of a process that has loaded what a scheduler loads.
    pub async fn has_hook(&self) -> Result<bool, InstanceRuleError> {
        let ask = async || {
            let answer = self.asking.call_plainly("task_instances.has_hook", json!({})).await;
            answer.map(|answer| answer == Value::Bool(true))
        };
        let known = self.has_hook.get_or_try_init(ask).await;
        known.copied().map_err(|source| {
            user_code::failed(user_code::Kind::InstanceRules);
            InstanceRuleError::Unknown { source }
        })
    }

    /// How the instances are to be.
    pub async fn apply_mutation_hook(&self, question: &Question) -> Result<Shaped, InstanceRuleError> {
        let dag_id = question.dag_id.as_str();
        let subject = Subject { who: dag_id, classes: question.classes.clone(), is_asked_again: true };
        let answer = self.asking.call(&subject, "task_instances.shape", question.params()).await;
        let dag_id = dag_id.to_owned();
        let shaped = match answer {
            Ok(answer) => answers::read(&dag_id, question.added.len(), answer),
            Err(NoAnswer::LeftAlone(left)) => {
                let LeftAlone { until, whose, last } = left;
                return Err(InstanceRuleError::InQuarantine { dag_id: whose, until, last });
            }
            Err(NoAnswer::Failed(source)) => Err(InstanceRuleError::Failed { dag_id, source }),
        };
        shaped.inspect_err(|_| user_code::failed(user_code::Kind::InstanceRules))
    }
}

impl Question {
    fn params(&self) -> Value {
        let occasion = match self.occasion {
            Occasion::Created => "created",
            Occasion::Expanded => "expanded",
        };
        let added = self.added.iter().map(
            |(task_id, map_index, state)| json!({"task_id": task_id, "map_index": map_index, "state": state}),
        );
        let there = self.there.iter().map(|(id, map_index)| json!({"id": id, "map_index": map_index}));
        json!({
            "version": self.version,
            "occasion": occasion,
            "run": {"dag_id": self.dag_id, "run_id": self.run_id, "new": self.new_run},
            "added": added.collect::<Vec<_>>(),
            "there": there.collect::<Vec<_>>(),
        })
    }
}
