//! The runs of a history, moved on tick by tick.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_model::dag::{Dag, Flag, TaskIndex};
use ferroflow_model::readiness::{
    Action, Decision, Facts, Instance, Past, PastTask, Plan, Run, RunVerdict, Skips, WhenReady,
    first_instances,
};
use ferroflow_model::state::{RunState, RunType, TaskState};
use jiff::Timestamp;

use super::vector::{Change, Executed, RunRecord, SkipMixin, Tick, Vector};

/// An instance that is not there.
const ABSENT: &str = "(absent)";

type States = BTreeMap<(String, i32), Option<TaskState>>;

/// The runs of one DAG.
pub(super) struct History<'v> {
    vector: &'v Vector<'v>,
    plan: Arc<Plan>,
    runs: Vec<RunHistory>,
    now: Timestamp,
}

struct RunHistory {
    run_id: String,
    logical_date: Timestamp,
    run_type: RunType,
    state: RunState,
    run: Run,
    /// The instances that have pushed a result.
    results: BTreeSet<(TaskIndex, i32)>,
    skips: BTreeMap<(TaskIndex, i32), Skips>,
    tries: BTreeMap<(TaskIndex, i32), u32>,
}

impl<'v> History<'v> {
    pub(super) fn begin(vector: &'v Vector<'v>) -> Result<Self, String> {
        let dag = Dag::decode(vector.serialized_dag.get()).map_err(|problems| problems.to_string())?;
        let plan = Arc::new(Plan::new(Arc::new(dag)));
        let runs: Result<Vec<_>, String> =
            vector.runs.iter().map(|record| begin_run(&plan, record)).collect();
        Ok(Self { vector, plan, runs: runs?, now: Timestamp::constant(4_000_000_000, 0) })
    }

    pub(super) fn dag(&self) -> &Dag {
        self.plan.dag()
    }

    /// Whether runs begin with the instances that Airflow makes.
    pub(super) fn check_beginning(&self) -> Result<(), String> {
        let found: BTreeSet<(String, String, i32)> = self
            .runs
            .iter()
            .flat_map(|run| {
                states(&run.run).into_keys().map(|(task, index)| (run.run_id.clone(), task, index))
            })
            .collect();
        let expected: BTreeSet<_> = self.vector.initial_tis.iter().cloned().collect();
        difference("the first instances", &expected, &found)
    }

    /// What the user cleared, then one examination of every run.
    pub(super) fn examine(&mut self, tick: &Tick) -> Result<(), String> {
        if let Some(clear) = &tick.clear {
            let dag = Arc::clone(self.plan.dag());
            let run = self.run(&clear.run_id)?;
            for (task, map_index, _) in &clear.tis {
                if !run.run.set_state(find(&dag, task)?, *map_index, None, None) {
                    return Err(format!("{task}[{map_index}] is cleared, but not there"));
                }
            }
            run.state = RunState::Running;
        }
        let mut found = BTreeSet::new();
        for place in 0..self.runs.len() {
            if self.runs[place].state == RunState::Running {
                let past = self.past_of(place);
                self.runs[place].run.set_past(past);
                self.runs[place].examine(&self.plan, self.now, &mut found)?;
            }
        }
        let expected: BTreeSet<Change> = tick.decisions.iter().cloned().collect();
        difference("decisions", &expected, &found)?;
        let found: BTreeSet<(String, String)> =
            self.runs.iter().map(|run| (run.run_id.clone(), run.state.to_string())).collect();
        difference("states of runs", &tick.run_states.clone().into_iter().collect(), &found)
    }

