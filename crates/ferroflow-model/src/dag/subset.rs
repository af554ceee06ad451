//! Which tasks go with some tasks when these are run again.

use std::collections::BTreeSet;

use super::{Dag, Flag, TaskIndex};

/// What goes with the tasks that are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Along {
    /// All that they wait for.
    pub upstream: bool,
    /// All that wait for them.
    pub downstream: bool,
}

impl Dag {
    /// The tasks whose id has a text in it, and those that go along. Setups that prepare something for one of them go
    /// along in any case, and so do the teardowns of these.
    pub fn subset(&self, text: &str, along: Along) -> BTreeSet<TaskIndex> {
        let named: BTreeSet<TaskIndex> = self
            .indexed_tasks()
            .filter(|(_, task)| task.task_id.contains(text))
            .map(|(index, _)| index)
            .collect();
        let mut all = named.clone();
        for task in &named {
            all.extend(self.gone_along(*task, along, &named));
        }
        all
    }

    fn gone_along(&self, task: TaskIndex, along: Along, named: &BTreeSet<TaskIndex>) -> BTreeSet<TaskIndex> {
        let mut found = BTreeSet::new();
        if along.downstream {
            for relative in relatives(task, |task| self.graph().downstream(task)) {
                found.insert(relative);
                if !named.contains(&relative) && self.is_work(relative) {
                    found.extend(self.setups_and_teardowns(relative));
                }
            }
        }
        if along.upstream {
            for relative in relatives(task, |task| self.graph().upstream(task)) {
                found.insert(relative);
                if self[relative].is(Flag::IsSetup) {
                    found.extend(self.teardowns_of(relative));
                }
            }
        } else if self.is_work(task) {
            found.extend(self.setups_and_teardowns(task));
        }
        if self[task].is(Flag::IsSetup) && !along.downstream {
            found.extend(self.teardowns_of(task));
        }
        found
    }

    fn is_work(&self, task: TaskIndex) -> bool {
        !self[task].is(Flag::IsSetup) && !self[task].is(Flag::IsTeardown)
    }

    fn teardowns_of(&self, setup: TaskIndex) -> impl Iterator<Item = TaskIndex> {
        let next = self.graph().downstream(setup).iter().copied();
        next.filter(|task| self[*task].is(Flag::IsTeardown))
    }

    /// The setups before a task that a teardown after it cleans up, or none at all, with all of their teardowns.
    fn setups_and_teardowns(&self, task: TaskIndex) -> BTreeSet<TaskIndex> {
        let after = relatives(task, |task| self.graph().downstream(task));
        let mut found = BTreeSet::new();
        for setup in relatives(task, |task| self.graph().upstream(task)) {
            if !self[setup].is(Flag::IsSetup) {
                continue;
            }
            let mut teardowns = self.teardowns_of(setup).peekable();
            let is_relevant =
                teardowns.peek().is_none() || teardowns.any(|teardown| after.contains(&teardown));
            if is_relevant {
                found.insert(setup);
                found.extend(self.teardowns_of(setup).filter(|teardown| *teardown != task));
            }
        }
        found
    }
}

/// All that can be reached from a task, without it.
fn relatives<'a>(task: TaskIndex, next: impl Fn(TaskIndex) -> &'a [TaskIndex]) -> BTreeSet<TaskIndex> {
    let mut found = BTreeSet::new();
    let mut open: Vec<TaskIndex> = next(task).to_vec();
    while let Some(task) = open.pop() {
        if found.insert(task) {
            open.extend(next(task));
        }
    }
    found
}
