//! An examination of a run.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::decision::{Action, Decision, InstanceRef, RunVerdict, WhenReady};
use super::evaluate::Verdict;
use super::instances::{Cell, Turn};
use super::run::Run;
use super::work::EVERY_INDEX;
use crate::dag::{Flag, Task, TaskIndex};
use crate::state::{TaskState, is_unfinished};

/// What has come up in the examination under way.
pub(super) struct Pass {
    now: Timestamp,
    pub(super) actions: Vec<Action>,
    ready: Vec<InstanceRef>,
    /// Instances that were made by this examination, to be looked at when all others have been, and whether each is
    /// new or was there before without a map index.
    pub(super) made: Vec<(InstanceRef, bool)>,
    /// Whether one that was not ready went to another state.
    pub(super) has_changed: bool,
    pub(super) has_expanded: bool,
    /// Whether one that nothing kept from running was removed.
    pub(super) has_removed_ready: bool,
    pub(super) revised: HashSet<TaskIndex, foldhash::fast::FixedState>,
    /// Those that others come to know of when the examination is over.
    pub(super) uncounted: Vec<InstanceRef>,
    /// How many of those that were unfinished at the beginning are finished.
    pub(super) finished: u32,
    /// Those whose turn is not the usual one.
    pub(super) out_of_turn: Vec<InstanceRef>,
}

impl Run {
    /// Decides what happens next, and moves on to it.
    pub fn examine(&mut self, now: Timestamp, when_ready: WhenReady) -> Decision {
        self.is_held = when_ready == WhenReady::Leave;
        // While its DAG is paused, a run does not time out, and its date is not looked at.
        if when_ready == WhenReady::Schedule {
            if self.times_out_at().is_some_and(|end| end < now) {
                return self.time_out();
            }
            if let Some(date) = self.facts.logical_date.filter(|date| *date > now) {
                self.is_at_rest = false;
                return Decision { actions: Vec::new(), run: RunVerdict::NotBefore(date) };
            }
        }
        let unfinished = self.totals.unfinished;
        let mut pass = Pass {
            now,
            actions: Vec::new(),
            ready: Vec::new(),
            made: Vec::new(),
            has_changed: false,
            has_expanded: false,
            has_removed_ready: false,
            revised: HashSet::default(),
            uncounted: Vec::new(),
            finished: 0,
            out_of_turn: Vec::new(),
        };
        self.look_at_marked(&mut pass);
        for InstanceRef { task, map_index } in std::mem::take(&mut pass.out_of_turn) {
            self.change(task, map_index, |cell| cell.turn = Turn::Usual);
        }
        let run = self.verdict_of_run(&mut pass, unfinished);
        match when_ready {
            WhenReady::Schedule => self.schedule(&mut pass),
            WhenReady::Leave => self.held = pass.ready,
        }
        for InstanceRef { task, map_index } in &pass.uncounted {
            self.recount(*task, *map_index);
        }
        self.is_at_rest = pass.actions.is_empty();
        Decision { actions: pass.actions, run }
    }

    /// After when the run has taken too long.
    pub(super) fn times_out_at(&self) -> Option<Timestamp> {
        // A sum beyond the end of time never comes.
        self.facts.start_date?.checked_add(self.facts.timeout?).ok()
    }

    fn time_out(&mut self) -> Decision {
        let unfinished: Vec<_> = self.instances().filter(|instance| is_unfinished(instance.state)).collect();
        let mut actions = Vec::with_capacity(unfinished.len());
        for instance in unfinished {
            let (from, to) = (instance.state, TaskState::Skipped);
            self.set_state(instance.task, instance.map_index, Some(to), None);
            actions.push(Action::Overwrite { instance: instance.reference(), from, to });
        }
        Decision { actions, run: RunVerdict::TimedOut }
    }

