//! How many instances a task is to have.

use super::run::Run;
use crate::dag::{Dag, ExpandInput, GroupIndex, TaskIndex};

/// How many instances a task is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// One: neither it nor a group around it is mapped.
    NotMapped,
    /// What it is mapped over is not there yet.
    Unknown,
    /// This many.
    Known(u64),
}

impl Length {
    /// What the DAG says, where `pushed` tells how many items a task has pushed to be mapped over, if that is known.
    pub(super) fn of(dag: &Dag, task: TaskIndex, pushed: impl Fn(TaskIndex) -> Option<u64>) -> Self {
        let mut inputs = dag.expand_inputs_of(task).peekable();
        if inputs.peek().is_none() {
            return Self::NotMapped;
        }
        combinations(inputs, pushed).map_or(Self::Unknown, Self::Known)
    }
}

/// How many combinations there are of what several inputs give.
fn combinations<'d>(
    mut inputs: impl Iterator<Item = &'d ExpandInput>,
    pushed: impl Fn(TaskIndex) -> Option<u64>,
) -> Option<u64> {
    inputs.try_fold(1_u64, |total, input| Some(total.saturating_mul(input.length(&pushed)?)))
}

impl Run {
    /// How many instances a task is to have, as far as is known now.
    pub fn length(&self, task: TaskIndex) -> Length {
        Length::of(self.plan().dag(), task, |task| self.pushed_length(task))
    }

    /// How often what is in a mapped group is there: for each combination with the mapped groups around it.
    pub(super) fn length_of_groups(&self, group: GroupIndex) -> Option<u64> {
        let dag = self.plan().dag();
        let inputs = dag.mapped_groups_from(group).filter_map(|group| dag[group].expand.as_deref());
        combinations(inputs, |task| self.pushed_length(task))
    }

    /// How many items there are in what a task pushed, to be mapped over. Those of a mapped task are the results
    /// of its instances, of which there are no more to come.
    pub(super) fn pushed_length(&self, task: TaskIndex) -> Option<u64> {
        if self.plan().dag()[task].is_mapped() {
            (self.unfinished_of(task) == 0).then(|| self.pushed(task).results)
        } else {
            self.pushed(task).length
        }
    }
}
