//! The runs of a history, moved on tick by tick.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_model::dag::{Dag, Flag, TaskIndex};
use ferroflow_model::readiness::{Instance, Past, PastTask, Plan, Skips, WhenReady};
use ferroflow_model::state::{RunState, RunType, TaskState};
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::run::{Examination, RunHistory};
use super::vector::{Change, Clear, Executed, SkipMixin, Tick, Time, Vector};

/// The time of a history that tells none: everything is due.
const LATER_THAN_EVERYTHING: Timestamp = Timestamp::constant(4_000_000_000, 0);

/// The runs of one DAG.
pub(super) struct History<'v> {
    vector: &'v Vector<'v>,
    plan: Arc<Plan>,
    runs: Vec<RunHistory>,
}

impl<'v> History<'v> {
    pub(super) fn begin(vector: &'v Vector<'v>) -> Result<Self, String> {
        let plan = plan(vector.serialized_dag)?;
        let runs: Result<Vec<_>, String> =
            vector.runs.iter().map(|record| RunHistory::begin(&plan, record)).collect();
        Ok(Self { vector, plan, runs: runs? })
    }

    pub(super) fn dag(&self) -> &Dag {
        self.plan.dag()
    }

    /// The runs that Airflow ended although there was more to do.
    pub(super) fn ended_too_early(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().filter(|run| run.ended_too_early).map(|run| &*run.run_id)
    }

    /// Whether runs begin with the instances that Airflow makes.
    pub(super) fn check_beginning(&self) -> Result<(), String> {
        let found: BTreeSet<(String, String, i32)> = self
            .runs
            .iter()
            .flat_map(|run| run.states().into_keys().map(|(task, index)| (run.run_id.clone(), task, index)))
            .collect();
        let expected: BTreeSet<_> = self.vector.initial_tis.iter().cloned().collect();
        difference("the first instances", &expected, &found)
    }

    /// What the user cleared, then one examination of every run.
    pub(super) fn examine(&mut self, tick: &Tick) -> Result<(), String> {
        if let Some(clear) = &tick.clear {
            self.clear(clear)?;
        }
        if let Some(document) = &tick.serialized_dag {
            self.plan = plan(document)?;
            self.runs.iter_mut().for_each(|run| run.move_to(&self.plan));
        }
        let mut found = BTreeSet::new();
        for place in 0..self.runs.len() {
            if self.runs[place].state == RunState::Running {
                let past = self.past_of(place);
                let run = &mut self.runs[place];
                run.run.set_past(past);
                let how = Examination {
                    now: tick.now.map_or(LATER_THAN_EVERYTHING, |now| now.0),
                    when_ready: if tick.paused { WhenReady::Leave } else { WhenReady::Schedule },
                    is_reconciled: tick.reconciled.contains(&run.run_id),
                    recorded: tick.run_states.get(&run.run_id).and_then(|state| state.parse().ok()),
                };
                run.examine(how, &mut found)?;
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
            let is_this = |(of, name, index, _): &&(String, String, i32, Time)| {
                of == run_id && *index == *map_index && **name == *dag[task].task_id
            };
            let due = tick.dues.iter().find(is_this).map(|(.., due)| due.0);
            run.run.set_state(task, *map_index, to, due);
        }
        Ok(())
    }

    pub(super) fn check_end(&self) -> Result<(), String> {
        let end = &self.vector.r#final;
        for run in &self.runs {
            let name = |(task, index): (String, i32)| format!("{task}[{index}]");
            let found: BTreeSet<(String, Option<String>)> = run
                .states()
                .into_iter()
                .map(|(key, state)| (name(key), state.map(|state| state.to_string())))
                .collect();
            let expected = end.ti_states.get(&run.run_id).cloned().unwrap_or_default();
            difference(&format!("final states of {}", run.run_id), &expected.into_iter().collect(), &found)?;
            let found: BTreeSet<(String, u32)> =
                run.all_tries().into_iter().map(|(key, tries)| (name(key), tries)).collect();
            let expected = end.try_numbers.get(&run.run_id).cloned().unwrap_or_default();
            difference(&format!("tries of {}", run.run_id), &expected.into_iter().collect(), &found)?;
            let state = end.run_states.get(&run.run_id).map(String::as_str);
            if state != Some(run.state.as_str()) {
                return Err(format!("{} ended as {}, expected {state:?}", run.run_id, run.state));
            }
        }
        Ok(())
    }

    fn clear(&mut self, clear: &Clear) -> Result<(), String> {
        let dag = Arc::clone(self.plan.dag());
        let run = self.run(&clear.run_id)?;
        let states: BTreeMap<_, _> =
            clear.changes.iter().map(|(_, task, index, _, to)| ((task, index), to.as_deref())).collect();
        for (task, map_index, _) in &clear.tis {
            let state = read_state(states.get(&(task, map_index)).copied().flatten())?;
            if !run.run.set_state(find(&dag, task)?, *map_index, state, None) {
                return Err(format!("{task}[{map_index}] is cleared, but not there"));
            }
        }
        run.state = RunState::Running;
        let start_date = clear.start_date.map(|time| time.0);
        if start_date.is_some() && start_date != run.facts.start_date {
            run.restart(start_date);
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
        let date_of = |run: &RunHistory| run.facts.logical_date;
        let current = date_of(&self.runs[place])?;
        let earlier = || self.runs.iter().filter(|run| date_of(run).is_some_and(|date| date < current));
        let before = earlier()
            .filter(|run| !dag.catchup || run.run_type != RunType::Manual)
            .max_by_key(|run| date_of(run))?;
        let mut tasks = vec![PastTask::default(); dag.tasks().len()];
        for Instance { task, state, .. } in before.run.instances() {
            let task = &mut tasks[task.position()];
            task.instances += 1;
            task.unsuccessful += u32::from(!matches!(state, Some(TaskState::Success | TaskState::Skipped)));
        }
        for instance in earlier().flat_map(|run| run.run.instances()) {
            tasks[instance.task.position()].was_there_before = true;
        }
        Some(Past { logical_date: date_of(before), tasks })
    }
}

fn plan(document: &RawValue) -> Result<Arc<Plan>, String> {
    let dag = Dag::decode(document.get()).map_err(|problems| problems.to_string())?;
    Ok(Arc::new(Plan::new(Arc::new(dag))))
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