    /// What the executor did, as it was recorded.
    pub(super) fn execute(&mut self, tick: &Tick) -> Result<(), String> {
        let dag = Arc::clone(self.plan.dag());
        for Executed { ti: (run_id, task, map_index), .. } in &tick.executed {
            let key = (find(&dag, task)?, *map_index);
            let run = self.run(run_id)?;
            run.results.remove(&key);
            run.skips.remove(&key);
            run.run.set_skips(key.0, key.1, None);
        }
        for executed in &tick.executed {
            let (run_id, task, map_index) = &executed.ti;
            let task = find(&dag, task)?;
            let skips = executed.skipmixin.as_ref().map(|skips| read_skips(&dag, skips)).transpose()?;
            let run = self.run(run_id)?;
            if executed.xcom {
                run.results.insert((task, *map_index));
            }
            let mut pushed = run.run.pushed(task);
            if *map_index < 0 && executed.task_map.is_some() {
                pushed.length = executed.task_map;
            }
            pushed.results = run.results_of(task);
            run.run.set_pushed(task, pushed);
            if let Some(skips) = skips {
                run.skips.insert((task, *map_index), skips.clone());
                run.run.set_skips(task, *map_index, Some(skips));
            }
        }
        for (run_id, task, map_index, from, to) in &tick.executor_changes {
            let task = find(&dag, task)?;
            let (from, to) = (read_state(from.as_deref())?, read_state(to.as_deref())?);
            let run = self.run(run_id)?;
            if run.run.instance(task, *map_index).map(|instance| instance.state) != Some(from) {
                return Err(format!("{run_id} {}[{map_index}] is not {from:?}", dag[task].task_id));
            }
            run.run.set_state(task, *map_index, to, None);
        }
        Ok(())
    }

    pub(super) fn check_end(&self) -> Result<(), String> {
        let end = &self.vector.r#final;
        for run in &self.runs {
            let name = |(task, index): (String, i32)| format!("{task}[{index}]");
            let found: BTreeSet<(String, Option<String>)> = states(&run.run)
                .into_iter()
                .map(|(key, state)| (name(key), state.map(|state| state.to_string())))
                .collect();
            let expected = end.ti_states.get(&run.run_id).cloned().unwrap_or_default();
            difference(&format!("final states of {}", run.run_id), &expected.into_iter().collect(), &found)?;
            let dag = self.plan.dag();
            let found: BTreeSet<(String, u32)> = run
                .tries
                .iter()
                .filter(|(_, tries)| **tries > 0)
                .map(|((task, index), tries)| (name((dag[*task].task_id.to_string(), *index)), *tries))
                .collect();
            let expected = end.try_numbers.get(&run.run_id).cloned().unwrap_or_default();
            difference(&format!("tries of {}", run.run_id), &expected.into_iter().collect(), &found)?;
            let state = end.run_states.get(&run.run_id).map(String::as_str);
            if state != Some(run.state.as_str()) {
                return Err(format!("{} ended as {}, expected {state:?}", run.run_id, run.state));
            }
        }
        Ok(())
    }

    fn run(&mut self, run_id: &str) -> Result<&mut RunHistory, String> {
        let run = self.runs.iter_mut().find(|run| run.run_id == run_id);
        run.ok_or_else(|| format!("there is no run {run_id}"))
    }

    /// What a run sees of the one before.
    fn past_of(&self, place: usize) -> Option<Past> {
        let dag = self.plan.dag();
        if !dag.tasks().iter().any(|task| task.is(Flag::DependsOnPast)) {
            return None;
        }
        let current = &self.runs[place];
        let earlier = || self.runs.iter().filter(|run| run.logical_date < current.logical_date);
        let before = earlier()
            .filter(|run| !dag.catchup || run.run_type != RunType::Manual)
            .max_by_key(|run| run.logical_date)?;
        let mut tasks = vec![PastTask::default(); dag.tasks().len()];
        for Instance { task, state, .. } in before.run.instances() {
            let task = &mut tasks[task.position()];
            task.instances += 1;
            task.unsuccessful += u32::from(!matches!(state, Some(TaskState::Success | TaskState::Skipped)));
        }
        for instance in earlier().flat_map(|run| run.run.instances()) {
            tasks[instance.task.position()].was_there_before = true;
        }
        Some(Past { logical_date: Some(before.logical_date), tasks })
    }
}

