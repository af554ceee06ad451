//! What user code says of task instances that come into being: weight rules that somebody wrote in Python, and
//! `task_instance_mutation_hook`.
//!
//! Sites without a hook pay one question per process for knowing so; DAGs whose rules are Airflow's own, none.

mod answers;
mod error;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ferroflow_telemetry::{clock, metrics::user_code};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::ForkServer;
use crate::helper::{Helper, HelperError};
use crate::quarantine::Quarantine;

pub use answers::{Columns, Hooked, Shaped};
pub use error::InstanceRuleError;

/// What tells the whole site in quarantine: no DAG has an empty name.
const EVERYBODY: &str = "";

/// So many DAGs in a row that cost a process mean that the hook is bad, not a DAG.
const SUSPICIOUS: u32 = 3;

/// The weight rules and the mutation hook of an installation.
pub struct InstanceRules {
    helper: Helper,
    limit: Duration,
    has_hook: OnceCell<bool>,
    offences: Mutex<Offences>,
}

#[derive(Default)]
struct Offences {
    quarantine: Quarantine,
    /// How many questions in a row cost a process.
    in_a_row: u32,
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
#[derive(Clone, Debug)]
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
    /// Those to be made: task, map index and state.
    pub added: Vec<(String, i32, Option<&'static str>)>,
    /// Those that are there, by id, and the map index that they will have.
    pub there: Vec<(String, i32)>,
}

impl InstanceRules {
    /// Rules that may take up to `limit` (`[ferroflow] user_code_timeout`) for each answer.
    pub fn new(server: ForkServer, limit: Duration) -> Self {
        Self {
            helper: Helper::new(server, "weight rules and task_instance_mutation_hook"),
            limit,
            has_hook: OnceCell::new(),
            offences: Mutex::default(),
        }
    }

    /// Whether there is a mutation hook. Asked once, of a process that has loaded what a scheduler loads.
    pub async fn has_hook(&self) -> Result<bool, InstanceRuleError> {
        let ask = async || {
            let answer = self.helper.call("task_instances.has_hook", json!({}), self.limit).await;
            answer.map(|answer| answer == Value::Bool(true))
        };
        let known = self.has_hook.get_or_try_init(ask).await;
        known.copied().map_err(|source| {
            user_code::failed(user_code::Kind::InstanceRules);
            InstanceRuleError::Unknown { source }
        })
    }

    /// How the instances are to be.
    pub async fn shape(&self, question: &Question) -> Result<Shaped, InstanceRuleError> {
        let dag_id = question.dag_id.as_str();
        self.admit(dag_id)?;
        let answer = self.helper.call("task_instances.shape", question.params(), self.limit).await;
        let shaped = answer.map_err(|source| {
            self.note(dag_id, &source);
            InstanceRuleError::Failed { dag_id: dag_id.to_owned(), source }
        });
        let shaped = shaped.and_then(|answer| answers::read(dag_id, question.added.len(), answer));
        match &shaped {
            Ok(_) => self.forgive(dag_id),
            Err(_) => user_code::failed(user_code::Kind::InstanceRules),
        }
        shaped
    }

    fn admit(&self, dag_id: &str) -> Result<(), InstanceRuleError> {
        let offences = self.offences();
        let now = clock::now();
        let left_alone = offences.quarantine.admit(dag_id, now);
        left_alone.and_then(|()| offences.quarantine.admit(EVERYBODY, now)).map_err(|left| {
            InstanceRuleError::InQuarantine { dag_id: dag_id.to_owned(), pause: left.pause, last: left.last }
        })
    }

    /// Who costs a process waits; if one after the other does, everybody waits.
    fn note(&self, dag_id: &str, source: &HelperError) {
        if !source.cost_a_process() {
            return;
        }
        let mut offences = self.offences();
        offences.in_a_row += 1;
        offences.quarantine.note(dag_id, source, clock::now());
        if offences.in_a_row >= SUSPICIOUS {
            offences.quarantine.note(EVERYBODY, source, clock::now());
        }
    }

    fn forgive(&self, dag_id: &str) {
        let mut offences = self.offences();
        offences.in_a_row = 0;
        offences.quarantine.forgive(dag_id);
        offences.quarantine.forgive(EVERYBODY);
    }

    /// What is guarded stays whole whatever happens: every change is one insertion or removal.
    fn offences(&self) -> std::sync::MutexGuard<'_, Offences> {
        self.offences.lock().unwrap_or_else(PoisonError::into_inner)
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
