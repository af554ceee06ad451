//! The runs that this scheduler looks after, in memory.
//!
//! Events and notifications tell what has changed, and only that is looked at. What comes by neither is found by the
//! rescan, now and then: in the rows that were written since the last one.

mod past;
mod patience;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ferroflow_db::task_instance::dependencies::RunProgress;
use ferroflow_db::task_instance::scheduling::InstanceRow;
use ferroflow_model::key::TaskInstanceKey;
use ferroflow_model::readiness::{InstanceRef, WhenReady};
use ferroflow_model::state::{RunType, TaskState};
use jiff::Timestamp;
use uuid::Uuid;

use crate::fair_queue::{Cause, FairQueue};
use crate::run::{ActiveRun, Compared, Definition};
use crate::start_runs::Started;

pub use ferroflow_model::key::RunKey;
pub use patience::Obstacle;

/// The runs that are looked after.
#[derive(Debug, Default)]
pub struct ActiveRuns {
    runs: BTreeMap<RunKey, Entry>,
    /// The rows of those that were read.
    keys: BTreeMap<i64, RunKey>,
    rows: HashMap<RunKey, Row>,
    /// The same by DAG and logical date.
    dates: BTreeSet<(String, Timestamp, String)>,
    /// Of each of them the instances that were on their way when it was last looked at.
    on_their_way: BTreeMap<i64, Vec<Uuid>>,
    dirty: FairQueue,
    due: BTreeSet<(Timestamp, RunKey)>,
}

/// What does not change about the row of a run.
#[derive(Clone, Copy, Debug)]
struct Row {
    id: i64,
    logical_date: Option<Timestamp>,
    is_manual: bool,
}

/// One of them.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Its row, if it is known.
    pub(crate) row_id: Option<i64>,
    /// Nothing if it has yet to be read.
    pub(crate) run: Option<Box<ActiveRun>>,
    /// Instances that are read again before the next step.
    pub(crate) changed: BTreeSet<InstanceRef>,
    pub(crate) has_past_changed: bool,
    /// How the run before stood when it was last asked for, if it is not looked after here.
    past_stand: Option<(i64, RunProgress)>,
    /// Whether there is another version of its DAG.
    pub(crate) has_dag_changed: bool,
    /// Whether nothing new of its DAG may begin.
    pub(crate) is_held: bool,
    /// How often in a row it could not be moved on.
    failures: u32,
    /// What was said to be in its way.
    told: Option<Obstacle>,
    /// When it is looked at although nothing happens.
    due: Option<Timestamp>,
    /// Until when it is not looked at, whatever happens.
    put_off_until: Option<Timestamp>,
}

impl Entry {
    /// It was read, and all that it was told to read again with it.
    pub(crate) fn was_read(&mut self, run: ActiveRun) {
        self.changed.clear();
        self.has_past_changed = false;
        self.has_dag_changed = run.is_behind_its_dag();
        self.run = Some(Box::new(run));
    }

    /// What becomes of instances that are ready.
    pub(crate) fn when_ready(&self) -> WhenReady {
        if self.is_held { WhenReady::Leave } else { WhenReady::Schedule }
    }
}

impl ActiveRuns {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether a run is looked after.
    pub fn contains(&self, key: &RunKey) -> bool {
        self.runs.contains_key(key)
    }

    /// Looks after a run, which has this row, from now on.
    pub(crate) fn track(&mut self, key: RunKey, row_id: i64, cause: Cause) {
        self.runs.entry(key.clone()).or_default().row_id = Some(row_id);
        self.dirty.add(key, cause);
    }

    /// Tracks runs that have just started.
    pub(crate) fn track_started(&mut self, started: &[Started]) {
        for run in started {
            let key = RunKey { dag_id: run.dag_id.clone(), run_id: run.run_id.clone() };
            let cause = match run.run_type {
                RunType::Scheduled | RunType::Backfill => Cause::Crowd,
                // A user waits for it, however many schedules are due.
                _ => Cause::Event,
            };
            self.track(key, run.id, cause);
        }
    }

    /// Looks at a run of a DAG that is paused: nothing new of it begins.
    pub(crate) fn track_held(&mut self, key: RunKey, row_id: i64) {
        let entry = self.runs.entry(key.clone()).or_default();
        (entry.is_held, entry.put_off_until, entry.row_id) = (true, None, Some(row_id));
        entry.run = None;
        self.dirty.add(key, Cause::Crowd);
    }

