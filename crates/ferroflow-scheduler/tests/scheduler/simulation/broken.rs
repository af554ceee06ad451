//! Proof that the checks find what they look for: worlds in which something is broken on purpose.

use ferroflow_scheduler::cycle::Step;

use crate::simulation::schedulers::{Simulation, Told};
use crate::simulation::workers::{Stage, locked};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// An executor starts what it was given twice.
    RunsTwice,
    /// Whatever waits for a slot is queued.
    NoLimits,
    /// Whatever waits for its run to start starts.
    NoRunLimits,
    /// What has succeeded is queued again.
    ComesBack,
    /// Another run is made for an event that one was made for.
    ConsumesTwice,
    /// There is nobody who schedules any more.
    Deserted,
    /// A run has ended before its tasks.
    EndsEarly,
}

impl Simulation {
    /// Breaks what is to be broken, right after a scheduler's step.
    pub(crate) async fn break_something(&mut self, step: Step) {
        let statement = match self.broken {
            None => return,
            // Where nothing else is wrong with it.
            Some(Broken::NoLimits) if step != Step::QueueTasks => return,
            Some(Broken::NoRunLimits) if step != Step::StartRuns => return,
            Some(Broken::RunsTwice) => return self.run_twice(),
            Some(Broken::Deserted) => return self.desert(),
            Some(Broken::NoLimits) => "UPDATE task_instance SET state = 'queued' WHERE state = 'scheduled'",
            Some(Broken::NoRunLimits) => "UPDATE dag_run SET state = 'running' WHERE state = 'queued'",
            Some(Broken::ComesBack) => {
                "UPDATE task_instance SET state = 'queued' WHERE state = 'success' AND task_id = 't0'"
            }
            Some(Broken::ConsumesTwice) => {
                "INSERT OR IGNORE INTO dagrun_asset_event (dag_run_id, event_id)
                 SELECT run.id, event_id
                 FROM dagrun_asset_event
                 JOIN dag_run AS other ON other.id = dag_run_id
                 JOIN dag_run AS run ON run.dag_id = other.dag_id"
            }
            Some(Broken::EndsEarly) => {
                "UPDATE dag_run SET state = 'success'
                 WHERE state = 'running' AND NOT EXISTS (
                     SELECT 1 FROM task_instance AS ti
                     WHERE ti.dag_id = dag_run.dag_id AND ti.run_id = dag_run.run_id
                         AND (ti.state IS NULL OR ti.state IN ('queued', 'running', 'scheduled', 'up_for_retry'))
                 )"
            }
        };
        self.place.change(statement).await;
    }

    fn run_twice(&mut self) {
        let mut field = locked(&self.field);
        let live = field.processes.values().find(|process| process.stage == Stage::Live).cloned();
        if let Some(process) = live {
            field.processes.insert(-1, process);
        }
    }

    fn desert(&mut self) {
        if self.is_calm {
            self.schedulers.iter_mut().for_each(|actor| actor.scheduler = None);
        }
    }
}

/// The first violation that is found in any of some worlds.
fn found(broken: Broken) -> String {
    let told = (0..60).map(|seed| crate::simulation::run_with(seed, Some(broken)));
    let violations = told.filter_map(|told: Told| told.violation);
    violations.into_iter().next().unwrap_or_else(|| panic!("nobody has noticed that {broken:?}"))
}

fn assert_found(broken: Broken, start: &str) {
    let violation = found(broken);
    assert!(violation.starts_with(start), "{broken:?}: {violation}");
}

#[test]
fn a_try_that_runs_twice_is_found() {
    assert_found(Broken::RunsTwice, "I1: ");
}

#[test]
fn a_limit_that_is_ignored_is_found() {
    assert_found(Broken::NoLimits, "I3: ");
    assert_found(Broken::NoRunLimits, "I3: ");
}

#[test]
fn what_comes_back_by_nobodys_hand_is_found() {
    assert_found(Broken::ComesBack, "I2: ");
}

#[test]
fn an_event_that_is_consumed_twice_is_found() {
    assert_found(Broken::ConsumesTwice, "I5: ");
}

#[test]
fn what_nobody_looks_after_is_found() {
    assert_found(Broken::Deserted, "I6: ");
}

#[test]
fn a_run_that_ends_by_the_wrong_hand_is_found() {
    assert_found(Broken::EndsEarly, "I2: ");
}
