//! Whether all is done that can be, and whether that is consistent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ferroflow_model::state::{RunState, TaskState, is_unfinished};

use crate::simulation::schedulers::Simulation;
use crate::simulation::snapshot::{InstanceRow, RunRow};
use crate::simulation::workers::locked;
use crate::simulation::world::{Kind, PlannedDag, PlannedTask};

impl Simulation {
    /// Whether nothing is left that can go on.
    pub(crate) fn is_over(&self) -> bool {
        locked(&self.field).processes.is_empty()
            && self.seen.waiting_for_run.is_empty()
            && self.seen.runs.iter().all(|(id, run)| run.state.is_finished() || self.is_excused(*id, run))
    }

    /// A run that waits for an earlier one, which nobody has made good, waits for ever, as Airflow has it; and so do
    /// those behind it.
    fn is_excused(&self, id: i64, run: &RunRow) -> bool {
        let dag = self.world.dag(&run.dag_id).unwrap();
        match run.state {
            RunState::Running => self.waits_for_past(id, dag),
            RunState::Queued => {
                let running = self.seen.runs.iter().filter(|(other, row)| {
                    row.dag_id == run.dag_id
                        && row.state == RunState::Running
                        && self.waits_for_past(**other, dag)
                });
                running.count() >= usize::try_from(dag.max_active_runs).unwrap()
            }
            RunState::Success | RunState::Failed => true,
        }
    }

    /// Whether all that is unfinished in a run waits for a run before it.
    fn waits_for_past(&self, id: i64, dag: &PlannedDag) -> bool {
        let unfinished: BTreeMap<&str, Vec<&InstanceRow>> = self.of_run(id).into_iter().fold(
            BTreeMap::new(),
            |mut found: BTreeMap<&str, Vec<&InstanceRow>>, (task, row)| {
                if is_unfinished(row.state) {
                    found.entry(task).or_default().push(row);
                }
                found
            },
        );
        let mut waiting: BTreeSet<&str> = BTreeSet::new();
        for task in &dag.tasks {
            let waits = task.depends_on_past && self.is_past_unsuccessful(id, task)
                || task.upstream.iter().any(|before| waiting.contains(before.as_str()));
            let rows = unfinished.get(task.id.as_str());
            if waits && rows.is_some_and(|rows| rows.iter().all(|row| may_wait_for_past(row.state))) {
                waiting.insert(&task.id);
            }
        }
        let extra_waits = waiting.contains(dag.tasks[0].id.as_str());
        !waiting.is_empty()
            && unfinished.keys().all(|task| waiting.contains(task) || *task == "extra" && extra_waits)
    }

    fn is_past_unsuccessful(&self, id: i64, task: &PlannedTask) -> bool {
        let own = &self.seen.runs[&id];
        self.seen.runs.iter().any(|(other, run)| {
            run.dag_id == own.dag_id
                && *other != id
                && run.logical_date < own.logical_date
                && self.of_run(*other).iter().any(|(name, row)| {
                    *name == task.id && !matches!(row.state, Some(TaskState::Success | TaskState::Skipped))
                })
        })
    }

    fn of_run(&self, id: i64) -> Vec<(&str, &InstanceRow)> {
        let all = self.seen.instances.iter().filter(|(key, _)| key.run == id);
        all.map(|(key, row)| (key.task_id.as_str(), row)).collect()
    }

    /// What is left, for somebody to read.
    pub(crate) fn unfinished(&self) -> String {
        let mut words = String::new();
        for (id, run) in self.seen.runs.iter().filter(|(id, run)| !self.is_excused(**id, run)) {
            write!(words, "\n  run {id} ({} of {}) is {}:", run.run_id, run.dag_id, run.state).unwrap();
            for (task, row) in self.of_run(*id) {
                write!(words, " {task} {}", row.state.map_or("none", TaskState::as_str)).unwrap();
            }
        }
        for (pid, process) in &locked(&self.field).processes {
            write!(words, "\n  process {pid}: {process:?}").unwrap();
        }
        if !self.seen.waiting_for_run.is_empty() {
            write!(words, "\n  {:?} have no run for their asset", self.seen.waiting_for_run).unwrap();
        }
        words
    }

    /// What must hold in the end.
    pub(crate) fn last_look(&self) -> Result<(), String> {
        for (id, run) in &self.seen.runs {
            if run.state.is_finished() && !self.touched.contains(id) {
                self.is_consistent(*id, run)?;
            }
        }
        Ok(())
    }

    fn is_consistent(&self, id: i64, run: &RunRow) -> Result<(), String> {
        let dag = self.world.dag(&run.dag_id).unwrap();
        let rows = self.of_run(id);
        // What a DAG that was stored anew has more comes after its first task.
        let has_extra = rows.iter().any(|(task, _)| *task == "extra");
        let is_followed = |task: &str| {
            has_extra && task == dag.tasks[0].id
                || dag.tasks.iter().any(|other| other.upstream.iter().any(|id| id == task))
        };
        let has_unfinished = rows.iter().any(|(_, row)| is_unfinished(row.state));
        let has_failed = rows.iter().any(|(task, row)| {
            !is_followed(task) && matches!(row.state, Some(TaskState::Failed | TaskState::UpstreamFailed))
        });
        let has_branch = dag.tasks.iter().any(|task| task.kind == Kind::Branch);
        let is_right = match run.state {
            RunState::Success => !has_unfinished && !has_failed,
            // A task that was on its way when a branch was chosen without it is skipped when nothing else is left; that
            // ends the run as a deadlock, as in Airflow.
            _ => has_unfinished || has_failed || dag.timeout.is_some() || has_branch,
        };
        if is_right { Ok(()) } else { Err(format!("run {id} is {}, and has {rows:?}", run.state)) }
    }
}

/// Whether a run before is asked for in this state: also another try waits for it.
fn may_wait_for_past(state: Option<TaskState>) -> bool {
    matches!(state, None | Some(TaskState::UpForRetry | TaskState::UpForReschedule))
}