    /// A task instance has gone to a state: this try of it. False if its run is not looked after.
    pub fn mark_changed(&mut self, key: &TaskInstanceKey, id: Uuid, state: Option<TaskState>) -> bool {
        let run_key = key.run();
        let Some(entry) = self.runs.get_mut(&run_key) else { return false };
        let mut is_worth_a_look = true;
        if let Some(run) = entry.run.as_mut() {
            match run.find(&key.task_id, key.map_index) {
                Some(instance) if state.is_some_and(|state| run.take_state(instance, id, state)) => {
                    // Nothing waits for that; whatever is heard next has it looked at.
                    is_worth_a_look = state != Some(TaskState::Queued);
                }
                Some(instance) => {
                    entry.changed.insert(instance);
                }
                None => entry.run = None,
            }
        }
        // Tasks that depend on their past wait for these states, and for no other.
        if state.is_none_or(|state| matches!(state, TaskState::Success | TaskState::Skipped)) {
            self.past_has_changed(&run_key, Some(&key.task_id));
        }
        if is_worth_a_look {
            self.dirty.add(run_key, Cause::Event);
        }
        true
    }

    /// A row was read that another process may have written. Answers whether it is news.
    pub(crate) fn see(&mut self, run_id: i64, row: &InstanceRow) -> bool {
        let Some(key) = self.keys.get(&run_id).cloned() else { return false };
        let Some(entry) = self.runs.get_mut(&key) else { return false };
        let Some(run) = &entry.run else { return false };
        match run.compare(row) {
            Compared::Same => return false,
            Compared::Differs(instance) => {
                entry.changed.insert(instance);
            }
            Compared::Unknown => entry.run = None,
        }
        self.past_has_changed(&key, Some(&row.task_id));
        self.dirty.add(key, Cause::Event);
        true
    }

    /// Whether anything new of the DAG of a run may begin.
    pub(crate) fn hold(&mut self, run_id: i64, is_held: bool) {
        let Some(key) = self.keys.get(&run_id) else { return };
        if let Some(entry) = self.runs.get_mut(key)
            && entry.is_held != is_held
        {
            (entry.is_held, entry.put_off_until) = (is_held, None);
            // What was ready and had to wait is asked for again.
            entry.run = None;
            self.dirty.add(key.clone(), Cause::Crowd);
        }
    }

    /// Does not look after a run any more.
    pub(crate) fn untrack(&mut self, key: &RunKey) {
        self.take(key);
        self.dirty.remove(key);
        self.forget_row(key);
    }

    /// The rows of the runs that were read, and how many instances each has.
    pub(crate) fn sizes(&self) -> Vec<(i64, usize)> {
        let run = |key: &RunKey| self.runs.get(key)?.run.as_ref();
        let size = |key: &RunKey| run(key).map_or(0, |run| run.size());
        self.keys.iter().map(|(id, key)| (*id, size(key))).collect()
    }

    /// The instances that are on their way, of all runs from one on and then of those before it.
    pub(crate) fn on_their_way(&self, first: i64) -> impl Iterator<Item = (i64, Uuid)> {
        let later = self.on_their_way.range(first..).chain(self.on_their_way.range(..first));
        later.flat_map(|(id, instances)| instances.iter().map(move |instance| (*id, *instance)))
    }

    /// The row of a run that was read.
    pub(crate) fn id_of(&self, key: &RunKey) -> Option<i64> {
        Some(self.runs.get(key)?.run.as_ref()?.row.id)
    }

    pub(crate) fn key_of(&self, run_id: i64) -> Option<&RunKey> {
        self.keys.get(&run_id)
    }

    /// The runs that are read, to be looked at and not changed.
    pub(crate) fn read(&self) -> impl Iterator<Item = (&RunKey, &ActiveRun)> {
        self.runs.iter().filter_map(|(key, entry)| Some((key, entry.run.as_deref()?)))
    }

    /// One of them, by its row.
    pub(crate) fn read_run(&self, run_id: i64) -> Option<(&RunKey, &ActiveRun)> {
        let key = self.keys.get(&run_id)?;
        Some((key, self.runs.get(key)?.run.as_deref()?))
    }

    /// Reads the run anew when it is looked at next, which is at once.
    pub(crate) fn forget(&mut self, key: &RunKey) {
        if let Some(entry) = self.runs.get_mut(key) {
            (entry.run, entry.put_off_until) = (None, None);
            self.dirty.add(key.clone(), Cause::Event);
        }
    }