    fn look_at_marked(&mut self, pass: &mut Pass) {
        let plan = Arc::clone(&self.plan);
        for InstanceRef { task, map_index } in std::mem::take(&mut self.held) {
            self.mark(task, map_index);
        }
        while let Some((due, rank, map_index)) =
            self.timers.first().copied().filter(|(due, ..)| *due <= pass.now)
        {
            self.timers.remove(&(due, rank, map_index));
            self.work.mark(rank, map_index);
        }
        self.work.begin();
        while let Some((rank, map_index)) = self.work.next() {
            let task = plan.in_order()[rank as usize];
            if map_index == EVERY_INDEX {
                self.look_at_all(pass, task);
            } else {
                self.look_at_in_turn(pass, InstanceRef { task, map_index });
            }
        }
        let mut place = 0;
        while let Some((instance, is_new)) = pass.made.get(place).copied() {
            place += 1;
            self.look_at(pass, instance, is_new);
        }
    }

    fn look_at_all(&mut self, pass: &mut Pass, task: TaskIndex) {
        if self.unfinished_of(task) == 0 {
            return;
        }
        let cells = self.tasks[task.position()].instances.as_slice();
        if let [cell] = cells {
            let map_index = cell.map_index;
            self.look_at_in_turn(pass, InstanceRef { task, map_index });
            return;
        }
        let unfinished = cells.iter().filter(|cell| cell.is_unfinished());
        let indexes: Vec<i32> = unfinished.map(|cell| cell.map_index).collect();
        for map_index in indexes {
            self.look_at_in_turn(pass, InstanceRef { task, map_index });
        }
    }

    fn look_at_in_turn(&mut self, pass: &mut Pass, instance: InstanceRef) {
        let cell = self.tasks[instance.task.position()].instances.get(instance.map_index);
        if cell.is_some_and(|cell| cell.turn != Turn::Later) {
            self.look_at(pass, instance, false);
        }
    }

    fn look_at(&mut self, pass: &mut Pass, instance: InstanceRef, is_new: bool) {
        let InstanceRef { task, map_index } = instance;
        let Some(cell) = self.tasks[task.position()].instances.get(map_index).copied() else { return };
        let was_removed = cell.turn == Turn::AfterRemoval;
        if !cell.is_unfinished() && !was_removed {
            return;
        }
        let verdict = self.verdict(task, map_index, |_| {});
        let is_candidate = cell.is_candidate() || was_removed;
        self.remember(instance, &cell, verdict);
        if !is_candidate {
            return;
        }
        if let Some(to) = verdict.settles {
            self.settle(pass, instance, to, is_new);
            pass.has_removed_ready |= verdict.is_met;
            pass.has_changed |= !verdict.is_met;
        } else if verdict.is_met {
            match self.blocked_until(task, &cell, pass.now) {
                Some(until) => {
                    self.timers.insert((until, self.plan.task(task).rank, map_index));
                }
                None => self.make_ready(pass, instance),
            }
        }
    }

    fn remember(&mut self, instance: InstanceRef, cell: &Cell, verdict: Verdict) {
        let would_settle = verdict.settles.is_some();
        if (verdict.is_met, would_settle) != (cell.is_met, cell.would_settle) {
            self.change(instance.task, instance.map_index, |cell| {
                cell.is_met = verdict.is_met;
                cell.would_settle = would_settle;
            });
        }
    }

    /// Nothing keeps it from running: it is scheduled, or, where it stands for several, these are made.
    fn make_ready(&mut self, pass: &mut Pass, instance: InstanceRef) {
        let InstanceRef { task, map_index } = instance;
        let needs_expansion = self.plan.dag().needs_expansion(task);
        if needs_expansion && map_index < 0 {
            self.expand(pass, task);
            return;
        }
        if needs_expansion && pass.revised.insert(task) {
            for made in self.revise(pass, task, map_index) {
                pass.ready.push(made);
            }
        }
        match self.tasks[task.position()].instances.get(map_index) {
            Some(cell) if cell.is_candidate() => pass.ready.push(instance),
            _ => pass.has_removed_ready = true,
        }
    }

    pub(super) fn settle(&mut self, pass: &mut Pass, instance: InstanceRef, to: TaskState, is_new: bool) {
        let InstanceRef { task, map_index } = instance;
        let Some(from) = self.instance(task, map_index).map(|instance| instance.state) else { return };
        if from == Some(to) {
            return;
        }
        self.change(task, map_index, |cell| cell.state = Some(to));
        pass.actions.push(Action::Settle { instance, from, to });
        pass.uncounted.push(instance);
        pass.finished += u32::from(!is_new && is_unfinished(from));
    }