impl RunHistory {
    fn examine(
        &mut self,
        plan: &Arc<Plan>,
        now: Timestamp,
        changes: &mut BTreeSet<Change>,
    ) -> Result<(), String> {
        let before = states(&self.run);
        let mut anew = self.loaded_anew(plan);
        let decision = self.run.examine(now, WhenReady::Schedule);
        let whole = anew.examine(now, WhenReady::Schedule);
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
        self.count_tries(&decision);
        let after = states(&self.run);
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

    /// The same run as somebody would find it who was not there before.
    fn loaded_anew(&self, plan: &Arc<Plan>) -> Run {
        let facts = Facts { logical_date: Some(self.logical_date), ..Facts::default() };
        let mut run = Run::load(Arc::clone(plan), facts, self.run.past().cloned(), self.run.instances());
        for (task, _) in plan.dag().indexed_tasks() {
            run.set_pushed(task, self.run.pushed(task));
        }
        for ((task, map_index), skips) in &self.skips {
            run.set_skips(*task, *map_index, Some(skips.clone()));
        }
        run
    }

    fn count_tries(&mut self, decision: &Decision) {
        for action in &decision.actions {
            match action {
                Action::Schedule { instance, is_new_try, .. }
                | Action::Succeed { instance, is_new_try, .. }
                | Action::Defer { instance, is_new_try, .. } => {
                    *self.tries.entry((instance.task, instance.map_index)).or_default() +=
                        u32::from(*is_new_try);
                }
                Action::BecomeFirst { task } | Action::Delete { task } => {
                    let tries = self.tries.remove(&(*task, -1)).unwrap_or(0);
                    self.tries.entry((*task, 0)).or_insert(tries);
                }
                Action::Forget { instance } => {
                    self.results.remove(&(instance.task, instance.map_index));
                    self.skips.remove(&(instance.task, instance.map_index));
                }
                Action::Settle { .. } | Action::Overwrite { .. } | Action::Create { .. } => {}
            }
        }
    }

    fn results_of(&self, task: TaskIndex) -> u64 {
        let results = self.results.iter().filter(|(other, index)| *other == task && *index >= 0).count();
        u64::try_from(results).unwrap_or(u64::MAX)
    }
}

fn begin_run(plan: &Arc<Plan>, record: &RunRecord) -> Result<RunHistory, String> {
    let logical_date: Timestamp =
        record.logical_date.parse().map_err(|_| "a date cannot be read".to_owned())?;
    let run_type: RunType = record.run_type.parse().map_err(|_| "a type of run cannot be read".to_owned())?;
    let instances = first_instances(plan.dag(), run_type, Some(logical_date));
    let instances = instances.into_iter().flat_map(|(task, indexes)| {
        indexes.map(move |map_index| Instance { task, map_index, state: None, due: None })
    });
    let facts = Facts { logical_date: Some(logical_date), ..Facts::default() };
    Ok(RunHistory {
        run_id: record.run_id.clone(),
        logical_date,
        run_type,
        state: RunState::Running,
        run: Run::load(Arc::clone(plan), facts, None, instances),
        results: BTreeSet::new(),
        skips: BTreeMap::new(),
        tries: BTreeMap::new(),
    })
}

fn states(run: &Run) -> States {
    let dag = run.plan().dag();
    run.instances()
        .map(|found| ((dag[found.task].task_id.to_string(), found.map_index), found.state))
        .collect()
}

fn find(dag: &Dag, task_id: &str) -> Result<TaskIndex, String> {
    dag.find(task_id).ok_or_else(|| format!("there is no task {task_id}"))
}

fn read_state(word: Option<&str>) -> Result<Option<TaskState>, String> {
    word.map(|word| word.parse().map_err(|error| format!("{error}"))).transpose()
}

fn read_skips(dag: &Dag, skips: &SkipMixin) -> Result<Skips, String> {
    let find_all = |ids: &Vec<String>| ids.iter().map(|id| find(dag, id)).collect::<Result<Box<[_]>, _>>();
    Ok(Skips {
        followed: skips.followed.as_ref().map(find_all).transpose()?,
        skipped: find_all(&skips.skipped)?,
    })
}

/// Tells what is in one set but not in the other.
fn difference<T: Ord + std::fmt::Debug>(
    what: &str,
    expected: &BTreeSet<T>,
    found: &BTreeSet<T>,
) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let lines = |title: &str, only: Vec<&T>| {
        let lines: Vec<String> = only.iter().map(|item| format!("\n    {title} {item:?}")).collect();
        lines.concat()
    };
    let missing = lines("expected", expected.difference(found).collect());
    let surplus = lines("found   ", found.difference(expected).collect());
    Err(format!("{what} differ{missing}{surplus}"))
}
