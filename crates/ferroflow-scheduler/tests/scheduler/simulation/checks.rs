//! What must hold after every step, whoever did it. It is read from the rows, and from the processes that there are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ferroflow_model::state::{RunState, TaskState};
use ferroflow_model::state_machine::{Actor, RunEvent, TaskEvent, next_run_state, next_task_state};

use crate::simulation::snapshot::{InstanceKey, InstanceRow, Snapshot};
use crate::simulation::workers::{Process, Stage};
use crate::simulation::world::World;

/// Who did the step, and what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doer {
    /// A scheduler that makes runs, starts them, or looks around.
    Runs,
    /// A scheduler that examines runs.
    Examination,
    /// A scheduler in the critical section.
    Queueing,
    /// A scheduler that hears of executors, hands over, or does its chores.
    Watch,
    /// A process, or who supervises it.
    Worker,
    Triggerer,
    Person,
}

impl Doer {
    fn may(self, event: TaskEvent) -> bool {
        let queueing = [TaskEvent::Admitted, TaskEvent::DagGone];
        match self {
            Self::Runs => event == TaskEvent::DagGone,
            Self::Examination => event.actor() == Actor::Scheduler && !queueing.contains(&event),
            Self::Queueing => queueing.contains(&event),
            Self::Watch => event.actor() == Actor::Watch,
            Self::Worker => matches!(event.actor(), Actor::Worker | Actor::Watch),
            Self::Triggerer => event.actor() == Actor::Triggerer,
            Self::Person => event.actor() == Actor::Person,
        }
    }

    fn may_run(self, event: RunEvent) -> bool {
        match self {
            Self::Runs => event == RunEvent::Started,
            Self::Examination => matches!(
                event,
                RunEvent::Succeeded | RunEvent::Failed | RunEvent::Deadlocked | RunEvent::TimedOut
            ),
            Self::Person => matches!(event, RunEvent::Cleared | RunEvent::MarkedQueued),
            Self::Queueing | Self::Watch | Self::Worker | Self::Triggerer => false,
        }
    }

    /// How many events can happen to one instance in one step: an examination goes on until nothing follows, and one
    /// chore can follow on another.
    fn most_events(self) -> usize {
        match self {
            Self::Examination => 3,
            Self::Watch => 2,
            _ => 1,
        }
    }
}

/// A step: what was there before and after, and who did it.
pub(crate) struct Checked<'a> {
    pub(crate) world: &'a World,
    pub(crate) before: &'a Snapshot,
    pub(crate) after: &'a Snapshot,
    pub(crate) processes: &'a BTreeMap<i32, Process>,
    pub(crate) doer: Doer,
}

