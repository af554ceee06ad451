//! What a run knows of the run before it.

use ferroflow_model::dag::{Dag, Flag, TaskIndex};
use ferroflow_model::state::TaskState;

use super::ActiveRun;

/// Which run is the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// Its row, if there is one.
    pub(crate) id: Option<i64>,
    /// Whether it does not matter: the first run of a backfill waits for none.
    pub(crate) is_exempt: bool,
}

/// The tasks whose outcome in the run before matters: those that depend on their past, and what is directly downstream of
/// those that wait for it.
pub(super) fn asked_about(dag: &Dag) -> Vec<TaskIndex> {
    let mut asked = Vec::new();
    for (index, task) in dag.indexed_tasks().filter(|(_, task)| task.is(Flag::DependsOnPast)) {
        asked.push(index);
        if task.is(Flag::WaitForDownstream) {
            asked.extend(dag.graph().downstream(index));
        }
    }
    asked.sort_unstable();
    asked.dedup();
    asked
}

impl ActiveRun {
    /// Whether what becomes of a task of the run before matters; of any, if none is named.
    pub(crate) fn asks_about_past(&self, task_id: Option<&str>) -> bool {
        let asked = &self.definition.asks_past_of;
        match task_id {
            None => !asked.is_empty(),
            Some(task_id) => {
                let task = self.definition.dag().find(task_id);
                task.is_some_and(|task| asked.binary_search(&task).is_ok())
            }
        }
    }

    /// Whether it has a run before that matters, or may get one.
    pub(crate) fn has_past(&self) -> bool {
        self.asks_about_past(None) && self.row.logical_date.is_some() && !self.earlier.is_exempt
    }

    /// Whether it knows how the tasks of the run before stand, as far as they matter.
    pub(crate) fn knows_past(&self, before: &Self) -> bool {
        let Some(past) = self.model.past() else { return false };
        let (dag, dag_before) = (self.definition.dag(), before.definition.dag());
        self.definition.asks_past_of.iter().all(|task| {
            // What it has of a task that its DAG does not have any more is not kept in memory.
            let Some(task_before) = dag_before.find(&dag[*task].task_id) else { return true };
            let is_good =
                |state: Option<TaskState>| matches!(state, Some(TaskState::Success | TaskState::Skipped));
            let (mut instances, mut unsuccessful) = (0_u32, 0_u32);
            for instance in before.model.instances_of(task_before) {
                instances += 1;
                unsuccessful += u32::from(!is_good(instance.state));
            }
            past.tasks
                .get(task.position())
                .is_some_and(|known| (known.instances, known.unsuccessful) == (instances, unsuccessful))
        })
    }
}
