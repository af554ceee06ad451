//! How important the instances of each task are.
//!
//! A task with the rule "downstream" weighs as much as itself and all that comes after it, each counted once.
//! Since tasks may lead to one another in many ways, sums of sums would count some twice: what is needed is which
//! task leads to which. That is found for 64 tasks at a time, a bit for each, which takes one pass over the edges.

use std::sync::Arc;

use crate::dag::{Dag, Task, TaskIndex, WeightRule};

/// How many tasks are looked at together: the bits of a word.
const BLOCK: usize = u64::BITS as usize;

/// How important the instances of a task are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The more the sooner.
    Of(i32),
    /// A custom class says it, which runs in Python; this is its import path.
    NeedsPython(Arc<str>),
}

/// The weights of all tasks, in the order of [`Dag::tasks`].
///
/// The column holds 32 bits. The author's weights are brought within these when the file is read, except those of
/// mapped tasks; here that is done to all, and to the sums.
pub fn weights(dag: &Dag) -> Vec<Weight> {
    let own: Vec<i64> =
        dag.tasks().iter().map(|task| i64::from(within_column(task.priority_weight))).collect();
    let has = |rule: &WeightRule| dag.tasks().iter().any(|task| task.weight_rule == *rule);
    let sums = |rule, direction| has(&rule).then(|| sums(dag, &own, direction));
    let downstream = sums(WeightRule::Downstream, Direction::Downstream);
    let upstream = sums(WeightRule::Upstream, Direction::Upstream);
    let weigh = |(index, task): (TaskIndex, &Task)| {
        let of = |list: &[i64]| Weight::Of(within_column(list[index.position()]));
        match &task.weight_rule {
            WeightRule::Absolute => of(&own),
            WeightRule::Downstream => of(downstream.as_deref().unwrap_or(&own)),
            WeightRule::Upstream => of(upstream.as_deref().unwrap_or(&own)),
            WeightRule::Custom(path) => Weight::NeedsPython(Arc::clone(path)),
        }
    };
    dag.indexed_tasks().map(weigh).collect()
}

fn within_column(weight: i64) -> i32 {
    let nearest = if weight < 0 { i32::MIN } else { i32::MAX };
    i32::try_from(weight).unwrap_or(nearest)
}

#[derive(Clone, Copy)]
enum Direction {
    Downstream,
    Upstream,
}

/// For each task its own weight and those of all that it leads to in that direction.
fn sums(dag: &Dag, own: &[i64], direction: Direction) -> Vec<i64> {
    let graph = dag.graph();
    let mut order = graph.order().to_vec();
    if matches!(direction, Direction::Downstream) {
        order.reverse();
    }
    // From here on, what a task leads to stands before it.
    let leads_to = |task| match direction {
        Direction::Downstream => graph.downstream(task),
        Direction::Upstream => graph.upstream(task),
    };
    let mut sums = vec![0; own.len()];
    let mut reached = vec![0_u64; own.len()];
    for start in (0..order.len()).step_by(BLOCK) {
        let block = &order[start..order.len().min(start + BLOCK)];
        let weights = BlockWeights::new(block.iter().map(|task| own[task.position()]));
        for task in &order[start.saturating_sub(BLOCK)..start] {
            reached[task.position()] = 0;
        }
        for (place, task) in order[start..].iter().enumerate() {
            let itself = if place < BLOCK { 1 << place } else { 0 };
            let others = leads_to(*task).iter().map(|other| reached[other.position()]);
            let bits = others.fold(itself, |bits, other| bits | other);
            reached[task.position()] = bits;
            sums[task.position()] += weights.sum(bits);
        }
    }
    sums
}

/// The sums of any of the weights of a block, for each byte of its bits: eight additions instead of one for each
/// bit.
struct BlockWeights(Vec<[i64; 256]>);

