//! A run to which things happen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_model::dag::{Flag, TaskIndex};
use ferroflow_model::readiness::{
    Action, Decision, Facts, Instance, Past, PastTask, Plan, Run, Skips, WhenReady,
};
use ferroflow_model::state::TaskState;
use jiff::{SignedDuration, Timestamp};

use crate::readiness::chance::Chance;
use crate::readiness::sketch::{NOW, Sketch, beginning};

/// A run that is kept and told what changed, and all that is needed to load it anew.
pub(crate) struct Simulation {
    pub(crate) chance: Chance,
    pub(crate) run: Run,
    pub(crate) now: Timestamp,
    plan: Arc<Plan>,
    facts: Facts,
    results: BTreeSet<(TaskIndex, i32)>,
    skips: BTreeMap<(TaskIndex, i32), Skips>,
}

impl Simulation {
    pub(crate) fn new(sketch: &Sketch, mut chance: Chance) -> Self {
        let plan = sketch.plan();
        let facts = match chance.below(20) {
            0 => Facts { logical_date: Some(NOW + SignedDuration::from_secs(3)), ..Facts::default() },
            1 => {
                let timeout = Some(SignedDuration::from_secs(10));
                Facts { start_date: Some(NOW), timeout, ..Facts::default() }
            }
            _ => Facts::default(),
        };
        let run = Run::load(Arc::clone(&plan), facts, None, beginning(plan.dag()));
        Self { chance, run, now: NOW, plan, facts, results: BTreeSet::new(), skips: BTreeMap::new() }
    }

    /// The same run as somebody would find it who was not there before.
    pub(crate) fn loaded_anew(&self) -> Run {
        let mut instances: Vec<Instance> = self.run.instances().collect();
        instances.reverse();
        let mut run = Run::load(Arc::clone(&self.plan), self.facts, self.run.past().cloned(), instances);
        for (task, _) in self.plan.dag().indexed_tasks() {
            run.set_pushed(task, self.run.pushed(task));
        }
        for ((task, map_index), skips) in &self.skips {
            run.set_skips(*task, *map_index, Some(skips.clone()));
        }
        run
    }

    pub(crate) fn examine(&mut self, when_ready: WhenReady) -> Decision {
        let decision = self.run.examine(self.now, when_ready);
        for action in &decision.actions {
            if let Action::Forget { instance } = action {
                self.results.remove(&(instance.task, instance.map_index));
                self.skips.remove(&(instance.task, instance.map_index));
            }
        }
        decision
    }

    pub(crate) fn unfinished(&self) -> Vec<Instance> {
        let is_finished = |state: Option<TaskState>| state.is_some_and(TaskState::is_finished);
        self.run.instances().filter(|instance| !is_finished(instance.state)).collect()
    }

    /// Whatever can happen to a run: also what no well-behaved component would do.
    pub(crate) fn disturb(&mut self) {
        let instances: Vec<Instance> = self.run.instances().collect();
        if instances.is_empty() {
            return;
        }
        let instance = *self.chance.pick(&instances);
        match self.chance.below(20) {
            0..10 => self.proceed(),
            10 => {
                let state = *self.chance.pick(TaskState::ALL);
                self.go(instance, Some(state));
            }
            11 | 12 => self.go(instance, None),
            13 => self.clear_downstream_of(instance.task),
            14 => self.push(instance.task, instance.map_index),
            15 => self.branch(instance.task, instance.map_index),
            16 => self.look_back(),
            _ => self.now += SignedDuration::from_secs(i64::try_from(self.chance.below(4)).unwrap()),
        }
    }

    /// One that is on its way goes on.
    pub(crate) fn proceed(&mut self) {
        let on_their_way: Vec<Instance> =
            self.run.instances().filter(|instance| is_on_its_way(instance.state)).collect();
        if on_their_way.is_empty() {
            return;
        }
        let instance = *self.chance.pick(&on_their_way);
        let outcomes = [
            TaskState::Queued,
            TaskState::Running,
            TaskState::Success,
            TaskState::Success,
            TaskState::Success,
            TaskState::Failed,
            TaskState::Skipped,
            TaskState::UpForRetry,
            TaskState::UpForReschedule,
            TaskState::Deferred,
        ];
        let state = *self.chance.pick(&outcomes);
        self.end(instance, state);
    }

