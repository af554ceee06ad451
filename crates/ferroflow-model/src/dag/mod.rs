//! DAGs, as the DAG processor serialized them and the database keeps them.
//!
//! [`Dag::decode`] turns the text of a document, of format 1, 2 or 3, into a [`Dag`], or into the list of all
//! that is wrong with it. A `Dag` does not change; it is meant to sit in an `Arc` and to be shared.
//!
//! **What is kept** is what a decision or an answer of the API is made of: when the DAG runs, its limits, its
//! tasks with their rules, pools, retries and time-outs, how tasks map and what that depends on, its edges,
//! groups, assets, parameters and deadlines. **What is left in the document** is what only a person looks at,
//! task by task, or only the worker uses, which reads the DAG file itself: the values of template fields, how
//! to render them, documentation in other forms than Markdown, `op_args` and the like. Code that shows those
//! reads them from the document.
//!
//! It is also meant to be held by the ten thousand: a text that repeats (a pool, an owner, the class of an
//! operator) is there once per DAG, tasks and groups refer to each other by index, and what few tasks have is
//! behind one pointer ([`TaskDetails`]).

mod deadline;
mod decode;
mod demand;
mod expand;
mod graph;
mod group;
mod param;
mod rule;
mod subset;
mod task;
mod upgrade;

use std::ops::Index;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::Json;
use crate::document::Problems;
use crate::state::RunType;
use crate::timetable::{Restriction, Timetable, Zone};

pub use deadline::{
    CallbackPlace, Deadline, DeadlineAlert, DeadlineCallback, DeadlineInterval, DeadlineReference,
};
pub use demand::Demand;
pub use expand::{ExpandArgument, ExpandInput, XComArg};
pub use graph::{Graph, TaskIndex};
pub use group::{GroupChild, GroupIndex, TaskGroup};
pub use param::{Param, ParamSource, Params};
pub use rule::{TriggerRule, WeightRule};
pub use subset::Along;
pub use task::{Flag, Operator, StartTrigger, Task, TaskDetails};

/// How many tasks a DAG may have.
pub const MAX_TASKS: usize = 100_000;

/// A DAG.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, which the author gave")]
pub struct Dag {
    /// Its name, which identifies it.
    pub dag_id: Arc<str>,
    /// How to call it where people read.
    pub display_name: Arc<str>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// Documentation, as Markdown.
    pub doc_md: Option<Box<str>>,
    /// The file that it is from.
    pub fileloc: Option<Box<str>>,
    /// The same from the root of its bundle.
    pub relative_fileloc: Option<Box<str>>,
    /// The folder of DAGs of the process that read the file.
    pub processor_dags_folder: Option<Box<str>>,
    /// The zone in which times without one are.
    pub timezone: Zone,
    /// When it runs.
    pub timetable: Timetable,
    /// No run is before.
    pub start_date: Option<Timestamp>,
    /// No run is after.
    pub end_date: Option<Timestamp>,
    /// Whether missed runs are made up for.
    pub catchup: bool,
    /// How many task instances may run at once, in all of its runs.
    pub max_active_tasks: i32,
    /// How many of its runs may be active at once.
    pub max_active_runs: i32,
    /// After how many failed runs in a row it is paused; 0 is never.
    pub max_consecutive_failed_dag_runs: i32,
    /// How long a run may take.
    pub dagrun_timeout: Option<SignedDuration>,
    /// Whether the first failure of a task fails what is left of the run.
    pub fail_fast: bool,
    /// Whether it begins its life paused; `None` leaves that to the configuration.
    pub is_paused_upon_creation: Option<bool>,
    /// Whether it wants to be told that a run succeeded.
    pub has_on_success_callback: bool,
    /// Whether it wants to be told that a run failed.
    pub has_on_failure_callback: bool,
    /// Whether templates give objects instead of text.
    pub render_template_as_native_obj: bool,
    /// Whether runs always use the newest files of a bundle.
    pub disable_bundle_versioning: bool,
    /// Whether a cleared run uses the newest version; `None` leaves that to the configuration.
    pub rerun_with_latest_version: Option<bool>,
    /// Which kinds of run it may have; `None` is any.
    pub allowed_run_types: Option<Vec<RunType>>,
    /// Its tags, sorted.
    pub tags: Vec<Box<str>>,
    /// A link for each owner who has one.
    pub owner_links: Vec<(Box<str>, Box<str>)>,
    /// What its tasks began with, encoded as the document has it. Already part of every task.
    pub default_args: Option<Json>,
    /// Who may do what with it, encoded as the document has it. An empty object is not the same as none.
    pub access_control: Option<Json>,
    /// What a person can set for a run.
    pub params: Arc<Params>,
    /// What must have happened by when.
    pub deadlines: Vec<Deadline>,
    /// How it depends on other DAGs and on assets.
    pub dependencies: Vec<DagDependency>,
    /// Labels of edges: for each upstream task, for each downstream task, an object with a `label`.
    pub edge_info: Option<Json>,
    structure: Structure,
}

