//! A run as readiness sees it, kept up to date event by event.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::counts::{Counts, Upstream};
use super::decision::InstanceRef;
use super::instances::{Cell, Instances};
use super::plan::{IndexedSource, Plan};
use super::work::{EVERY_INDEX, Work};
use super::{Facts, Instance, Past, Pushed, Skips};
use crate::dag::{Flag, TaskIndex};
use crate::id::NOT_MAPPED;
use crate::retry::over_at;
use crate::state::TaskState;

/// A run: its instances, what is known about them, and what is left to look at.
///
/// It is loaded once and then told what has changed. An [examination](Self::examine) looks only at what the
/// changes can have an effect on; right after loading that is everything.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) plan: Arc<Plan>,
    pub(super) facts: Facts,
    pub(super) past: Option<Past>,
    pub(super) tasks: Vec<TaskRun>,
    /// What became of the instances that others wait for, but for those that belong together index by index.
    pub(super) tallies: Vec<Upstream>,
    pub(super) skips: HashMap<(TaskIndex, i32), Skips, foldhash::fast::FixedState>,
    pub(super) totals: Totals,
    pub(super) work: Work,
    /// When to look again at instances that only wait for time to pass.
    pub(super) timers: BTreeSet<(Timestamp, u32, i32)>,
    /// Those that were ready while the DAG was paused.
    pub(super) held: Vec<InstanceRef>,
    /// Whether the DAG was paused when the run was last examined: then no time counts for the run as a whole.
    pub(super) is_held: bool,
    /// Whether the last examination had nothing to do, and nothing has happened since.
    pub(super) is_at_rest: bool,
}

/// A task in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskRun {
    pub(super) instances: Instances,
    /// Those that others know to be finished.
    pub(super) finished: Counts,
    pub(super) unfinished: u32,
    pub(super) pushed: Pushed,
}

/// Numbers of instances in the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) unfinished: u32,
    /// Unfinished ones that may wait for something outside of the run.
    pub(super) waiting_elsewhere: u32,
    /// Unfinished ones that nothing within the run keeps from running.
    pub(super) met: u32,
    /// Those on their way that would be settled if they were looked at.
    pub(super) would_settle: u32,
    /// Failed ones of the tasks that tell how the run ended.
    pub(super) failed_leaves: u32,
    pub(super) removed: u32,
}

impl Run {
    /// A run with its instances, in any order.
    pub fn load(
        plan: Arc<Plan>,
        facts: Facts,
        past: Option<Past>,
        instances: impl IntoIterator<Item = Instance>,
    ) -> Self {
        let number = plan.dag().tasks().len();
        let mut run = Self {
            facts,
            past,
            tasks: vec![TaskRun::default(); number],
            tallies: vec![Upstream::default(); plan.tallies()],
            skips: HashMap::default(),
            totals: Totals::default(),
            work: Work::everything(plan.in_order().len()),
            timers: BTreeSet::new(),
            held: Vec::new(),
            is_held: false,
            is_at_rest: false,
            plan,
        };
        for Instance { task, map_index, state, due } in instances {
            let mut cell = Cell::new(map_index, state, due);
            cell.counted = state.filter(|state| state.is_finished());
            run.tasks[task.position()].instances.push(cell);
        }
        for task_run in &mut run.tasks {
            task_run.instances.sort();
        }
        run.count_everything();
        run
    }

    /// The DAG and what is known about it.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The instances, by task in the order in which they are looked at, and by map index.
    pub fn instances(&self) -> impl Iterator<Item = Instance> {
        self.plan.in_order().iter().flat_map(|task| self.instances_of(*task))
    }

    /// The instances of a task, by map index.
    pub fn instances_of(&self, task: TaskIndex) -> impl Iterator<Item = Instance> {
        let cells = self.tasks[task.position()].instances.as_slice().iter();
        cells.map(move |cell| Instance { task, map_index: cell.map_index, state: cell.state, due: cell.due })
    }

