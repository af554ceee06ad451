//! What depends on what.

/// A task of one DAG, by its place in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskIndex(u32);

impl TaskIndex {
    /// The one at this place. A document holds far fewer than 2³² tasks.
    pub(crate) fn at(position: usize) -> Self {
        Self(u32::try_from(position).unwrap_or(u32::MAX))
    }

    /// The place, for lists that run along the tasks.
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

/// The edges between the tasks of a DAG, and an order in which every task comes after those it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    downstream: Edges,
    upstream: Edges,
    order: Box<[TaskIndex]>,
}

impl Graph {
    /// Builds the graph from edges that are sorted by the task that they leave, or answers with the tasks of a
    /// cycle, from the first of the document on in the direction of its edges.
    pub(super) fn new(tasks: usize, edges: &[(TaskIndex, TaskIndex)]) -> Result<Self, Vec<TaskIndex>> {
        let upstream = Edges::to_second(tasks, edges.iter().copied());
        // Turning it around sorts what a task's own list had in any order.
        let downstream = Edges::to_second(tasks, upstream.pairs());
        let order = topological_order(&upstream, &downstream);
        if order.len() == tasks {
            Ok(Self { downstream, upstream, order })
        } else {
            Err(cycle(&upstream, &order))
        }
    }

    /// The tasks that wait for this one, in the order of the document.
    pub fn downstream(&self, task: TaskIndex) -> &[TaskIndex] {
        self.downstream.of(task)
    }

    /// The tasks that this one waits for, in the order of the document.
    pub fn upstream(&self, task: TaskIndex) -> &[TaskIndex] {
        self.upstream.of(task)
    }

    /// Every task, each after all that it waits for; of those that could come next, the first of the document.
    pub fn order(&self) -> &[TaskIndex] {
        &self.order
    }
}

/// For each task a list of tasks, all in one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edges {
    starts: Box<[u32]>,
    ends: Box<[TaskIndex]>,
}

impl Edges {
    fn of(&self, task: TaskIndex) -> &[TaskIndex] {
        &self.ends[self.starts[task.position()] as usize..self.starts[task.position() + 1] as usize]
    }

    fn tasks(&self) -> usize {
        self.starts.len() - 1
    }

    fn pairs(&self) -> impl Iterator<Item = (TaskIndex, TaskIndex)> + Clone {
        (0..self.tasks())
            .map(TaskIndex::at)
            .flat_map(|task| self.of(task).iter().map(move |other| (task, *other)))
    }

    /// For the second of each pair, the firsts, in the order of the pairs. These are sorted by their first, so a
    /// pair that is there again is so before another first has come to the same second.
    fn to_second(tasks: usize, pairs: impl Iterator<Item = (TaskIndex, TaskIndex)> + Clone) -> Self {
        let mut last = vec![None; tasks];
        let mut is_new = move |(first, second): &(TaskIndex, TaskIndex)| {
            last[second.position()].replace(*first) != Some(*first)
        };
        let pairs: Vec<_> = pairs.filter(|pair| is_new(pair)).collect();
        let mut starts = vec![0; tasks + 1];
        for (_, second) in &pairs {
            starts[second.position() + 1] += 1;
        }
        for task in 0..tasks {
            starts[task + 1] += starts[task];
        }
        let mut ends = vec![TaskIndex(0); pairs.len()];
        let mut next = starts.clone();
        for (first, second) in pairs {
            let place = &mut next[second.position()];
            ends[*place as usize] = first;
            *place += 1;
        }
        Self { starts: starts.into(), ends: ends.into() }
    }
}

/// As many tasks as can be put in order: all of them, unless there is a cycle.
fn topological_order(upstream: &Edges, downstream: &Edges) -> Box<[TaskIndex]> {
    let mut waits_for: Vec<usize> =
        (0..upstream.tasks()).map(|task| upstream.of(TaskIndex::at(task)).len()).collect();
    let mut order: Vec<TaskIndex> =
        (0..waits_for.len()).filter(|task| waits_for[*task] == 0).map(TaskIndex::at).collect();
    order.reserve_exact(waits_for.len() - order.len());
    let mut done = 0;
    while let Some(task) = order.get(done).copied() {
        done += 1;
        for next in downstream.of(task) {
            waits_for[next.position()] -= 1;
            if waits_for[next.position()] == 0 {
                order.push(*next);
            }
        }
    }
    order.into()
}

/// Every task that is not in order waits for another one that is not: going from one to the next ends in a
/// cycle.
fn cycle(upstream: &Edges, order: &[TaskIndex]) -> Vec<TaskIndex> {
    let mut is_open = vec![true; upstream.tasks()];
    for task in order {
        is_open[task.position()] = false;
    }
    let mut seen_at = vec![None; is_open.len()];
    let mut path = Vec::new();
    let mut next = is_open.iter().position(|open| *open).map(TaskIndex::at);
    while let Some(task) = next {
        if let Some(start) = seen_at[task.position()] {
            path.drain(..start);
            break;
        }
        seen_at[task.position()] = Some(path.len());
        path.push(task);
        next = upstream.of(task).iter().copied().find(|task| is_open[task.position()]);
    }
    path.reverse();
    let first = (0..path.len()).min_by_key(|position| path[*position]).unwrap_or(0);
    path.rotate_left(first);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(tasks: usize, edges: &[(usize, usize)]) -> Result<Graph, Vec<usize>> {
        let edges: Vec<_> =
            edges.iter().map(|(from, to)| (TaskIndex::at(*from), TaskIndex::at(*to))).collect();
        Graph::new(tasks, &edges).map_err(|cycle| positions(&cycle))
    }

    fn positions(tasks: &[TaskIndex]) -> Vec<usize> {
        tasks.iter().map(|task| task.position()).collect()
    }

    #[test]
    fn lists_are_sorted_and_hold_each_task_once() {
        let graph = graph(4, &[(0, 3), (0, 1), (0, 3), (0, 1), (2, 1), (3, 1)]).unwrap();
        assert_eq!(positions(graph.downstream(TaskIndex(0))), [1, 3]);
        assert_eq!(positions(graph.upstream(TaskIndex(1))), [0, 2, 3]);
        assert_eq!(positions(graph.upstream(TaskIndex(0))), Vec::<usize>::new());
        assert_eq!(positions(graph.order()), [0, 2, 3, 1]);
    }

    #[test]
    fn a_cycle_is_named_in_the_direction_of_its_edges() {
        assert_eq!(graph(1, &[(0, 0)]).unwrap_err(), [0]);
        let edges = [(0, 1), (1, 3), (2, 1), (3, 2), (3, 4), (4, 5)];
        assert_eq!(graph(6, &edges).unwrap_err(), [1, 3, 2]);
    }

    #[test]
    fn long_chains_and_wide_fans_are_no_trouble() {
        let chain: Vec<(usize, usize)> = (1..100_000).map(|task| (task, task - 1)).collect();
        assert_eq!(graph(100_000, &chain).unwrap().order()[0], TaskIndex(99_999));
        let fan: Vec<(usize, usize)> = (1..100_000).map(|task| (task, 0)).collect();
        assert_eq!(graph(100_000, &fan).unwrap().upstream(TaskIndex(0)).len(), 99_999);
    }

    #[test]
    fn a_dag_without_tasks_has_an_order_too() {
        assert!(graph(0, &[]).unwrap().order().is_empty());
    }
}
