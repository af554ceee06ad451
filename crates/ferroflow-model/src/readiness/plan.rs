//! What about a DAG decides when its tasks are ready, worked out once for all of its runs.

use std::sync::Arc;

use super::setups;
use crate::dag::{Dag, ExpandInput, Flag, GroupIndex, TaskIndex, TriggerRule};

/// A DAG with what readiness needs to know about it.
#[derive(Debug)]
pub struct Plan {
    dag: Arc<Dag>,
    tasks: Box<[TaskPlan]>,
    /// Tallies beside those of direct upstream tasks: setups around tasks, and what lies between setups and their
    /// teardowns.
    tallies: Box<[ExtraTally]>,
}

/// What a tally counts for the task that owns it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// Sources of which an instance only looks at some indexes: both are in one mapped group.
    pub(super) indexed: Box<[IndexedSource]>,
    /// Whether instances are counted: one of the sources can be there several times.
    pub(super) counts_instances: bool,
    /// Otherwise tasks are counted, and there are this many.
    pub(super) tasks: u32,
    /// Of these, setups.
    pub(super) setup_tasks: u32,
}

/// A task whose instances belong, index by index, to those of another in the same mapped group.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedSource {
    pub(super) task: TaskIndex,
    /// The innermost mapped group around both.
    pub(super) group: GroupIndex,
    /// Whether the source is mapped once more inside that group.
    pub(super) is_mapped_further: bool,
    /// Whether an instance that is not expanded yet looks at all of them.
    pub(super) is_whole_before_expansion: bool,
}

#[derive(Debug)]
pub(super) struct ExtraTally {
    pub(super) owner: TaskIndex,
    pub(super) sources: Box<[TaskIndex]>,
    pub(super) shape: Shape,
}

/// What is known about one task.
#[derive(Debug, Default)]
pub(super) struct TaskPlan {
    /// Its place in the order in which tasks are looked at: by the bytes of their ids.
    pub(super) rank: u32,
    pub(super) direct: Shape,
    /// The tally of setups that it is not directly downstream of.
    pub(super) setups: Option<usize>,
    /// The tally of what lies between its setups and itself, being a teardown.
    pub(super) scope: Option<usize>,
    /// The tallies beside direct ones that it feeds.
    pub(super) feeds: Vec<usize>,
    /// The tasks upstream that can skip it.
    pub(super) skippers: Box<[TaskIndex]>,
    /// The tasks whose results it, or else the closest mapped group around it, is mapped over.
    pub(super) mapped_over: Box<[TaskIndex]>,
    /// The tasks that are mapped over what this one pushes, themselves or by a group around them.
    pub(super) maps: Vec<TaskIndex>,
    /// Those of the run before on whom its instances wait.
    pub(super) depends_on_past: bool,
    /// Whether an unfinished instance can wait for something outside of the run, so that no conclusion about a
    /// deadlock is possible.
    pub(super) may_wait_elsewhere: bool,
    /// Whether the end of the run is told by it.
    pub(super) is_leaf: bool,
}

impl Plan {
    /// Works it out.
    pub fn new(dag: Arc<Dag>) -> Self {
        let mut tasks: Vec<TaskPlan> = dag.indexed_tasks().map(|(index, _)| task_plan(&dag, index)).collect();
        for (rank, task) in (0..).zip(dag.by_id()) {
            tasks[task.position()].rank = rank;
        }
        mark_leaves(&dag, &mut tasks);
        for (index, _) in dag.indexed_tasks() {
            for source in expansion_sources(&dag, index) {
                let maps = &mut tasks[source.position()].maps;
                if maps.last() != Some(&index) {
                    maps.push(index);
                }
            }
        }
        let mut tallies = Vec::new();
        for (owner, around) in setups::around_tasks(&dag) {
            tasks[owner.position()].setups = Some(dag.tasks().len() + tallies.len());
            tallies.push(extra_tally(&dag, owner, around));
        }
        for (owner, scope) in setups::scopes_of_teardowns(&dag) {
            tasks[owner.position()].scope = Some(dag.tasks().len() + tallies.len());
            tallies.push(extra_tally(&dag, owner, scope));
        }
        for (place, tally) in tallies.iter().enumerate() {
            for source in &tally.sources {
                tasks[source.position()].feeds.push(dag.tasks().len() + place);
            }
        }
        Self { dag, tasks: tasks.into(), tallies: tallies.into() }
    }

    /// The DAG.
    pub fn dag(&self) -> &Arc<Dag> {
        &self.dag
    }

    /// Every task, in the order in which they are looked at.
    pub(super) fn in_order(&self) -> &[TaskIndex] {
        self.dag.by_id()
    }

    pub(super) fn task(&self, task: TaskIndex) -> &TaskPlan {
        &self.tasks[task.position()]
    }

    /// How many tallies a run keeps: one per task for what is directly upstream, then the others.
    pub(super) fn tallies(&self) -> usize {
        self.tasks.len() + self.tallies.len()
    }