    /// The time that the run is about.
    pub fn logical_date(&self) -> Option<Timestamp> {
        self.facts.logical_date
    }

    /// Whether there is any instance of a task.
    pub fn has_instances_of(&self, task: TaskIndex) -> bool {
        !self.tasks[task.position()].instances.as_slice().is_empty()
    }

    /// An instance, if it is there.
    pub fn instance(&self, task: TaskIndex, map_index: i32) -> Option<Instance> {
        let cell = self.tasks[task.position()].instances.get(map_index)?;
        Some(Instance { task, map_index, state: cell.state, due: cell.due })
    }

    /// An instance has gone to another state, and is looked at again from when `due` is reached. Answers whether
    /// there is such an instance.
    pub fn set_state(
        &mut self,
        task: TaskIndex,
        map_index: i32,
        state: Option<TaskState>,
        due: Option<Timestamp>,
    ) -> bool {
        if self.instance(task, map_index).is_none() {
            return false;
        }
        self.change(task, map_index, |cell| {
            cell.state = state;
            cell.due = due;
        });
        self.mark(task, map_index);
        self.recount(task, map_index);
        true
    }

    /// What a task has pushed to be mapped over is now this.
    pub fn set_pushed(&mut self, task: TaskIndex, pushed: Pushed) {
        let before = self.pushed_length(task);
        self.tasks[task.position()].pushed = pushed;
        if self.pushed_length(task) != before {
            self.mark_mapped(task);
        }
    }

    /// What a task has pushed to be mapped over.
    pub fn pushed(&self, task: TaskIndex) -> Pushed {
        self.tasks[task.position()].pushed
    }

    /// What an instance has decided about the tasks downstream is now this.
    pub fn set_skips(&mut self, task: TaskIndex, map_index: i32, skips: Option<Skips>) {
        match skips {
            Some(skips) => self.skips.insert((task, map_index), skips),
            None => self.skips.remove(&(task, map_index)),
        };
        let plan = Arc::clone(&self.plan);
        for downstream in plan.dag().graph().downstream(task) {
            self.mark(*downstream, if map_index == NOT_MAPPED { EVERY_INDEX } else { map_index });
        }
    }

    /// What is known of the run before this one.
    pub fn past(&self) -> Option<&Past> {
        self.past.as_ref()
    }

    /// The run before this one is now that far.
    pub fn set_past(&mut self, past: Option<Past>) {
        if self.past != past {
            self.past = past;
            let plan = Arc::clone(&self.plan);
            for task in plan.in_order().iter().filter(|task| plan.task(**task).depends_on_past) {
                self.mark(*task, EVERY_INDEX);
            }
        }
    }

