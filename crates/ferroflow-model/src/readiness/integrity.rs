//! Which instances a run should have: when it is created, and when its DAG has changed.

use std::ops::Range;

use jiff::Timestamp;

use super::decision::InstanceRef;
use super::expand::MAX_INSTANCES;
use super::length::Length;
use super::run::Run;
use crate::dag::{Dag, TaskIndex};
use crate::id::NOT_MAPPED;
use crate::state::{RunType, TaskState};

/// The instances that a new run begins with: for each task that takes part, a range of map indexes. A task of which
/// it is not known yet how many there will be begins with one that has none.
pub fn first_instances(
    dag: &Dag,
    run_type: RunType,
    logical_date: Option<Timestamp>,
) -> Vec<(TaskIndex, Range<i32>)> {
    let mut instances = Vec::with_capacity(dag.tasks().len());
    for (task, _) in dag.indexed_tasks().filter(|(task, _)| takes_part(dag, *task, run_type, logical_date)) {
        let known = match length_without_results(dag, task) {
            Length::Known(length @ 1..=MAX_INSTANCES) => i32::try_from(length).ok(),
            Length::Known(_) | Length::Unknown | Length::NotMapped => None,
        };
        instances.push((task, known.map_or(NOT_MAPPED..NOT_MAPPED + 1, |length| 0..length)));
    }
    instances
}

/// What a changed DAG asks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// Instances that go to another state: to none, because their task is back, or to `removed`, because there is
    /// no such index any more.
    pub changed: Vec<(InstanceRef, Option<TaskState>)>,
    /// Instances to create, for tasks that have none.
    pub created: Vec<(TaskIndex, Range<i32>)>,
}

/// What a DAG that is not the one its instances were made for asks of a run. Instances of tasks that are gone are
/// not part of a [`Run`]; they are removed.
pub fn reconcile(run: &Run, run_type: RunType) -> Reconciliation {
    let dag = run.plan().dag();
    let mut reconciliation = Reconciliation::default();
    for instance in run.instances() {
        let wanted = match length_without_results(dag, instance.task) {
            Length::NotMapped => i32::MIN..i32::MAX,
            Length::Known(length) => 0..i32::try_from(length).unwrap_or(i32::MAX),
            Length::Unknown => match run.length(instance.task) {
                Length::Known(length) => i32::MIN..i32::try_from(length).unwrap_or(i32::MAX),
                Length::Unknown | Length::NotMapped => i32::MIN..0,
            },
        };
        let is_removed = instance.state == Some(TaskState::Removed);
        let state = match wanted.contains(&instance.map_index) {
            true if is_removed => None,
            true => continue,
            false if is_removed => continue,
            false => Some(TaskState::Removed),
        };
        reconciliation.changed.push((instance.reference(), state));
    }
    reconciliation.created = first_instances(dag, run_type, run.logical_date())
        .into_iter()
        .filter(|(task, _)| !run.has_instances_of(*task))
        .collect();
    reconciliation
}

/// Whether a task takes part in a run. In a backfill all do.
fn takes_part(dag: &Dag, task: TaskIndex, run_type: RunType, logical_date: Option<Timestamp>) -> bool {
    let Some(date) = logical_date.filter(|_| run_type != RunType::Backfill) else { return true };
    let task = &dag[task];
    task.start_date.is_none_or(|start| start <= date) && task.end_date.is_none_or(|end| date <= end)
}

/// How many instances there will be as far as the DAG alone can tell.
fn length_without_results(dag: &Dag, task: TaskIndex) -> Length {
    Length::of(dag, task, |_| None)
}