    /// A tally beside the direct ones.
    pub(super) fn extra(&self, tally: usize) -> &ExtraTally {
        &self.tallies[tally - self.tasks.len()]
    }

    /// What a tally counts.
    pub(super) fn shape(&self, tally: usize) -> &Shape {
        match self.tasks.get(tally) {
            Some(task) => &task.direct,
            None => &self.extra(tally).shape,
        }
    }

    /// The tasks that a tally counts.
    pub(super) fn sources(&self, tally: usize) -> &[TaskIndex] {
        if tally < self.tasks.len() {
            self.dag.graph().upstream(TaskIndex::at(tally))
        } else {
            &self.extra(tally).sources
        }
    }
}

fn task_plan(dag: &Dag, index: TaskIndex) -> TaskPlan {
    let task = &dag[index];
    let upstream = dag.graph().upstream(index);
    let limits = task.details();
    let depends_on_past = task.is(Flag::DependsOnPast);
    TaskPlan {
        direct: shape(dag, index, upstream),
        skippers: upstream.iter().copied().filter(|task| dag[*task].is(Flag::CanSkipDownstream)).collect(),
        mapped_over: dag
            .expand_inputs_of(index)
            .next()
            .map(ExpandInput::dependencies)
            .unwrap_or_default()
            .into(),
        depends_on_past,
        may_wait_elsewhere: depends_on_past
            || limits.max_active_tis_per_dag.is_some()
            || limits.max_active_tis_per_dagrun.is_some(),
        ..TaskPlan::default()
    }
}

fn extra_tally(dag: &Dag, owner: TaskIndex, sources: Vec<TaskIndex>) -> ExtraTally {
    ExtraTally { owner, shape: shape(dag, owner, &sources), sources: sources.into() }
}

fn shape(dag: &Dag, owner: TaskIndex, sources: &[TaskIndex]) -> Shape {
    let setups = sources.iter().filter(|source| dag[**source].is(Flag::IsSetup)).count();
    let groups: Vec<GroupIndex> = dag.mapped_groups_from(dag[owner].group).collect();
    let indexed = sources.iter().filter_map(|source| indexed_source(dag, owner, &groups, *source));
    Shape {
        indexed: if groups.is_empty() { Box::default() } else { indexed.collect() },
        counts_instances: sources.iter().any(|source| dag.needs_expansion(*source)),
        tasks: u32::try_from(sources.len()).unwrap_or(u32::MAX),
        setup_tasks: u32::try_from(setups).unwrap_or(u32::MAX),
    }
}

fn indexed_source(
    dag: &Dag,
    owner: TaskIndex,
    groups_of_owner: &[GroupIndex],
    source: TaskIndex,
) -> Option<IndexedSource> {
    let mut groups = dag.mapped_groups_from(dag[source].group).peekable();
    let innermost = groups.peek().copied();
    let group = groups.find(|group| groups_of_owner.contains(group))?;
    let is_satisfied_by_some = match dag[owner].trigger_rule {
        TriggerRule::OneSuccess
        | TriggerRule::OneFailed
        | TriggerRule::OneDone
        | TriggerRule::NoneFailedMinOneSuccess => true,
        TriggerRule::AllSuccess
        | TriggerRule::AllFailed
        | TriggerRule::AllDone
        | TriggerRule::AllDoneMinOneSuccess
        | TriggerRule::AllDoneSetupSuccess
        | TriggerRule::NoneFailed
        | TriggerRule::NoneSkipped
        | TriggerRule::AllSkipped
        | TriggerRule::Always => false,
    };
    Some(IndexedSource {
        task: source,
        group,
        is_mapped_further: dag[source].is_mapped() || innermost != Some(group),
        is_whole_before_expansion: is_satisfied_by_some
            && !expansion_sources(dag, owner).any(|task| task == source),
    })
}

/// The tasks on whose results the number of a task's instances depends.
fn expansion_sources(dag: &Dag, task: TaskIndex) -> impl Iterator<Item = TaskIndex> {
    dag.expand_inputs_of(task).flat_map(ExpandInput::dependencies)
}

/// The end of a run is told by the tasks that only teardowns come after, and by teardowns that say so.
fn mark_leaves(dag: &Dag, tasks: &mut [TaskPlan]) {
    let is_ignorable =
        |task: TaskIndex| dag[task].is(Flag::IsTeardown) && !dag[task].is(Flag::OnFailureFailDagrun);
    for (index, _) in dag.indexed_tasks() {
        tasks[index.position()].is_leaf =
            !is_ignorable(index) && dag.graph().downstream(index).iter().all(|task| is_ignorable(*task));
    }
    if !tasks.iter().any(|task| task.is_leaf) {
        for (index, _) in dag.indexed_tasks() {
            tasks[index.position()].is_leaf = dag.graph().downstream(index).is_empty();
        }
    }
}