impl Checked<'_> {
    /// What does not hold, if anything.
    pub(crate) fn violation(&self) -> Option<String> {
        one_live_attempt(self.processes)
            .or_else(|| self.transitions())
            .or_else(|| self.run_transitions())
            .or_else(|| self.limits())
            .or_else(|| self.consumed_once())
            .or_else(|| self.answered())
    }

    /// I2: every change of a state is an event that happens in that state, and that this doer brings about.
    fn transitions(&self) -> Option<String> {
        self.after.instances.iter().find_map(|(key, now)| {
            let Some(was) = self.before.instances.get(key) else {
                let is_new = now.state.is_none_or(|_| self.doer == Doer::Examination);
                return (!is_new).then(|| format!("I2: {key:?} came into being as {:?}", now.state));
            };
            self.transition(key, was, now)
        })
    }

    fn transition(&self, key: &InstanceKey, was: &InstanceRow, now: &InstanceRow) -> Option<String> {
        if was.state != now.state && !self.leads_to(was.state, now.state, self.doer.most_events()) {
            return Some(format!(
                "I2: {key:?} went from {:?} to {:?}, which no event of {:?} does",
                was.state, now.state, self.doer
            ));
        }
        let more = now.try_number - was.try_number;
        let may_begin = self.doer == Doer::Examination;
        if !(0..=i32::from(may_begin)).contains(&more) {
            return Some(format!("I2: {key:?} went from try {} to {}", was.try_number, now.try_number));
        }
        None
    }

    fn leads_to(&self, from: Option<TaskState>, to: Option<TaskState>, events: usize) -> bool {
        from == to
            || events > 0
                && TaskEvent::ALL.iter().filter(|event| self.doer.may(**event)).any(|event| {
                    next_task_state(from, *event).is_ok_and(|next| self.leads_to(next, to, events - 1))
                })
    }

    fn run_transitions(&self) -> Option<String> {
        self.after.runs.iter().find_map(|(id, now)| {
            let was = self.before.runs.get(id)?;
            let is_allowed = was.state == now.state
                || RunEvent::ALL
                    .iter()
                    .filter(|event| self.doer.may_run(**event))
                    .any(|event| next_run_state(was.state, *event) == Ok(now.state));
            (!is_allowed)
                .then(|| format!("I2: run {id} went from {} to {} by {:?}", was.state, now.state, self.doer))
        })
    }

    /// I3: whatever is limited did not grow beyond its limit. What a person has lowered may be exceeded until it shrinks.
    fn limits(&self) -> Option<String> {
        let (before, after) = (self.use_of(self.before), self.use_of(self.after));
        after.into_iter().find_map(|(what, (used, limit))| {
            let was = before.get(&what).map_or(0, |(used, _)| *used);
            (used > limit && used > was)
                .then(|| format!("I3: {what}: {used} are in use, {was} were, and the limit is {limit}"))
        })
    }

    /// What is in use of everything that is limited, with the limit.
    fn use_of(&self, snapshot: &Snapshot) -> BTreeMap<String, (i64, i64)> {
        let mut uses: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        let mut add = |what: String, used: i64, limit: i64| {
            uses.entry(what).or_insert((0, limit)).0 += used;
        };
        for run in snapshot.runs.values() {
            if run.state == RunState::Running && !run.is_backfill {
                let limit = self.after.dags[&run.dag_id].max_active_runs;
                add(format!("max_active_runs of {}", run.dag_id), 1, limit);
            }
        }
        for (key, instance) in &snapshot.instances {
            let dag_id = snapshot.dag_of(key);
            let is_at_work = matches!(instance.state, Some(TaskState::Queued | TaskState::Running));
            let is_parked = matches!(instance.state, Some(TaskState::Deferred | TaskState::AwaitingInput));
            if let Some(pool) = self.after.pools.get(&instance.pool)
                && (is_at_work || pool.include_deferred && instance.state == Some(TaskState::Deferred))
            {
                add(format!("slots of {}", instance.pool), instance.pool_slots, pool.slots);
            }
            if is_at_work {
                let limit = self.after.dags[dag_id].max_active_tasks;
                add(format!("max_active_tasks of run {}", key.run), 1, limit);
            }
            if is_at_work || is_parked {
                let task = self.world.task(dag_id, &key.task_id);
                if let Some(limit) = task.and_then(|task| task.per_dag) {
                    add(format!("max_active_tis_per_dag of {dag_id}.{}", key.task_id), 1, limit);
                }
                if let Some(limit) = task.and_then(|task| task.per_run) {
                    add(format!("max_active_tis_per_dagrun of {} in {}", key.task_id, key.run), 1, limit);
                }
            }
        }
        uses
    }

    /// I5: no event of an asset is consumed twice by the same DAG.
    fn consumed_once(&self) -> Option<String> {
        let ((dag_id, event), times) = self.after.consumed.iter().find(|(_, times)| **times > 1)?;
        Some(format!("I5: event {event} was consumed {times} times by {dag_id}"))
    }

    /// I5: a DAG waits no longer for a run that its asset asks for only if it has got one.
    fn answered(&self) -> Option<String> {
        let was_made = |dag_id: &str| {
            let of_dag = self.after.runs.iter().filter(|(_, run)| run.dag_id == dag_id);
            of_dag.into_iter().any(|(id, _)| !self.before.runs.contains_key(id))
        };
        let done = self.before.waiting_for_run.iter().filter(|dag| !self.after.waiting_for_run.contains(dag));
        let lost = done.into_iter().find(|dag| !was_made(dag))?;
        Some(format!("I5: an asset has changed, and {lost} has no run for it"))
    }
}

/// I1: of each try of a task instance, at most one process lives.
pub(crate) fn one_live_attempt(processes: &BTreeMap<i32, Process>) -> Option<String> {
    let mut live: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    let living = |process: &Process| process.stage == Stage::Live && !process.is_cut_off;
    for (pid, process) in processes.iter().filter(|(_, process)| living(process)) {
        let ti = &process.ti;
        let name = format!(
            "{} of {} in {} [{}], try {}",
            ti.task_id, ti.run_id, ti.dag_id, ti.map_index, ti.try_number
        );
        live.entry(name).or_default().push(*pid);
    }
    let (name, pids) = live.into_iter().find(|(_, pids)| pids.len() > 1)?;
    Some(format!("I1: {name} lives in processes {pids:?}"))
}

/// What has changed, in a few words: the trace of a simulation.
pub(crate) fn difference(before: &Snapshot, after: &Snapshot) -> String {
    let mut words = String::new();
    let state = |row: &InstanceRow| row.state.map_or("none", TaskState::as_str);
    for (id, run) in &after.runs {
        match before.runs.get(id) {
            None => write!(words, " +run {id} of {} {}", run.dag_id, run.state).unwrap(),
            Some(was) if was.state != run.state => {
                write!(words, " run {id} {}->{}", was.state, run.state).unwrap();
            }
            Some(_) => {}
        }
    }
    for id in before.runs.keys().filter(|id| !after.runs.contains_key(id)) {
        write!(words, " -run {id}").unwrap();
    }
    for (key, row) in &after.instances {
        let name = format!("{}/{}[{}]", key.run, key.task_id, key.map_index);
        match before.instances.get(key) {
            None if row.state.is_none() => {}
            None => write!(words, " +{name} {}", state(row)).unwrap(),
            Some(was) if was.state != row.state || was.try_number != row.try_number => {
                write!(words, " {name} {}->{} #{}", state(was), state(row), row.try_number).unwrap();
            }
            Some(_) => {}
        }
    }
    words
}