impl BlockWeights {
    fn new(weights: impl Iterator<Item = i64>) -> Self {
        let mut tables = vec![[0; 256]; BLOCK / 8];
        for (place, weight) in weights.enumerate() {
            let (table, bit) = (&mut tables[place / 8], 1 << (place % 8));
            for bits in 0..bit {
                table[bits | bit] = table[bits] + weight;
            }
        }
        Self(tables)
    }

    fn sum(&self, bits: u64) -> i64 {
        self.0.iter().zip(bits.to_le_bytes()).map(|(table, byte)| table[usize::from(byte)]).sum()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A DAG of tasks given as (rule, weight, places that it leads to).
    fn dag(tasks: &[(&str, i64, Vec<usize>)]) -> Dag {
        let name = |place: usize| format!("t{place}");
        let children: serde_json::Map<String, Value> =
            (0..tasks.len()).map(|place| (name(place), json!(["operator", name(place)]))).collect();
        let tasks: Vec<Value> = tasks
            .iter()
            .enumerate()
            .map(|(place, (rule, weight, next))| {
                let next: Vec<String> = next.iter().copied().map(name).collect();
                json!({"__type": "operator", "__var": {"task_id": name(place), "weight_rule": rule,
                       "priority_weight": weight, "downstream_task_ids": next}})
            })
            .collect();
        let timetable = json!({"__type": "airflow.timetables.simple.NullTimetable", "__var": {}});
        let group = json!({"_group_id": null, "children": children});
        let document = json!({"__version": 3, "dag":
            {"dag_id": "d", "timetable": timetable, "tasks": tasks, "task_group": group}});
        Dag::decode(&document.to_string()).unwrap()
    }

    fn known(tasks: &[(&str, i64, Vec<usize>)]) -> Vec<i32> {
        let known = |weight| match weight {
            Weight::Of(weight) => weight,
            Weight::NeedsPython(path) => panic!("{path}"),
        };
        weights(&dag(tasks)).into_iter().map(known).collect()
    }

    #[test]
    fn what_two_ways_lead_to_is_counted_once() {
        let diamond =
            |rule| [(rule, 1, vec![1, 2]), (rule, 10, vec![3]), (rule, 100, vec![3]), (rule, 1000, vec![])];
        assert_eq!(known(&diamond("downstream")), [1111, 1010, 1100, 1000]);
        assert_eq!(known(&diamond("upstream")), [1, 11, 101, 1111]);
        assert_eq!(known(&diamond("absolute")), [1, 10, 100, 1000]);
    }

    #[test]
    fn each_task_has_a_rule_of_its_own() {
        let tasks = [("upstream", 1, vec![1]), ("my.Rule", 10, vec![2]), ("downstream", 100, vec![])];
        let path = "my.Rule".into();
        assert_eq!(weights(&dag(&tasks)), [Weight::Of(1), Weight::NeedsPython(path), Weight::Of(100)]);
    }

    #[test]
    fn weights_fit_their_column() {
        let most = i64::from(i32::MAX);
        let tasks = [
            ("downstream", most, vec![1]),
            ("downstream", i64::MAX, vec![2]),
            ("absolute", i64::MIN, vec![]),
        ];
        // Each is brought within its bounds before it is added, so that opposites cancel out.
        assert_eq!(known(&tasks), [i32::MAX - 1, -1, i32::MIN]);
        let tasks = [("downstream", most, vec![1]), ("absolute", 1, vec![])];
        assert_eq!(known(&tasks), [i32::MAX, 1]);
    }

    #[test]
    fn long_chains_are_more_than_one_block() {
        let next = |place: usize| if place < 299 { vec![place + 1] } else { vec![] };
        let chain = |rule| (0..300).map(|place| (rule, 1, next(place))).collect::<Vec<_>>();
        let expected: Vec<i32> = (1..=300).collect();
        assert_eq!(known(&chain("upstream")), expected);
        assert_eq!(known(&chain("downstream")).into_iter().rev().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_dag_without_tasks_has_no_weights() {
        assert_eq!(weights(&dag(&[])), []);
    }
}
