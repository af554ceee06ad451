//! Which instances of the tasks upstream an instance looks at.
//!
//! Outside of mapped groups these are all of them. Two tasks in one mapped group belong together index by index:
//! an instance looks at the one with its own index, or at a range of them where the other task is mapped further.
//! One that is not expanded is everybody's business.

use std::ops::Range;

use super::counts::Upstream;
use super::length::Length;
use super::plan::IndexedSource;
use super::run::Run;
use crate::dag::{Flag, TaskIndex};

enum Relevant {
    All,
    Indexes(Range<i128>),
}

impl Run {
    /// What an instance sees of those it waits for.
    pub(super) fn upstream(&self, tally: usize, owner: TaskIndex, map_index: i32) -> Upstream {
        let mut upstream = self.tallies[tally];
        for source in &self.plan.shape(tally).indexed {
            let task_run = &self.tasks[source.task.position()];
            let is_setup = self.plan.dag()[source.task].is(Flag::IsSetup);
            let number = match self.relevant(owner, map_index, source) {
                Relevant::All => {
                    upstream.count_all(&task_run.finished, is_setup);
                    task_run.instances.as_slice().len()
                }
                Relevant::Indexes(indexes) => {
                    let unexpanded = task_run.instances.between(i128::MIN, 0);
                    let own_part = task_run.instances.between(indexes.start.max(0), indexes.end);
                    for state in unexpanded.iter().chain(own_part).filter_map(|cell| cell.counted) {
                        upstream.count(state, is_setup);
                    }
                    unexpanded.len() + own_part.len()
                }
            };
            upstream.expect(number, is_setup);
        }
        upstream
    }

    fn relevant(&self, owner: TaskIndex, map_index: i32, source: &IndexedSource) -> Relevant {
        if map_index < 0 && source.is_whole_before_expansion {
            return Relevant::All;
        }
        let Some(each) = self.number_in_each(owner, source) else { return Relevant::All };
        // One that is not expanded is before the first part, where no other is.
        let part = i128::from(map_index).div_euclid(each);
        if source.is_mapped_further {
            Relevant::Indexes(part * each..(part + 1) * each)
        } else {
            Relevant::Indexes(part..part + 1)
        }
    }

    /// The map indexes of those who look at this index of a task in the same mapped group, if that is not all.
    pub(super) fn looking_at(
        &self,
        owner: TaskIndex,
        source: &IndexedSource,
        map_index: i32,
    ) -> Option<Range<i32>> {
        let each = self.number_in_each(owner, source)?;
        if map_index < 0 {
            return None;
        }
        let part =
            if source.is_mapped_further { i128::from(map_index) / each } else { i128::from(map_index) };
        Some(i32::try_from(part * each).ok()?..i32::try_from((part + 1) * each).ok()?)
    }

    /// How many instances of a task there are for each time that the group which it shares with another is there.
    fn number_in_each(&self, owner: TaskIndex, source: &IndexedSource) -> Option<i128> {
        let Length::Known(length) = self.length(owner) else { return None };
        let parts = self.length_of_groups(source.group).filter(|parts| *parts > 0)?;
        let each = length / parts;
        (each > 0).then_some(i128::from(each))
    }
}
