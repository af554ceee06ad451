//! How many instances a task is to have.

use super::plan::mapped_groups;
use super::run::Run;
use crate::dag::{GroupIndex, TaskIndex};

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
    fn of(length: Option<u64>) -> Self {
        length.map_or(Self::Unknown, Self::Known)
    }
}

impl Run {
    /// How many instances a task is to have, as far as is known now.
    pub fn length(&self, task: TaskIndex) -> Length {
        let dag = self.plan().dag();
        let closest = mapped_groups(dag, task).next();
        match (&dag[task].details().expand, closest) {
            (None, None) => Length::NotMapped,
            (None, Some(group)) => Length::of(self.length_of_groups(group)),
            (Some(own), None) => Length::of(own.length(|task| self.pushed_length(task))),
            (Some(own), Some(group)) => Length::of(
                own.length(|task| self.pushed_length(task))
                    .and_then(|own| Some(own.saturating_mul(self.length_of_groups(group)?))),
            ),
        }
    }

    /// How often what is in a mapped group is there: for each combination with the mapped groups around it.
    pub(super) fn length_of_groups(&self, group: GroupIndex) -> Option<u64> {
        let dag = self.plan().dag();
        let mut next = Some(group);
        let mut total = 1_u64;
        while let Some(group) = next {
            if let Some(expand) = &dag[group].expand {
                total = total.saturating_mul(expand.length(|task| self.pushed_length(task))?);
            }
            next = dag[group].parent;
        }
        Some(total)
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
