//! One run of a history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_model::dag::{Dag, TaskIndex};
use ferroflow_model::readiness::{
    Action, Decision, Facts, Instance, Plan, Run, RunVerdict, Skips, WhenReady, first_instances, reconcile,
};
use ferroflow_model::state::{RunState, RunType, TaskState, is_unfinished};
use jiff::Timestamp;

use super::vector::{Change, RunRecord};

/// An instance that is not there.
const ABSENT: &str = "(absent)";

pub(super) type States = BTreeMap<(String, i32), Option<TaskState>>;

pub(super) struct RunHistory {
    pub(super) run_id: String,
    pub(super) run_type: RunType,
    pub(super) facts: Facts,
    pub(super) state: RunState,
    pub(super) run: Run,
    /// The instances that have pushed a result.
    pub(super) results: BTreeSet<(TaskIndex, i32)>,
    pub(super) skips: BTreeMap<(TaskIndex, i32), Skips>,
    pub(super) tries: BTreeMap<(TaskIndex, i32), u32>,
    /// Whether Airflow ended it although there was more to do.
    pub(super) ended_too_early: bool,
    /// Instances of tasks that are no longer in the DAG, and how often each was tried.
    gone: BTreeMap<(String, i32), (Option<TaskState>, u32)>,
}

/// How an examination is to be made.
#[derive(Clone, Copy)]
pub(super) struct Examination {
    pub(super) now: Timestamp,
    pub(super) when_ready: WhenReady,
    pub(super) is_reconciled: bool,
    /// What Airflow made of the run.
    pub(super) recorded: Option<RunState>,
}

impl RunHistory {
    pub(super) fn begin(plan: &Arc<Plan>, record: &RunRecord) -> Result<Self, String> {
        let run_type: RunType =
            record.run_type.parse().map_err(|_| "a type of run cannot be read".to_owned())?;
        let facts = Facts {
            logical_date: record.logical_date.map(|time| time.0),
            start_date: record.start_date.map(|time| time.0),
            timeout: plan.dag().dagrun_timeout,
        };
        let instances = first_instances(plan.dag(), run_type, facts.logical_date);
        Ok(Self {
            run_id: record.run_id.clone(),
            run_type,
            facts,
            state: RunState::Running,
            run: Run::load(Arc::clone(plan), facts, None, instances.into_iter().flat_map(new_instances)),
            results: BTreeSet::new(),
            skips: BTreeMap::new(),
            tries: BTreeMap::new(),
            ended_too_early: false,
            gone: BTreeMap::new(),
        })
    }

