//! Which tasks a run waited for, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_model::dag::Dag;
use jiff::Timestamp;

/// The tasks of the longest path: from the one that ended last, always back to the task upstream that ended last. Of two
/// that ended at once, the one that is later in the DAG.
pub(super) fn longest_path<'a>(dag: &Dag, ends: &BTreeMap<&'a str, Timestamp>) -> BTreeSet<&'a str> {
    let order: BTreeMap<&str, usize> =
        dag.graph().order().iter().enumerate().map(|(place, task)| (&*dag[*task].task_id, place)).collect();
    let last = |tasks: &mut dyn Iterator<Item = (&&'a str, &Timestamp)>| {
        tasks.max_by_key(|(task_id, end)| (**end, order.get(**task_id))).map(|(task_id, _)| *task_id)
    };
    let mut path = BTreeSet::new();
    let mut next = last(&mut ends.iter());
    while let Some(task_id) = next {
        path.insert(task_id);
        let upstream = dag.find(task_id).map_or(&[][..], |task| dag.graph().upstream(task));
        next = last(&mut upstream.iter().filter_map(|task| ends.get_key_value(&*dag[*task].task_id)));
    }
    path
}