    /// Whether the run is over. Those that were unfinished when the examination began count as unfinished, unless
    /// one of them became several; then those count that are, the new ones too.
    fn verdict_of_run(&mut self, pass: &mut Pass, unfinished: u32) -> RunVerdict {
        let mut unfinished = if pass.has_expanded {
            self.totals.unfinished.max(unfinished.saturating_sub(pass.finished))
        } else {
            unfinished
        };
        let is_quiet =
            pass.ready.is_empty() && !pass.has_changed && !pass.has_expanded && !pass.has_removed_ready;
        let mut is_deadlocked = false;
        if unfinished > 0 && is_quiet && self.totals.waiting_elsewhere == 0 {
            is_deadlocked = !self.can_any_run(pass);
            if pass.has_changed {
                unfinished = self.totals.unfinished;
            }
        }
        if unfinished > 0 {
            return if is_deadlocked {
                RunVerdict::Deadlocked { blocked: self.first_blocked(pass) }
            } else {
                RunVerdict::Running
            };
        }
        if self.totals.failed_leaves > 0 { RunVerdict::TasksFailed } else { RunVerdict::Success }
    }

    /// Whether anything unfinished can run, now or when its time comes. Those on their way are asked too, in order,
    /// up to the first that can: what has happened upstream since then can settle them.
    fn can_any_run(&mut self, pass: &mut Pass) -> bool {
        if self.totals.would_settle == 0 {
            return self.totals.met > 0;
        }
        let unfinished: Vec<_> = self.instances().filter(|instance| is_unfinished(instance.state)).collect();
        for instance in unfinished {
            let verdict = self.verdict(instance.task, instance.map_index, |_| {});
            if let Some(to) = verdict.settles {
                self.settle(pass, instance.reference(), to, false);
                pass.has_changed |= verdict.by_upstream;
            }
            if verdict.is_met {
                return true;
            }
        }
        false
    }

    /// One that the word of a branch has just settled counts as unfinished.
    fn first_blocked(&self, pass: &Pass) -> Option<InstanceRef> {
        let has_finished = |task: &TaskIndex| self.tasks[task.position()].finished.done() > 0;
        let graph = self.plan.dag().graph();
        self.instances()
            .filter(|instance| {
                let is_just_settled = !pass.has_changed && pass.uncounted.contains(&instance.reference());
                is_unfinished(instance.state) || is_just_settled
            })
            .map(|instance| instance.reference())
            .find(|instance| graph.upstream(instance.task).iter().any(has_finished))
    }

    fn schedule(&mut self, pass: &mut Pass) {
        for instance in std::mem::take(&mut pass.ready) {
            let InstanceRef { task, map_index } = instance;
            let Some(cell) = self.tasks[task.position()].instances.get(map_index) else { continue };
            if !cell.is_candidate() {
                continue;
            }
            let from = cell.state;
            let is_new_try = from != Some(TaskState::UpForReschedule);
            let definition = &self.plan.dag()[task];
            let (to, action) = if does_nothing(definition) {
                (TaskState::Success, Action::Succeed { instance, from })
            } else if begins_with_trigger(definition) {
                (TaskState::Deferred, Action::Defer { instance, from, is_new_try })
            } else {
                (TaskState::Scheduled, Action::Schedule { instance, from, is_new_try })
            };
            self.change(task, map_index, |cell| {
                cell.state = Some(to);
                cell.due = None;
            });
            pass.actions.push(action);
            pass.uncounted.push(instance);
        }
    }
}

/// Whether a task needs no worker: it would not be noticed that it ran.
fn does_nothing(task: &Task) -> bool {
    let details = task.details();
    task.is(Flag::IsEmpty)
        && !task.is(Flag::HasOnExecuteCallback)
        && !task.is(Flag::HasOnSuccessCallback)
        && details.inlets.is_empty()
        && details.outlets.is_empty()
}

/// Whether a task begins with a trigger. Every instance of a mapped one has the same.
fn begins_with_trigger(task: &Task) -> bool {
    task.is(Flag::StartFromTrigger) && task.details().start_trigger.is_some()
}