    pub(super) fn examine(&mut self, how: Examination, changes: &mut BTreeSet<Change>) -> Result<(), String> {
        let before = self.states();
        if how.is_reconciled {
            self.reconcile();
        }
        let mut anew = self.loaded(self.run.instances());
        let decision = self.run.examine(how.now, how.when_ready);
        let whole = anew.examine(how.now, how.when_ready);
        if whole != decision {
            return Err(format!("decided step by step: {decision:?}\nbut loaded anew: {whole:?}"));
        }
        self.state = match decision.run {
            RunVerdict::Running | RunVerdict::NotBefore(_) => RunState::Running,
            RunVerdict::Success => RunState::Success,
            RunVerdict::TasksFailed | RunVerdict::TimedOut | RunVerdict::Deadlocked { .. } => {
                RunState::Failed
            }
        };
        if how.recorded.is_some_and(|recorded| self.is_ended_too_early(&decision, recorded)) {
            self.state = how.recorded.unwrap_or(self.state);
            self.ended_too_early = true;
        }
        self.remove_gone(decision.run);
        self.count_tries(&decision);
        let after = self.states();
        let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let word = |states: &States| match states.get(key) {
                None => Some(ABSENT.to_owned()),
                Some(state) => state.map(|state| state.to_string()),
            };
            let (from, to) = (word(&before), word(&after));
            if from != to {
                changes.insert((self.run_id.clone(), key.0.clone(), key.1, from, to));
            }
        }
        Ok(())
    }

    /// Where all instances stand.
    pub(super) fn states(&self) -> States {
        let dag = self.run.plan().dag();
        let gone = self.gone.iter().map(|(key, (state, _))| (key.clone(), *state));
        self.run
            .instances()
            .map(|found| ((dag[found.task].task_id.to_string(), found.map_index), found.state))
            .chain(gone)
            .collect()
    }

    /// How often each instance was tried, if ever.
    pub(super) fn all_tries(&self) -> BTreeMap<(String, i32), u32> {
        let dag = self.run.plan().dag();
        let tries = self.tries.iter().map(|((task, index), tries)| ((name(dag, *task), *index), *tries));
        let gone = self.gone.iter().map(|(key, (_, tries))| (key.clone(), *tries));
        tries.chain(gone).filter(|(_, tries)| *tries > 0).collect()
    }

    pub(super) fn results_of(&self, task: TaskIndex) -> u64 {
        let results = self.results.iter().filter(|(other, index)| *other == task && *index >= 0).count();
        u64::try_from(results).unwrap_or(u64::MAX)
    }

    /// The run began anew, at another time.
    pub(super) fn restart(&mut self, start_date: Option<Timestamp>) {
        self.facts.start_date = start_date;
        self.run = self.loaded(self.run.instances());
    }

    /// The DAG is now another one.
    pub(super) fn move_to(&mut self, plan: &Arc<Plan>) {
        let old = Arc::clone(self.run.plan().dag());
        let moved = |task: TaskIndex| plan.dag().find(&old[task].task_id);
        let (mut instances, mut pushed) = (Vec::new(), Vec::new());
        for instance in self.run.instances() {
            let key = (instance.task, instance.map_index);
            if let Some(task) = moved(instance.task) {
                instances.push(Instance { task, ..instance });
            } else {
                let tries = self.tries.get(&key).copied().unwrap_or(0);
                self.gone.insert((name(&old, key.0), key.1), (instance.state, tries));
            }
        }
        for (task, _) in old.indexed_tasks() {
            pushed.extend(moved(task).map(|to| (to, self.run.pushed(task))));
        }
        let key = |(task, index): &(TaskIndex, i32)| Some((moved(*task)?, *index));
        let skips = |skips: &Skips| {
            let all = |tasks: &[TaskIndex]| tasks.iter().filter_map(|task| moved(*task)).collect();
            Skips { followed: skips.followed.as_deref().map(all), skipped: all(&skips.skipped) }
        };
        self.results = self.results.iter().filter_map(key).collect();
        self.tries = self.tries.iter().filter_map(|(at, tries)| Some((key(at)?, *tries))).collect();
        self.skips = self.skips.iter().filter_map(|(at, of)| Some((key(at)?, skips(of)))).collect();
        self.facts.timeout = plan.dag().dagrun_timeout;
        self.run = Run::load(Arc::clone(plan), self.facts, None, instances);
        for (task, pushed) in pushed {
            self.run.set_pushed(task, pushed);
        }
        for ((task, map_index), skips) in &self.skips {
            self.run.set_skips(*task, *map_index, Some(skips.clone()));
        }
    }

    /// Makes the instances those that the DAG asks for.
    fn reconcile(&mut self) {
        let found = reconcile(&self.run, self.run_type);
        for (instance, state) in found.changed {
            let due = self.run.instance(instance.task, instance.map_index).and_then(|instance| instance.due);
            self.run.set_state(instance.task, instance.map_index, state, due);
        }
        if !found.created.is_empty() {
            let created = found.created.into_iter().flat_map(new_instances);
            self.run = self.loaded(self.run.instances().chain(created));
        }
    }

    /// The same run, with these instances, as somebody would find it who was not there before.
    fn loaded(&self, instances: impl Iterator<Item = Instance>) -> Run {
        let plan = self.run.plan();
        let mut run = Run::load(Arc::clone(plan), self.facts, self.run.past().cloned(), instances);
        for (task, _) in plan.dag().indexed_tasks() {
            run.set_pushed(task, self.run.pushed(task));
        }
        for ((task, map_index), skips) in &self.skips {
            run.set_skips(*task, *map_index, Some(skips.clone()));
        }
        run
    }

    /// Whoever finds instances of a task that is no longer in the DAG removes them.
    fn remove_gone(&mut self, verdict: RunVerdict) {
        for (state, _) in self.gone.values_mut() {
            match verdict {
                RunVerdict::NotBefore(_) => {}
                RunVerdict::TimedOut if state.is_some_and(TaskState::is_finished) => {}
                RunVerdict::TimedOut => *state = Some(TaskState::Skipped),
                _ => *state = Some(TaskState::Removed),
            }
        }
    }

    /// Whether Airflow has ended the run without regard to instances that it has just made, and that had yet to run
    /// or failed at once. We do not.
    fn is_ended_too_early(&self, decision: &Decision, recorded: RunState) -> bool {
        let made = decision.actions.iter().filter_map(|action| match action {
            Action::Create { task, first, end, .. } => Some((*task, *first..*end)),
            _ => None,
        });
        let mut states = made.flat_map(|(task, indexes)| {
            indexes.filter_map(move |index| self.run.instance(task, index)).map(|instance| instance.state)
        });
        match (recorded, self.state) {
            // One that does nothing has succeeded by now, but was still to start.
            (RunState::Success | RunState::Failed, RunState::Running) => {
                states.any(|state| is_unfinished(state) || state == Some(TaskState::Success))
            }
            (RunState::Success, RunState::Failed) => {
                states.any(|state| state.is_some_and(TaskState::is_bad_end))
            }
            _ => false,
        }
    }

    fn count_tries(&mut self, decision: &Decision) {
        for action in &decision.actions {
            match action {
                Action::Schedule { instance, is_new_try, .. }
                | Action::Defer { instance, is_new_try, .. } => {
                    *self.tries.entry((instance.task, instance.map_index)).or_default() +=
                        u32::from(*is_new_try);
                }
                Action::Succeed { instance, .. } => {
                    *self.tries.entry((instance.task, instance.map_index)).or_default() += 1;
                }
                Action::BecomeFirst { task, .. } => {
                    let tries = self.tries.remove(&(*task, -1)).unwrap_or(0);
                    self.tries.insert((*task, 0), tries);
                }
                Action::Delete { task, .. } => {
                    self.tries.remove(&(*task, -1));
                }
                Action::Forget { instance } => {
                    self.results.remove(&(instance.task, instance.map_index));
                    self.skips.remove(&(instance.task, instance.map_index));
                }
                Action::Settle { .. } | Action::Overwrite { .. } | Action::Create { .. } => {}
            }
        }
    }
}

fn new_instances((task, indexes): (TaskIndex, std::ops::Range<i32>)) -> impl Iterator<Item = Instance> {
    indexes.map(move |map_index| Instance { task, map_index, state: None, due: None })
}

fn name(dag: &Dag, task: TaskIndex) -> String {
    dag[task].task_id.to_string()
}
