//! A DAG as text.

use std::fmt::Write as _;

use ferroflow_model::dag::{Dag, ExpandInput, Flag, TaskIndex};

/// One line per task: what it is, and what it waits for.
pub(super) fn draw(dag: &Dag) -> String {
    let mut text = format!("{} (catchup {}, fail_fast {})\n", dag.dag_id, dag.catchup, dag.fail_fast);
    for (index, task) in dag.indexed_tasks() {
        let mut marks = vec![task.operator.task_type.to_string(), task.trigger_rule.to_string()];
        let flags = [
            Flag::IsSetup,
            Flag::IsTeardown,
            Flag::OnFailureFailDagrun,
            Flag::DependsOnPast,
            Flag::WaitForDownstream,
            Flag::IgnoreFirstDependsOnPast,
        ];
        marks.extend(flags.into_iter().filter(|flag| task.is(*flag)).map(|flag| flag.key().to_owned()));
        if let Some(expand) = &task.details().expand {
            marks.push(format!("mapped over {}", inputs(dag, expand)));
        }
        for group in dag.mapped_groups_of(index) {
            let name = group.group_id.as_deref().unwrap_or_default();
            marks.extend(
                group.expand.iter().map(|expand| format!("in {name} mapped over {}", inputs(dag, expand))),
            );
        }
        let upstream = names(dag, dag.graph().upstream(index));
        let _ = writeln!(text, "    {} [{}] <- {upstream}", task.task_id, marks.join(", "));
    }
    text
}

fn inputs(dag: &Dag, expand: &ExpandInput) -> String {
    match expand.length(|_| None) {
        Some(length) => format!("{length}"),
        None => format!("results of {}", names(dag, &expand.dependencies())),
    }
}

fn names(dag: &Dag, tasks: &[TaskIndex]) -> String {
    let names: Vec<&str> = tasks.iter().map(|task| &*dag[*task].task_id).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
