//! The rows of a picture: groups and tasks of a DAG, each after what it waits for.

use ferroflow_model::dag::{Dag, GroupChild, GroupIndex, TaskIndex};

use super::super::show::{in_order, label};

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// How many groups are around it.
    pub(super) depth: usize,
    /// How it is called there.
    pub(super) label: String,
    /// Its task; a group has none.
    pub(super) task_id: Option<String>,
    /// Whether it has several instances in a run.
    pub(super) is_mapped: bool,
}

/// All rows. Tasks that the DAG does not have any more come last.
pub(super) fn outline<'a>(dag: &Dag, task_ids: impl Iterator<Item = &'a str>) -> Vec<Line> {
    let mut lines = Vec::new();
    add_group(dag, GroupIndex::ROOT, 0, &mut lines);
    let mut gone: Vec<&str> = task_ids.filter(|task_id| dag.find(task_id).is_none()).collect();
    gone.sort_unstable();
    gone.dedup();
    lines.extend(gone.into_iter().map(|task_id| Line {
        depth: 0,
        label: format!("{task_id} (not in the DAG any more)"),
        task_id: Some(task_id.to_owned()),
        is_mapped: false,
    }));
    lines
}

fn add_group(dag: &Dag, group: GroupIndex, depth: usize, lines: &mut Vec<Line>) {
    for child in in_order(dag, group) {
        match child {
            GroupChild::Task(task) => lines.push(of_task(dag, task, depth)),
            GroupChild::Group(inner) => {
                lines.push(Line {
                    depth,
                    label: format!("{}/", label(dag, child)),
                    task_id: None,
                    is_mapped: dag[inner].expand.is_some(),
                });
                add_group(dag, inner, depth + 1, lines);
            }
        }
    }
}

fn of_task(dag: &Dag, task: TaskIndex, depth: usize) -> Line {
    Line {
        depth,
        label: label(dag, GroupChild::Task(task)).to_owned(),
        task_id: Some(dag[task].task_id.to_string()),
        is_mapped: dag.needs_expansion(task),
    }
}
