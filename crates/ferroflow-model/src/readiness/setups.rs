//! Which setups a task relies on, and what a teardown waits for besides its upstream tasks.

use crate::dag::{Dag, Flag, Graph, TaskIndex};

/// For each task but teardowns, the setups further upstream that prepare something for it: those without a
/// teardown, and those with a teardown downstream of the task. Tasks without such are left out.
pub(super) fn around_tasks(dag: &Dag) -> Vec<(TaskIndex, Vec<TaskIndex>)> {
    let graph = dag.graph();
    let mut around = vec![Vec::new(); dag.tasks().len()];
    for (setup, _) in dag.indexed_tasks().filter(|(_, task)| task.is(Flag::IsSetup)) {
        let teardowns: Vec<TaskIndex> =
            graph.downstream(setup).iter().copied().filter(|task| dag[*task].is(Flag::IsTeardown)).collect();
        let mut prepares = reachable(graph, [setup], Graph::downstream);
        if !teardowns.is_empty() {
            let before = reachable(graph, teardowns, Graph::upstream);
            for (prepared, is_before) in prepares.iter_mut().zip(before) {
                *prepared &= is_before;
            }
        }
        for (task, _) in dag.indexed_tasks().filter(|(_, task)| !task.is(Flag::IsTeardown)) {
            if prepares[task.position()] && graph.upstream(task).binary_search(&setup).is_err() {
                around[task.position()].push(setup);
            }
        }
    }
    dag.indexed_tasks().map(|(task, _)| task).zip(around).filter(|(_, setups)| !setups.is_empty()).collect()
}

/// For each teardown, the tasks between its setups and itself that it is not directly downstream of.
pub(super) fn scopes_of_teardowns(dag: &Dag) -> Vec<(TaskIndex, Vec<TaskIndex>)> {
    let graph = dag.graph();
    let mut scopes = Vec::new();
    for (teardown, _) in dag.indexed_tasks().filter(|(_, task)| task.is(Flag::IsTeardown)) {
        let direct = graph.upstream(teardown);
        let setups = direct.iter().copied().filter(|task| dag[*task].is(Flag::IsSetup));
        let after_setups = reachable(graph, setups, Graph::downstream);
        let before = reachable(graph, [teardown], Graph::upstream);
        let scope: Vec<TaskIndex> = dag
            .indexed_tasks()
            .map(|(task, _)| task)
            .filter(|task| after_setups[task.position()] && before[task.position()])
            .filter(|task| direct.binary_search(task).is_err())
            .collect();
        if !scope.is_empty() {
            scopes.push((teardown, scope));
        }
    }
    scopes
}

/// Which tasks can be reached from some of them, by at least one edge.
fn reachable<'g>(
    graph: &'g Graph,
    from: impl IntoIterator<Item = TaskIndex>,
    next: impl Fn(&'g Graph, TaskIndex) -> &'g [TaskIndex],
) -> Vec<bool> {
    let mut seen = vec![false; graph.order().len()];
    let mut open: Vec<TaskIndex> = from.into_iter().collect();
    while let Some(task) = open.pop() {
        for neighbour in next(graph, task) {
            if !std::mem::replace(&mut seen[neighbour.position()], true) {
                open.push(*neighbour);
            }
        }
    }
    seen
}
