//! One run, driven from its first task to its end.
//!
//! An [`ActiveRun`] is [loaded](ActiveRun::load) once, told what has changed ([`ActiveRun::refresh`]), and moved on
//! by [`ActiveRun::step`]: one examination of the model, and one transaction that writes what it decided. Where a row
//! was not in the state that the decision was made for, the run is loaded anew, and the next step decides again.

mod apply;
mod callback;
mod definition;
mod end;
mod load;
mod mutation_hook;
mod past;
mod queue;
mod refresh;
mod step;
mod structure;
mod together;
mod writes;

use std::collections::HashMap;
use std::sync::Arc;

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_model::readiness::{InstanceRef, Run, Waiting};
use ferroflow_model::state::TaskState;
use ferroflow_python::task_instances::InstanceRules;
use jiff::Timestamp;
use uuid::Uuid;

use crate::Questions;

pub use crate::queue_tasks::ExecutorNames;
pub use definition::Definition;
pub(crate) use past::Earlier;
pub use queue::Queued;
pub(crate) use refresh::Compared;
pub(crate) use step::Decided;
pub use step::{Stale, Step};
pub(crate) use together::write_together;

/// Who drives runs.
#[derive(Clone)]
pub struct RunSettings {
    /// Its row in `job`, if it has one.
    pub job_id: Option<i64>,
    /// The user of the operating system that it runs as.
    pub unixname: String,
    /// What encrypts the arguments of triggers.
    pub fernet: Arc<Fernet>,
    /// `[core] max_task_retry_delay`, in seconds.
    pub longest_wait: i64,
    /// Whether a run waits for its date, and ends when it has taken too long.
    pub pace: Pace,
    /// Custom weight rules and the mutation hook; none where there is no Python.
    pub rules: Option<Arc<InstanceRules>>,
    /// What they and others were asked: who has a loop to go on with does not wait for the answers.
    pub questions: Questions,
}

/// Whether the clock matters for a run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It is not before its logical date, and it may time out.
    Scheduled,
    /// It is tried out: neither.
    AtOnce,
}

/// A run in memory, and the rows behind it.
#[derive(Debug)]
pub struct ActiveRun {
    /// Its row, when it was last read.
    pub row: DagRun,
    /// Its DAG.
    pub definition: Arc<Definition>,
    model: Run,
    rows: HashMap<InstanceRef, Known>,
    /// The run before it, when it was last read.
    pub(crate) earlier: Earlier,
    /// Instances of tasks that the DAG does not have any more.
    strays: Vec<(Uuid, Option<TaskState>)>,
}

/// What is known of the row of an instance, beyond its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) id: Uuid,
    pub(crate) try_number: i32,
    pub(crate) start_date: Option<Timestamp>,
    pub(crate) end_date: Option<Timestamp>,
    pub(crate) version: Option<Uuid>,
}

/// An instance of a run, for those who look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenInstance {
    /// Which one.
    pub reference: InstanceRef,
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Where it stands.
    pub state: Option<TaskState>,
    /// How often it was started.
    pub try_number: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// When it is looked at again, if it waits for that.
    pub due: Option<Timestamp>,
}

impl ActiveRun {
    /// Its instances, by task id and map index.
    pub fn instances(&self) -> impl Iterator<Item = SeenInstance> {
        self.model.instances().filter_map(|instance| self.seen(instance.reference()))
    }

    /// How many instances it has.
    pub(crate) fn size(&self) -> usize {
        self.rows.len()
    }

    /// The tries that are with an executor, or are to go to one.
    pub(crate) fn on_their_way(&self) -> Vec<Uuid> {
        let is_on_its_way = |state| {
            use TaskState::{Queued, Restarting, Running, Scheduled};
            matches!(state, Some(Scheduled | Queued | Running | Restarting))
        };
        let instances = self.model.instances().filter(|instance| is_on_its_way(instance.state));
        instances.filter_map(|instance| Some(self.rows.get(&instance.reference())?.id)).collect()
    }

    /// One of its instances.
    pub fn seen(&self, reference: InstanceRef) -> Option<SeenInstance> {
        let instance = self.model.instance(reference.task, reference.map_index)?;
        let known = self.rows.get(&reference)?;
        Some(SeenInstance {
            reference,
            id: known.id,
            key: self.key(reference),
            state: instance.state,
            try_number: known.try_number,
            start_date: known.start_date,
            end_date: known.end_date,
            due: instance.due,
        })
    }

    /// The instance with a key.
    pub fn find(&self, task_id: &str, map_index: i32) -> Option<InstanceRef> {
        let task = self.definition.dag().find(task_id)?;
        self.model.instance(task, map_index).map(|instance| instance.reference())
    }

    /// Why one of its instances is not finished; nothing if it is.
    pub(crate) fn explain(&self, reference: InstanceRef, now: Timestamp) -> Option<Waiting> {
        self.model.explain(reference.task, reference.map_index, now)
    }

    /// When a step will find something to do although nothing has happened.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        self.model.next_due(now)
    }

    /// Whether a step at this time could decide anything.
    pub fn needs_step(&self, now: Timestamp) -> bool {
        self.model.needs_examination(now) || !self.strays.is_empty()
    }

    fn key(&self, reference: InstanceRef) -> TaskInstanceKey {
        TaskInstanceKey {
            dag_id: self.row.dag_id.clone(),
            run_id: self.row.run_id.clone(),
            task_id: self.definition.dag()[reference.task].task_id.to_string(),
            map_index: reference.map_index,
        }
    }
}