/// The tasks of a DAG and how they hang together.
#[derive(Clone, Debug, PartialEq)]
struct Structure {
    tasks: Box<[Task]>,
    groups: Box<[TaskGroup]>,
    graph: Graph,
    by_id: Box<[TaskIndex]>,
}

/// A line between two DAGs, or between a DAG and an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagDependency {
    /// Where it begins: the id of a DAG, or the kind of thing if it is not one.
    pub source: Box<str>,
    /// Where it ends, in the same way.
    pub target: Box<str>,
    /// How to call it where people read.
    pub label: Box<str>,
    /// Of which kind it is: `trigger`, `sensor`, `asset`, `asset-alias`, …
    pub dependency_type: Box<str>,
    /// What it is made by: a task, or an asset as a JSON text.
    pub dependency_id: Option<Box<str>>,
}

impl Dag {
    /// Reads a serialized DAG.
    pub fn decode(text: &str) -> Result<Self, Problems> {
        decode::decode(text)
    }

    /// Its tasks, in the order of the document.
    pub fn tasks(&self) -> &[Task] {
        &self.structure.tasks
    }

    /// The same with their indexes.
    pub fn indexed_tasks(&self) -> impl Iterator<Item = (TaskIndex, &Task)> {
        self.structure.tasks.iter().enumerate().map(|(position, task)| (TaskIndex::at(position), task))
    }

    /// The task with this id.
    pub fn find(&self, task_id: &str) -> Option<TaskIndex> {
        let place = self.structure.by_id.binary_search_by(|index| (*self[*index].task_id).cmp(task_id));
        place.ok().map(|place| self.structure.by_id[place])
    }

    /// What depends on what.
    pub fn graph(&self) -> &Graph {
        &self.structure.graph
    }

    /// The groups: the one around all first, and each before those inside it.
    pub fn groups(&self) -> &[TaskGroup] {
        &self.structure.groups
    }

    /// The tasks, sorted by the bytes of their ids.
    pub fn by_id(&self) -> &[TaskIndex] {
        &self.structure.by_id
    }

    /// The mapped groups that a task is in, from the innermost outwards.
    pub fn mapped_groups_of(&self, task: TaskIndex) -> impl Iterator<Item = &TaskGroup> {
        self.mapped_groups_from(self[task].group).map(|group| &self[group])
    }

    /// A group and those around it, as far as they are mapped.
    pub fn mapped_groups_from(&self, group: GroupIndex) -> impl Iterator<Item = GroupIndex> {
        let mut next = Some(group);
        std::iter::from_fn(move || {
            let group = next?;
            next = self[group].parent;
            Some(group)
        })
        .filter(|group| self[*group].expand.is_some())
    }

    /// What decides how often a task is there: what it is mapped over, and what the groups around it are.
    pub fn expand_inputs_of(&self, task: TaskIndex) -> impl Iterator<Item = &ExpandInput> {
        let of_groups = self.mapped_groups_of(task).filter_map(|group| group.expand.as_deref());
        self[task].details().expand.iter().chain(of_groups)
    }

    /// Whether a task is there once for each of several inputs: because it is mapped, or a group around it.
    pub fn needs_expansion(&self, task: TaskIndex) -> bool {
        self[task].is_mapped() || self.mapped_groups_of(task).next().is_some()
    }

    /// The first start date of the DAG and its tasks.
    pub fn earliest_start(&self) -> Option<Timestamp> {
        self.structure.tasks.iter().filter_map(|task| task.start_date).chain(self.start_date).min()
    }

    /// When no task can run any more: the last end date, if every task has one, else that of the DAG.
    pub fn latest_end(&self) -> Option<Timestamp> {
        if self.structure.tasks.iter().all(|task| task.end_date.is_some()) {
            self.structure.tasks.iter().filter_map(|task| task.end_date).chain(self.end_date).max()
        } else {
            self.end_date
        }
    }

    /// What bounds its schedule.
    pub fn restriction(&self) -> Restriction {
        Restriction { earliest: self.earliest_start(), latest: self.latest_end(), catchup: self.catchup }
    }
}

impl Index<TaskIndex> for Dag {
    type Output = Task;

    fn index(&self, index: TaskIndex) -> &Task {
        &self.structure.tasks[index.position()]
    }
}

impl Index<GroupIndex> for Dag {
    type Output = TaskGroup;

    fn index(&self, index: GroupIndex) -> &TaskGroup {
        &self.structure.groups[index.position()]
    }
}
