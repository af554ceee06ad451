//! A DAG as a tree of its groups for the terminal; below each task and group is what waits for it.

use ferroflow_model::dag::{Dag, Flag, GroupChild, GroupIndex, TaskIndex, TriggerRule};

use super::edges::{Edge, Node, edges};
use super::{group_id, id, label};
use crate::output::on_one_line;

/// The lines of a picture.
pub(super) fn draw(dag: &Dag) -> String {
    let edges = edges(dag);
    let groups = dag.groups().len() - 1;
    let counts = format!("{}, {}", counted(dag.tasks().len(), "task"), counted(groups, "group"));
    let schedule = dag.timetable.summary();
    let mut lines = vec![format!("{} ({counts}, schedule {schedule})", dag.dag_id)];
    draw_group(dag, GroupIndex::ROOT, "", &edges, &mut lines);
    let lines: Vec<String> = lines.iter().map(|line| on_one_line(line)).collect();
    lines.join("\n") + "\n"
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn draw_group(dag: &Dag, group: GroupIndex, indent: &str, edges: &[Edge], lines: &mut Vec<String>) {
    let children = in_order(dag, group);
    for (position, child) in children.iter().enumerate() {
        let is_last = position + 1 == children.len();
        let (branch, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push(format!("{indent}{branch}{}", described(dag, *child)));
        let inner = format!("{indent}{below}");
        let (here, trunk) = match child {
            GroupChild::Task(task) => (Node::Task(*task), "   "),
            GroupChild::Group(group) if dag[*group].children.is_empty() => (Node::After(*group), "   "),
            GroupChild::Group(group) => (Node::After(*group), "│  "),
        };
        for edge in edges.iter().filter(|edge| edge.from == here) {
            if let Some(target) = target(dag, edge.to) {
                let label = edge.label.as_ref().map_or_else(String::new, |label| format!(" {label:?}"));
                lines.push(format!("{inner}{trunk}─▶ {target}{label}"));
            }
        }
        if let GroupChild::Group(group) = child {
            draw_group(dag, *group, &inner, edges, lines);
        }
    }
}

/// What is in a group: each after what it waits for, as far as groups as a whole can be put in order.
pub(in crate::commands::dags) fn in_order(dag: &Dag, group: GroupIndex) -> Vec<GroupChild> {
    let mut place = vec![usize::MAX; dag.groups().len()];
    let mut of_task = vec![0; dag.tasks().len()];
    for (position, task) in dag.graph().order().iter().enumerate() {
        of_task[task.position()] = position;
        let mut around = Some(dag[*task].group);
        while let Some(group) = around {
            place[group.position()] = place[group.position()].min(position);
            around = dag[group].parent;
        }
    }
    let mut children = dag[group].children.to_vec();
    children.sort_by_key(|child| {
        let position = match child {
            GroupChild::Task(task) => of_task[task.position()],
            GroupChild::Group(group) => place[group.position()],
        };
        (position, id(dag, *child))
    });
    children
}

/// A task or group, and what is special about it.
fn described(dag: &Dag, child: GroupChild) -> String {
    let name = label(dag, child);
    match child {
        GroupChild::Group(group) => {
            let mapped = if dag[group].expand.is_some() { " [mapped]" } else { "" };
            format!("{name}/{mapped}")
        }
        GroupChild::Task(task) => {
            let marks = marks(dag, task);
            let marks = if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(", ")) };
            let task = &dag[task];
            let shown = task.details().display_name.as_deref();
            let shown = shown.map_or_else(String::new, |shown| format!(" {shown:?}"));
            format!("{name}{shown} ({}){marks}", task.operator.name)
        }
    }
}

fn marks(dag: &Dag, task: TaskIndex) -> Vec<String> {
    let task = &dag[task];
    let usual =
        if task.is(Flag::IsTeardown) { TriggerRule::AllDoneSetupSuccess } else { TriggerRule::AllSuccess };
    let mut marks = Vec::new();
    for (is_so, mark) in [
        (task.is(Flag::IsSetup), "setup"),
        (task.is(Flag::IsTeardown), "teardown"),
        (task.is_mapped(), "mapped"),
    ] {
        if is_so {
            marks.push(mark.to_owned());
        }
    }
    if task.trigger_rule != usual {
        marks.push(task.trigger_rule.as_str().to_owned());
    }
    marks
}

/// Where an arrow leads: that a group's tasks are before its end goes without saying.
fn target(dag: &Dag, node: Node) -> Option<String> {
    match node {
        Node::Task(task) => Some(dag[task].task_id.to_string()),
        Node::Before(group) => Some(format!("{}/", group_id(dag, group))),
        Node::After(_) => None,
    }
}
