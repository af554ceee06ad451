//! Instances of mapped tasks, and of tasks in mapped groups, come into being and go.

use super::decision::{Action, InstanceRef};
use super::examine::Pass;
use super::instances::{Cell, Turn};
use super::length::Length;
use super::run::Run;
use crate::dag::TaskIndex;
use crate::id::NOT_MAPPED;
use crate::state::TaskState;

/// The most instances that a task may have in a run. Combinations of several lists grow beyond all bounds; a task
/// with more fails before they are made.
pub const MAX_INSTANCES: u64 = 1_000_000;

impl Run {
    /// The instance without map index, which nothing keeps from running, becomes as many as there are inputs.
    pub(super) fn expand(&mut self, pass: &mut Pass, task: TaskIndex) {
        let instance = InstanceRef { task, map_index: NOT_MAPPED };
        pass.has_expanded = true;
        if self.plan.dag()[task].is_mapped() {
            self.tasks[task.position()].pushed.length = None;
            self.skips.remove(&(task, NOT_MAPPED));
            pass.actions.push(Action::Forget { instance });
        }
        let length = match self.length(task) {
            Length::Known(length) if length <= MAX_INSTANCES => i32::try_from(length).unwrap_or(0),
            Length::Known(_) | Length::Unknown | Length::NotMapped => {
                self.overwrite(pass, instance, TaskState::UpstreamFailed);
                self.remove_beyond(pass, task, 0);
                return;
            }
        };
        if length == 0 {
            self.overwrite(pass, instance, TaskState::Skipped);
        } else {
            self.replace_unexpanded(pass, task, length);
        }
        self.remove_beyond(pass, task, length);
    }

    /// Makes the instances of a task what its length asks for: those beyond are removed, missing ones are made.
    /// Answers those, which are ready like the one with index `at`.
    pub(super) fn revise(&mut self, pass: &mut Pass, task: TaskIndex, at: i32) -> Vec<InstanceRef> {
        let Length::Known(length) = self.length(task) else { return Vec::new() };
        let Some(length) = i32::try_from(length).ok().filter(|_| length <= MAX_INSTANCES) else {
            return Vec::new();
        };
        let cells = self.tasks[task.position()].instances.as_slice();
        let is_as_it_should_be = usize::try_from(length) == Ok(cells.len())
            && cells.first().is_none_or(|cell| cell.map_index == 0)
            && cells.last().is_none_or(|cell| cell.map_index == length - 1);
        if is_as_it_should_be {
            return Vec::new();
        }
        self.remove_stale(pass, task, length, at);
        let cells = self.tasks[task.position()].instances.as_slice();
        let mut present = cells.iter().map(|cell| cell.map_index).skip_while(|index| *index < 0).peekable();
        let is_missing = |index: &i32| present.next_if_eq(index).is_none();
        let missing: Vec<i32> = (0..length).filter(is_missing).collect();
        for group in missing.chunk_by(|one, next| *next == one + 1) {
            self.create(pass, task, group[0], group[0] + i32::try_from(group.len()).unwrap_or(0), None);
        }
        for map_index in &missing {
            // They are ready unseen; what they would wait for is found out when they are next looked at.
            self.mark(task, *map_index);
        }
        missing.into_iter().map(|map_index| InstanceRef { task, map_index }).collect()
    }

    fn replace_unexpanded(&mut self, pass: &mut Pass, task: TaskIndex, length: i32) {
        let instances = &mut self.tasks[task.position()].instances;
        let Some(unexpanded) = instances.remove(NOT_MAPPED) else { return };
        let last = instances.as_slice().last().map(|cell| cell.map_index);
        if instances.get(0).is_none() {
            instances.push(Cell { map_index: 0, turn: Turn::Later, ..unexpanded });
            instances.sort();
            pass.out_of_turn.push(InstanceRef { task, map_index: 0 });
            pass.actions.push(Action::BecomeFirst { task, state: unexpanded.state });
            pass.made.push((InstanceRef { task, map_index: 0 }, false));
            self.change_number(task, 0);
        } else {
            self.count(task, &unexpanded, u32::wrapping_sub);
            pass.actions.push(Action::Delete { task, state: unexpanded.state });
            self.change_number(task, -1);
        }
        self.mark_mapped(task);
        let first = last.unwrap_or(0).max(0) + 1;
        if first < length {
            self.create(pass, task, first, length, unexpanded.state);
            let made = (first..length).map(|map_index| (InstanceRef { task, map_index }, true));
            pass.made.extend(made);
        }
    }

    fn create(&mut self, pass: &mut Pass, task: TaskIndex, first: i32, end: i32, state: Option<TaskState>) {
        for map_index in first..end {
            let cell = Cell { turn: Turn::Later, ..Cell::new(map_index, state, None) };
            pass.out_of_turn.push(InstanceRef { task, map_index });
            self.count(task, &cell, u32::wrapping_add);
            self.tasks[task.position()].instances.push(cell);
        }
        self.tasks[task.position()].instances.sort();
        pass.actions.push(Action::Create { task, first, end, state });
        self.change_number(task, end - first);
    }

    /// Those with an index that there is no input for are removed.
    fn remove_beyond(&mut self, pass: &mut Pass, task: TaskIndex, length: i32) {
        let cells = self.tasks[task.position()].instances.between(i128::from(length), i128::MAX);
        let beyond: Vec<i32> = cells.iter().map(|cell| cell.map_index).collect();
        for map_index in beyond {
            self.overwrite(pass, InstanceRef { task, map_index }, TaskState::Removed);
        }
    }

    /// The same where instances are being looked at. One that is removed before its turn still has it.
    fn remove_stale(&mut self, pass: &mut Pass, task: TaskIndex, length: i32, at: i32) {
        let cells = self.tasks[task.position()].instances.as_slice().iter();
        let stale: Vec<Cell> = cells.filter(|cell| !(0..length).contains(&cell.map_index)).copied().collect();
        for cell in stale {
            let map_index = cell.map_index;
            self.overwrite(pass, InstanceRef { task, map_index }, TaskState::Removed);
            if cell.is_candidate() && map_index > at {
                self.change(task, map_index, |cell| cell.turn = Turn::AfterRemoval);
                pass.out_of_turn.push(InstanceRef { task, map_index });
            }
        }
    }

    fn overwrite(&mut self, pass: &mut Pass, instance: InstanceRef, to: TaskState) {
        let InstanceRef { task, map_index } = instance;
        let Some(cell) = self.tasks[task.position()].instances.get(map_index).copied() else { return };
        if cell.state == Some(to) {
            return;
        }
        self.change(task, map_index, |cell| cell.state = Some(to));
        pass.actions.push(Action::Overwrite { instance, from: cell.state, to });
        if cell.counted.is_some() {
            // It was finished when the examination began, and those looked at later see that it is removed.
            self.recount(task, map_index);
        } else {
            pass.uncounted.push(instance);
        }
        pass.finished += u32::from(cell.is_unfinished());
    }
}
