//! The arrows between tasks and groups.
//!
//! Where a group as a whole depends on something, one arrow stands for those of all its tasks: it begins or ends
//! at a joint of the group, and arrows lead from the joint to the group's first tasks, or from its last ones.

use std::collections::BTreeSet;

use ferroflow_model::dag::{Dag, Flag, GroupChild, GroupIndex, TaskIndex};

use super::group_id;

/// Where an arrow begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    Task(TaskIndex),
    /// The joint before a group.
    Before(GroupIndex),
    /// The joint after a group.
    After(GroupIndex),
}

/// An arrow, perhaps with a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: Node,
    pub(super) to: Node,
    pub(super) label: Option<String>,
}

impl Node {
    /// As Airflow calls it.
    pub(super) fn id(self, dag: &Dag) -> String {
        match self {
            Self::Task(task) => dag[task].task_id.to_string(),
            Self::Before(group) => format!("{}.upstream_join_id", group_id(dag, group)),
            Self::After(group) => format!("{}.downstream_join_id", group_id(dag, group)),
        }
    }
}

/// All arrows, sorted by the ids of their ends.
pub(super) fn edges(dag: &Dag) -> Vec<Edge> {
    let mut added = BTreeSet::new();
    let mut skipped = BTreeSet::new();
    for group in groups_within(dag, GroupIndex::ROOT) {
        join(dag, group, &mut added, &mut skipped);
    }
    let direct = dag.indexed_tasks().flat_map(|(task, _)| {
        dag.graph().downstream(task).iter().map(move |next| (Node::Task(task), Node::Task(*next)))
    });
    let all: BTreeSet<(Node, Node)> = direct.chain(added).filter(|edge| !skipped.contains(edge)).collect();
    let mut named: Vec<((String, String), (Node, Node))> =
        all.into_iter().map(|(from, to)| ((from.id(dag), to.id(dag)), (from, to))).collect();
    named.sort_unstable();
    let labels = dag.edge_info.as_ref().and_then(|info| info.value().ok());
    let label =
        |from: &str, to: &str| Some(labels.as_ref()?.get(from)?.get(to)?.get("label")?.as_str()?.to_owned());
    let edge = |((from_id, to_id), (from, to)): ((String, String), (Node, Node))| Edge {
        from,
        to,
        label: label(&from_id, &to_id),
    };
    named.into_iter().map(edge).collect()
}

/// A group and all groups inside it.
fn groups_within(dag: &Dag, group: GroupIndex) -> Vec<GroupIndex> {
    let inside = dag[group].children.iter().filter_map(|child| match child {
        GroupChild::Group(group) => Some(*group),
        GroupChild::Task(_) => None,
    });
    std::iter::once(group).chain(inside.flat_map(|group| groups_within(dag, group))).collect()
}

/// The arrows that a group's joints take, and those of single tasks that they stand for.
fn join(
    dag: &Dag,
    index: GroupIndex,
    added: &mut BTreeSet<(Node, Node)>,
    skipped: &mut BTreeSet<(Node, Node)>,
) {
    let group = &dag[index];
    let last = || last_tasks(dag, index).into_iter().map(Node::Task);
    let first = |group| first_tasks(dag, group).into_iter().map(Node::Task);
    for next in &group.downstream_groups {
        added.insert((Node::After(index), Node::Before(*next)));
        for task in last() {
            added.insert((task, Node::After(index)));
            skipped.extend(first(*next).map(|other| (task, other)));
            skipped.insert((task, Node::Before(*next)));
        }
        for task in first(*next) {
            added.insert((Node::Before(*next), task));
            skipped.insert((Node::After(index), task));
        }
    }
    for next in group.downstream_tasks.iter().map(|task| Node::Task(*task)) {
        added.insert((Node::After(index), next));
        for task in last() {
            added.insert((task, Node::After(index)));
            skipped.insert((task, next));
        }
    }
    for previous in group.upstream_tasks.iter().map(|task| Node::Task(*task)) {
        added.insert((previous, Node::Before(index)));
        for task in first(index) {
            added.insert((Node::Before(index), task));
            skipped.insert((previous, task));
        }
    }
}

/// The tasks of a group that wait for no other one of it.
fn first_tasks(dag: &Dag, group: GroupIndex) -> Vec<TaskIndex> {
    let tasks = tasks_within(dag, group);
    let waits = |task: &TaskIndex| dag.graph().upstream(*task).iter().any(|other| tasks.contains(other));
    tasks.iter().copied().filter(|task| !waits(task)).collect()
}

/// The tasks of a group that no other one of it waits for. A teardown is none: what it comes after is.
fn last_tasks(dag: &Dag, group: GroupIndex) -> Vec<TaskIndex> {
    let tasks = tasks_within(dag, group);
    let mut last = Vec::new();
    for task in &tasks {
        if dag.graph().downstream(*task).iter().any(|other| tasks.contains(other)) {
            continue;
        }
        if dag[*task].is(Flag::IsTeardown) {
            before_teardown(dag, *task, &tasks, &mut last);
        } else {
            last.push(*task);
        }
    }
    last
}

fn before_teardown(dag: &Dag, teardown: TaskIndex, tasks: &BTreeSet<TaskIndex>, last: &mut Vec<TaskIndex>) {
    for task in dag.graph().upstream(teardown).iter().filter(|task| tasks.contains(task)) {
        let goes_on =
            |next: &TaskIndex| *next != teardown && tasks.contains(next) && !dag[*next].is(Flag::IsTeardown);
        if dag[*task].is(Flag::IsTeardown) {
            before_teardown(dag, *task, tasks, last);
        } else if !dag[*task].is(Flag::IsSetup) && !dag.graph().downstream(*task).iter().any(goes_on) {
            last.push(*task);
        }
    }
}

fn tasks_within(dag: &Dag, group: GroupIndex) -> BTreeSet<TaskIndex> {
    let groups: BTreeSet<GroupIndex> = groups_within(dag, group).into_iter().collect();
    dag.indexed_tasks().filter(|(_, task)| groups.contains(&task.group)).map(|(index, _)| index).collect()
}