    /// When an examination will find something to do although nothing has happened: when a retry is due, the run
    /// times out, or its time comes; the last two not while the DAG is paused.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let time_out = self.times_out_at().filter(|_| !self.is_held).map(over_at);
        let next = match self.facts.logical_date.filter(|date| *date > now && !self.is_held) {
            Some(date) => Some(date),
            None => self.timers.first().map(|(due, ..)| *due),
        };
        time_out.into_iter().chain(next).min()
    }

    /// Whether an examination at this time could decide anything: the last one did, something has happened since, or
    /// something is due. What is ready while the DAG is paused is no reason.
    pub fn needs_examination(&self, now: Timestamp) -> bool {
        let is_before_its_time = !self.is_held && self.facts.logical_date.is_some_and(|date| date > now);
        (!self.is_at_rest && !is_before_its_time) || self.next_due(now).is_some_and(|due| due <= now)
    }

    /// How many instances of a task are not finished.
    pub fn unfinished_of(&self, task: TaskIndex) -> u32 {
        self.tasks[task.position()].unfinished
    }

    /// Changes an instance and what is counted of it. Others come to know with [`Self::recount`].
    pub(super) fn change(&mut self, task: TaskIndex, map_index: i32, change: impl FnOnce(&mut Cell)) {
        let is_mapped_over = !self.plan.task(task).maps.is_empty();
        let before = is_mapped_over.then(|| self.shown_to_mapped(task));
        let Some(cell) = self.tasks[task.position()].instances.get_mut(map_index) else { return };
        let old = *cell;
        change(cell);
        let new = *cell;
        if let Some(due) = old.due.filter(|_| old.due != new.due) {
            let rank = self.plan.task(task).rank;
            self.timers.remove(&(due, rank, map_index));
            self.timers.remove(&(over_at(due), rank, map_index));
        }
        self.count(task, &old, u32::wrapping_sub);
        self.count(task, &new, u32::wrapping_add);
        if before.is_some_and(|before| before != self.shown_to_mapped(task)) {
            self.mark_mapped(task);
        }
    }

    /// Lets others know whether an instance is finished, and how.
    pub(super) fn recount(&mut self, task: TaskIndex, map_index: i32) {
        let task_run = &mut self.tasks[task.position()];
        let Some(cell) = task_run.instances.get_mut(map_index) else { return };
        let new = cell.state.filter(|state| state.is_finished());
        let old = std::mem::replace(&mut cell.counted, new);
        if old == new {
            return;
        }
        let was_seen = task_run.finished.done() > 0;
        old.inspect(|state| task_run.finished.take(*state));
        new.inspect(|state| task_run.finished.add(*state));
        let is_seen = task_run.finished.done() > 0;
        let plan = Arc::clone(&self.plan);
        let may_skip = plan.dag()[task].is(Flag::CanSkipDownstream) && was_seen != is_seen;
        for owner in plan.dag().graph().downstream(task) {
            self.feed(&plan, owner.position(), *owner, (task, map_index), (old, new));
            if may_skip {
                self.mark(*owner, EVERY_INDEX);
            }
        }
        for tally in &plan.task(task).feeds {
            self.feed(&plan, *tally, plan.extra(*tally).owner, (task, map_index), (old, new));
        }
    }

    /// There is one instance more or less of a task.
    pub(super) fn change_number(&mut self, task: TaskIndex, change: i32) {
        let plan = Arc::clone(&self.plan);
        let is_setup = plan.dag()[task].is(Flag::IsSetup);
        let direct = plan.dag().graph().downstream(task).iter().map(|owner| (owner.position(), *owner));
        let extra = plan.task(task).feeds.iter().map(|tally| (*tally, plan.extra(*tally).owner));
        for (tally, owner) in direct.chain(extra).filter(|(tally, _)| plan.shape(*tally).counts_instances) {
            if indexed(&plan, tally, task).is_none() {
                let upstream = &mut self.tallies[tally];
                upstream.expected = upstream.expected.saturating_add_signed(change);
                if is_setup {
                    upstream.expected_setups = upstream.expected_setups.saturating_add_signed(change);
                }
            }
            self.mark(owner, EVERY_INDEX);
        }
    }

    /// Adds an instance to the numbers, or takes it out of them.
    pub(super) fn count(&mut self, task: TaskIndex, cell: &Cell, by: impl Fn(u32, u32) -> u32) {
        let plan = self.plan.task(task);
        let is_unfinished = cell.is_unfinished();
        let is_parked = matches!(cell.state, Some(TaskState::Deferred | TaskState::AwaitingInput));
        let is_failed = cell.state.is_some_and(TaskState::is_bad_end);
        let change = |number: &mut u32, counts: bool| *number = by(*number, u32::from(counts));
        change(&mut self.tasks[task.position()].unfinished, is_unfinished);
        let totals = &mut self.totals;
        change(&mut totals.unfinished, is_unfinished);
        change(&mut totals.waiting_elsewhere, is_unfinished && (plan.may_wait_elsewhere || is_parked));
        change(&mut totals.met, is_unfinished && cell.is_met);
        change(&mut totals.would_settle, is_unfinished && cell.would_settle);
        change(&mut totals.failed_leaves, plan.is_leaf && is_failed);
        change(&mut totals.removed, cell.state == Some(TaskState::Removed));
    }

    fn count_everything(&mut self) {
        let plan = Arc::clone(&self.plan);
        for task in plan.in_order() {
            let instances = std::mem::take(&mut self.tasks[task.position()].instances);
            for cell in instances.as_slice() {
                self.count(*task, cell, u32::wrapping_add);
                if let Some(state) = cell.counted {
                    self.tasks[task.position()].finished.add(state);
                }
            }
            self.tasks[task.position()].instances = instances;
        }
        for tally in 0..plan.tallies() {
            self.tallies[tally] = self.add_up(tally);
        }
    }

    fn add_up(&self, tally: usize) -> Upstream {
        let shape = self.plan.shape(tally);
        let mut upstream = Upstream::default();
        for source in self.plan.sources(tally) {
            if indexed(&self.plan, tally, *source).is_none() {
                let task_run = &self.tasks[source.position()];
                let is_setup = self.plan.dag()[*source].is(Flag::IsSetup);
                upstream.count_all(&task_run.finished, is_setup);
                upstream.expect(task_run.instances.as_slice().len(), is_setup);
            }
        }
        if !shape.counts_instances {
            upstream.expected = shape.tasks;
            upstream.expected_setups = shape.setup_tasks;
        }
        upstream
    }

    /// Counts an instance anew for one that waits for it.
    fn feed(
        &mut self,
        plan: &Plan,
        tally: usize,
        owner: TaskIndex,
        (task, map_index): (TaskIndex, i32),
        (old, new): (Option<TaskState>, Option<TaskState>),
    ) {
        if let Some(source) = indexed(plan, tally, task) {
            self.mark_indexes(owner, source, map_index);
            return;
        }
        let is_setup = plan.dag()[task].is(Flag::IsSetup);
        let upstream = &mut self.tallies[tally];
        let before = *upstream;
        old.inspect(|state| upstream.discount(*state, is_setup));
        new.inspect(|state| upstream.count(*state, is_setup));
        // Beside indexes that are removed, it matters how many have succeeded.
        let is_counted_exactly = self.totals.removed > 0 && !plan.shape(tally).indexed.is_empty();
        if is_counted_exactly || before.may_be_judged_otherwise_than(upstream) {
            self.mark(owner, EVERY_INDEX);
        }
    }

    /// What those who are mapped over a task see of it.
    fn shown_to_mapped(&self, task: TaskIndex) -> (Option<TaskState>, Option<u64>) {
        let unexpanded = self.tasks[task.position()].instances.unexpanded();
        (unexpanded.and_then(|cell| cell.state), self.pushed_length(task))
    }

    pub(super) fn mark_mapped(&mut self, task: TaskIndex) {
        let plan = Arc::clone(&self.plan);
        for mapped in &plan.task(task).maps {
            self.mark(*mapped, EVERY_INDEX);
        }
    }

    pub(super) fn mark(&mut self, task: TaskIndex, map_index: i32) {
        self.is_at_rest = false;
        self.work.mark(self.plan.task(task).rank, map_index);
    }

    /// Marks those who look at this index of a task in the same mapped group.
    fn mark_indexes(&mut self, owner: TaskIndex, source: &IndexedSource, map_index: i32) {
        match self.looking_at(owner, source, map_index) {
            Some(indexes) => {
                indexes.chain([NOT_MAPPED]).for_each(|index| self.mark(owner, index));
            }
            None => self.mark(owner, EVERY_INDEX),
        }
    }
}

/// How a tally looks at a task, if index by index.
fn indexed(plan: &Plan, tally: usize, task: TaskIndex) -> Option<&IndexedSource> {
    let indexed = &plan.shape(tally).indexed;
    indexed.binary_search_by_key(&task, |source| source.task).ok().map(|place| &indexed[place])
}
