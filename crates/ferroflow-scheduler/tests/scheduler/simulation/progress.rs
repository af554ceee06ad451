//! Whether things go on: what can be queued is, and what nobody runs is noticed.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_model::state::{RunState, TaskState};
use jiff::{SignedDuration, Timestamp};

use crate::simulation::schedulers::Simulation;
use crate::simulation::snapshot::{InstanceKey, InstanceRow, Snapshot};
use crate::simulation::workers::{Does, locked};

/// So long somebody may wait for a slot that is free: a scheduler looks around every twelve seconds, and may be late by
/// twenty-five.
const MAX_WAITING: SignedDuration = SignedDuration::from_secs(100);

/// So long a row may say that it is queued or runs although no process does: the time-outs of heartbeats and queues, the
/// death of a scheduler, and the pauses between the looks.
const MAX_UNNOTICED: SignedDuration = SignedDuration::from_secs(260);

/// Since when something is as it should not be for long.
#[derive(Default)]
pub(crate) struct Progress {
    since: BTreeMap<String, Timestamp>,
}

impl Progress {
    /// Takes in what waits now, and answers what has for too long.
    fn waits(&mut self, now: Timestamp, waiting: BTreeMap<String, SignedDuration>) -> Option<String> {
        self.since.retain(|what, _| waiting.contains_key(what));
        waiting.into_iter().find_map(|(what, most)| {
            let since = *self.since.entry(what.clone()).or_insert(now);
            let waited = now.duration_since(since);
            (waited > most).then(|| format!("I6: for {} seconds {what}", waited.as_secs()))
        })
    }
}

impl Simulation {
    /// What has been waiting for too long without a reason.
    pub(crate) fn stalled(&mut self) -> Option<String> {
        let mut waiting = BTreeMap::new();
        if self.can_somebody_take_work() {
            for pool in Self::waited_for(&self.seen) {
                waiting.insert(format!("nobody is queued for {pool}, which is free"), MAX_WAITING);
            }
        }
        for what in self.unowned_runs() {
            waiting.insert(what, MAX_UNNOTICED);
        }
        self.progress.waits(self.now, waiting)
    }

    fn can_somebody_take_work(&self) -> bool {
        let field = locked(&self.field);
        self.schedulers.iter().enumerate().any(|(number, actor)| {
            let is_awake = actor.scheduler.is_some() && actor.stopped.is_none();
            is_awake && field.of(number).count() < self.world.slots
        })
    }

    /// The pools of which nothing is in use, and of which somebody could have what it needs.
    fn waited_for(seen: &Snapshot) -> BTreeSet<&str> {
        let is_at_work = |row: &InstanceRow| {
            matches!(row.state, Some(TaskState::Queued | TaskState::Running | TaskState::Deferred))
        };
        let used: BTreeSet<&str> =
            seen.instances.values().filter(|row| is_at_work(row)).map(|row| row.pool.as_str()).collect();
        let busy: BTreeSet<&str> = seen
            .instances
            .iter()
            .filter(|(_, row)| is_at_work(row))
            .map(|(key, _)| seen.dag_of(key))
            .collect();
        let can_run = |key: &InstanceKey, row: &InstanceRow| {
            let run = &seen.runs[&key.run];
            row.state == Some(TaskState::Scheduled)
                && run.state == RunState::Running
                && !seen.dags[&run.dag_id].is_paused
                && seen.pools.get(&row.pool).is_some_and(|pool| pool.slots >= row.pool_slots || pool.slots < 0)
                // Then no limit of its DAG is in its way.
                && !busy.contains(run.dag_id.as_str())
        };
        seen.instances
            .iter()
            .filter(|(key, row)| can_run(key, row) && !used.contains(row.pool.as_str()))
            .map(|(_, row)| row.pool.as_str())
            .collect()
    }

    /// The rows that say that somebody has them, which nobody has.
    fn unowned_runs(&self) -> Vec<String> {
        let field = locked(&self.field);
        let is_had = |row: &InstanceRow| {
            field.processes.values().any(|process| {
                process.ti.id == row.id && !matches!(process.does, Does::GetLost | Does::FallSilent)
            })
        };
        let handed_out = self.seen.instances.iter().filter(|(_, row)| {
            matches!(row.state, Some(TaskState::Queued | TaskState::Running | TaskState::Restarting))
        });
        let is_running = |key: &InstanceKey| self.seen.runs[&key.run].state == RunState::Running;
        handed_out
            .filter(|(key, row)| is_running(key) && !is_had(row))
            .map(|(key, row)| {
                let state = row.state.map_or("none", TaskState::as_str);
                let name = format!("{}/{}[{}]", key.run, key.task_id, key.map_index);
                format!("{name} is {state} in try {}, and nobody has it", row.try_number)
            })
            .collect()
    }
}
