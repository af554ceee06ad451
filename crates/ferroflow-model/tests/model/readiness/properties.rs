//! What holds for every run, whatever happens to it. Each case follows from its number.

use std::collections::BTreeSet;

use ferroflow_model::readiness::{Action, Decision, RunVerdict, Waiting, WhenReady};
use ferroflow_model::state::{TaskState, is_schedulable};
use ferroflow_model::state_machine::{Actor, TaskEvent, next_task_state};
use jiff::SignedDuration;

use crate::readiness::chance::Chance;
use crate::readiness::random_dag::{Elsewhere, random_dag};
use crate::readiness::simulation::{Simulation, is_on_its_way};

const CASES: u64 = 1500;

fn simulation(seed: u64, elsewhere: Elsewhere) -> Simulation {
    let mut chance = Chance::new(seed);
    let sketch = random_dag(&mut chance, 14, elsewhere);
    Simulation::new(&sketch, chance)
}

/// The decision that follows from what changed is the one that follows from everything.
#[test]
fn step_by_step_is_decided_as_from_scratch() {
    let (mut decided, mut rested) = (0, 0);
    for seed in 0..CASES {
        let mut simulation = simulation(seed, Elsewhere::Allowed);
        let mut last = None;
        for step in 0..25 {
            for _ in 0..simulation.chance.below(6) {
                simulation.disturb();
            }
            let when_ready =
                if simulation.chance.percent(90) { WhenReady::Schedule } else { WhenReady::Leave };
            let is_needed = simulation.run.needs_examination(simulation.now);
            let mut anew = simulation.loaded_anew();
            let whole = anew.examine(simulation.now, when_ready);
            let stepwise = simulation.examine(when_ready);
            assert_eq!(stepwise, whole, "case {seed}, step {step}");
            assert!(simulation.run.instances().eq(anew.instances()), "case {seed}, step {step}");
            check(&stepwise, seed);
            // Whether the DAG is paused is not something that the run knows of.
            if let Some(last) = last.filter(|_| when_ready == WhenReady::Schedule && !is_needed) {
                let is_old = stepwise.actions.is_empty() && stepwise.run == last;
                assert!(is_old, "case {seed}, step {step}: {last:?}, {stepwise:?}");
                rested += 1;
            }
            last = (when_ready == WhenReady::Schedule).then_some(stepwise.run);
            if stepwise.run == RunVerdict::TimedOut {
                break;
            }
            let next = simulation.run.next_due(simulation.now);
            let is_ahead = next.is_none_or(|next| next > simulation.now);
            assert!(is_ahead || when_ready == WhenReady::Leave, "case {seed}, step {step}: {next:?}");
            decided += stepwise.actions.len();
        }
    }
    assert!(decided > 30_000 && rested > 1_000, "{decided} actions, {rested} times nothing to do");
}

/// Nothing is both ready and finished, and nothing is decided twice.
fn check(decision: &Decision, seed: u64) {
    let mut settled = BTreeSet::new();
    let mut started = BTreeSet::new();
    for action in &decision.actions {
        match action {
            Action::Settle { instance, from, to } | Action::Overwrite { instance, from, to } => {
                assert!(to.is_finished() && *from != Some(*to), "case {seed}: {action:?}");
                assert!(is_a_step_of_the_scheduler(*from, *to), "case {seed}: {action:?}");
                settled.insert(*instance);
            }
            Action::Schedule { instance, from, is_new_try }
            | Action::Defer { instance, from, is_new_try } => {
                assert!(is_schedulable(*from), "case {seed}: {action:?}");
                assert_eq!(*is_new_try, *from != Some(TaskState::UpForReschedule), "case {seed}");
                assert!(started.insert(*instance), "case {seed}: {action:?} twice");
            }
            Action::Succeed { instance, from } => {
                assert!(is_schedulable(*from), "case {seed}: {action:?}");
                assert!(started.insert(*instance), "case {seed}: {action:?} twice");
            }
            Action::Create { first, end, .. } => assert!(first < end, "case {seed}: {action:?}"),
            Action::Forget { .. } | Action::BecomeFirst { .. } | Action::Delete { .. } => {}
        }
    }
    assert!(settled.is_disjoint(&started), "case {seed}: {decision:?}");
}