    /// An instance ends, with what it leaves behind.
    pub(crate) fn end(&mut self, instance: Instance, state: TaskState) {
        let Instance { task, map_index, .. } = instance;
        if state == TaskState::Success {
            if self.chance.percent(80) {
                self.push(task, map_index);
            }
            if self.plan.dag()[task].is(Flag::CanSkipDownstream) {
                self.branch(task, map_index);
            }
        }
        self.go(instance, Some(state));
    }

    fn go(&mut self, instance: Instance, state: Option<TaskState>) {
        let waits = matches!(state, None | Some(TaskState::UpForRetry | TaskState::UpForReschedule));
        let due = (waits && self.chance.percent(50))
            .then(|| self.now + SignedDuration::from_secs(i64::try_from(self.chance.below(6)).unwrap() - 2));
        assert!(self.run.set_state(instance.task, instance.map_index, state, due));
    }

    fn clear_downstream_of(&mut self, task: TaskIndex) {
        let mut cleared = vec![task];
        let mut place = 0;
        while let Some(task) = cleared.get(place).copied() {
            place += 1;
            for next in self.plan.dag().graph().downstream(task) {
                if !cleared.contains(next) {
                    cleared.push(*next);
                }
            }
        }
        let instances: Vec<Instance> =
            self.run.instances().filter(|instance| cleared.contains(&instance.task)).collect();
        for instance in instances {
            self.go(instance, None);
        }
    }

    fn push(&mut self, task: TaskIndex, map_index: i32) {
        if self.chance.percent(85) {
            self.results.insert((task, map_index));
        } else {
            self.results.remove(&(task, map_index));
        }
        let mut pushed = self.run.pushed(task);
        let results = self.results.iter().filter(|(other, index)| *other == task && *index >= 0).count();
        pushed.results = u64::try_from(results).unwrap();
        if map_index < 0 {
            pushed.length = self.chance.percent(95).then(|| u64::try_from(self.chance.below(5)).unwrap());
        }
        self.run.set_pushed(task, pushed);
    }

    fn branch(&mut self, task: TaskIndex, map_index: i32) {
        let downstream = self.plan.dag().graph().downstream(task);
        let mut some =
            || downstream.iter().copied().filter(|_| self.chance.percent(60)).collect::<Box<[_]>>();
        let skips = match (some(), some()) {
            (followed, _) if followed.len() % 2 == 0 => {
                Some(Skips { followed: Some(followed), skipped: Box::default() })
            }
            (_, skipped) if skipped.len() % 2 == 0 => Some(Skips { followed: None, skipped }),
            _ => None,
        };
        match &skips {
            Some(skips) => self.skips.insert((task, map_index), skips.clone()),
            None => self.skips.remove(&(task, map_index)),
        };
        self.run.set_skips(task, map_index, skips);
    }

    fn look_back(&mut self) {
        let mut task = || {
            let instances = u32::try_from(self.chance.below(3)).unwrap();
            let unsuccessful = u32::try_from(self.chance.below(2)).unwrap().min(instances);
            PastTask { instances, unsuccessful, was_there_before: self.chance.percent(50) }
        };
        let tasks = (0..self.plan.dag().tasks().len()).map(|_| task()).collect();
        let past = self.chance.percent(70).then_some(Past { logical_date: Some(NOW), tasks });
        self.run.set_past(past);
    }
}

pub(crate) fn is_on_its_way(state: Option<TaskState>) -> bool {
    matches!(
        state,
        Some(
            TaskState::Scheduled
                | TaskState::Queued
                | TaskState::Running
                | TaskState::Restarting
                | TaskState::Deferred
                | TaskState::AwaitingInput
        )
    )
}