    /// The runs that are to be looked at now, as many as asked for. What is taken is given back ([`Self::give_back`]).
    pub(crate) fn take_dirty(&mut self, now: Timestamp, most: usize) -> Vec<(RunKey, Entry)> {
        while let Some((at, _)) = self.due.first()
            && *at <= now
            && let Some((_, key)) = self.due.pop_first()
        {
            self.dirty.add(key, Cause::Event);
        }
        let mut keys = self.dirty.take(most);
        keys.retain(|key| self.runs.get(key).is_some_and(|entry| !entry.has_to_wait(now)));
        keys.into_iter().filter_map(|key| self.take(&key).map(|entry| (key, entry))).collect()
    }

    /// Takes a run back that was looked at.
    pub(crate) fn give_back(&mut self, key: RunKey, mut entry: Entry, now: Timestamp) {
        entry.has_moved_on(&key);
        entry.row_id = entry.run.as_ref().map(|run| run.row.id).or(entry.row_id);
        self.know(&key, &entry);
        if let Some(run) = &entry.run {
            if run.needs_step(now) || !entry.changed.is_empty() {
                self.dirty.add(key.clone(), Cause::Event);
            } else if let Some(due) = run.next_due(now) {
                entry.due = Some(due);
                self.due.insert((due, key.clone()));
            }
        }
        self.runs.insert(key, entry);
    }

    /// Whether a run is to be looked at now.
    pub fn is_dirty(&self, now: Timestamp) -> bool {
        !self.dirty.is_empty() || self.next_due().is_some_and(|due| due <= now)
    }

    /// Whether something has happened in a run that was not looked at since.
    pub(crate) fn has_events(&self) -> bool {
        self.dirty.has_events()
    }

    /// Looks at every run that waits for its time.
    pub(crate) fn wait_for_nothing(&mut self) {
        for (_, key) in std::mem::take(&mut self.due) {
            if let Some(entry) = self.runs.get_mut(&key) {
                entry.put_off_until = None;
            }
            self.dirty.add(key, Cause::Event);
        }
    }

    /// When a run is to be looked at although nothing happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    fn take(&mut self, key: &RunKey) -> Option<Entry> {
        let entry = self.runs.remove(key)?;
        if let Some(due) = entry.due {
            self.due.remove(&(due, key.clone()));
        }
        Some(entry)
    }

    /// There is another version of a DAG. Runs that are tied to a version of their bundle go on with theirs.
    pub(crate) fn dag_has_changed(&mut self, dag_id: &str) {
        for (key, entry) in of_dag(&mut self.runs, dag_id) {
            if entry.run.as_ref().is_some_and(|run| Definition::version_of_run(&run.row).is_none()) {
                entry.has_dag_changed = true;
                // That may be what was in its way.
                entry.put_off_until = None;
                self.dirty.add(key.clone(), Cause::Crowd);
            }
        }
    }

    /// Remembers which row a run has, if it was read.
    pub(crate) fn know(&mut self, key: &RunKey, entry: &Entry) {
        let Some(run) = entry.run.as_ref() else { return };
        let row = &run.row;
        if self.rows.get(key).is_none_or(|known| known.id != row.id) {
            self.forget_row(key);
            self.keys.insert(row.id, key.clone());
            let is_manual = row.run_type == RunType::Manual;
            self.rows.insert(key.clone(), Row { id: row.id, logical_date: row.logical_date, is_manual });
            if let Some(date) = row.logical_date {
                self.dates.insert((key.dag_id.clone(), date, key.run_id.clone()));
            }
        }
        let on_their_way = run.on_their_way();
        if on_their_way.is_empty() {
            self.on_their_way.remove(&row.id);
        } else {
            self.on_their_way.insert(row.id, on_their_way);
        }
    }

    fn forget_row(&mut self, key: &RunKey) {
        if let Some(row) = self.rows.remove(key) {
            self.keys.remove(&row.id);
            self.on_their_way.remove(&row.id);
            if let Some(date) = row.logical_date {
                self.dates.remove(&(key.dag_id.clone(), date, key.run_id.clone()));
            }
        }
    }
}

fn of_dag<'a>(
    runs: &'a mut BTreeMap<RunKey, Entry>,
    dag_id: &'a str,
) -> impl Iterator<Item = (&'a RunKey, &'a mut Entry)> {
    let first = RunKey { dag_id: dag_id.to_owned(), run_id: String::new() };
    runs.range_mut(first..).take_while(move |(key, _)| key.dag_id == dag_id)
}