/// Whether the table of states has it.
fn is_a_step_of_the_scheduler(from: Option<TaskState>, to: TaskState) -> bool {
    let mut events = TaskEvent::ALL.iter().filter(|event| event.actor() == Actor::Scheduler);
    events.any(|event| next_task_state(from, *event) == Ok(Some(to)))
}

/// Deciding twice on the same snapshot decides the same; when nothing happens, decisions come to an end.
#[test]
fn a_decision_is_made_once() {
    for seed in 0..CASES {
        let mut simulation = simulation(seed ^ 0xdec1_de00, Elsewhere::Allowed);
        for _ in 0..simulation.chance.below(40) {
            simulation.disturb();
            if simulation.chance.percent(30) {
                simulation.examine(WhenReady::Schedule);
            }
        }
        let mut same = simulation.run.clone();
        let first = simulation.examine(WhenReady::Schedule);
        assert_eq!(same.examine(simulation.now, WhenReady::Schedule), first, "case {seed}");
        let mut examinations = 0;
        let quiet = loop {
            let decision = simulation.examine(WhenReady::Schedule);
            if decision.actions.is_empty() {
                break decision;
            }
            examinations += 1;
            assert!(examinations <= 60, "case {seed} does not come to rest: {decision:?}");
        };
        // A verdict about the run may follow from the last action; after that nothing moves.
        let next = simulation.examine(WhenReady::Schedule);
        assert_eq!(simulation.examine(WhenReady::Schedule), next, "case {seed} after {quiet:?}");
        assert!(next.actions.is_empty(), "case {seed}");
    }
}

/// Once every instance that starts also ends, the run ends.
#[test]
fn a_run_whose_instances_end_ends_too() {
    let mut ends = [0; 3];
    for seed in 0..CASES {
        let mut simulation = simulation(seed ^ 0xe4d5, Elsewhere::Never);
        let mut ticks = 0;
        let verdict = loop {
            let decision = simulation.examine(WhenReady::Schedule);
            if !matches!(decision.run, RunVerdict::Running | RunVerdict::NotBefore(_)) {
                break decision.run;
            }
            ticks += 1;
            assert!(ticks < 200, "case {seed} does not end: {:?}", simulation.unfinished());
            for instance in simulation.unfinished() {
                if is_on_its_way(instance.state) {
                    let outcomes =
                        [TaskState::Success, TaskState::Success, TaskState::Failed, TaskState::Skipped];
                    let outcome = *simulation.chance.pick(&outcomes);
                    simulation.end(instance, outcome);
                }
            }
            simulation.now += SignedDuration::from_secs(10);
        };
        let is_stuck = matches!(verdict, RunVerdict::Deadlocked { .. });
        assert!(is_stuck || simulation.unfinished().is_empty(), "case {seed}: {verdict}");
        match verdict {
            RunVerdict::Success => ends[0] += 1,
            RunVerdict::TasksFailed | RunVerdict::TimedOut => ends[1] += 1,
            RunVerdict::Deadlocked { .. } => ends[2] += 1,
            RunVerdict::Running | RunVerdict::NotBefore(_) => panic!("case {seed}: {verdict}"),
        }
    }
    assert!(ends.iter().all(|count| *count > 30), "successes, failures, deadlocks: {ends:?}");
}

/// Whatever is unfinished after an examination says why, from the same values as the decision.
#[test]
fn whatever_is_unfinished_has_a_reason() {
    for seed in 0..CASES {
        let mut simulation = simulation(seed ^ 0x0b5e_55ed, Elsewhere::Allowed);
        for _ in 0..30 {
            simulation.disturb();
            simulation.examine(WhenReady::Schedule);
        }
        while !simulation.examine(WhenReady::Schedule).actions.is_empty() {}
        for instance in simulation.unfinished() {
            let reason = simulation.run.explain(instance.task, instance.map_index, simulation.now);
            match reason {
                Some(Waiting::For(unmet)) => {
                    assert!(!unmet.is_empty() && !is_on_its_way(instance.state), "case {seed}");
                    for reason in unmet {
                        assert!(!reason.describe(simulation.run.plan().dag()).is_empty(), "case {seed}");
                    }
                }
                Some(Waiting::OnItsWay(state)) => assert_eq!(Some(state), instance.state, "case {seed}"),
                Some(Waiting::ToBeScheduled) | None => {
                    panic!("case {seed}: {instance:?} is {reason:?} although nothing more is decided")
                }
            }
        }
    }
}
