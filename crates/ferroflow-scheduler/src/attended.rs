//! The runs that this scheduler looks after, in memory.
//!
//! Somebody tells what has changed, and only that is looked at. What nobody tells is found by looking around, now and
//! then: in the rows that were written since the last time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_model::readiness::InstanceRef;
use ferroflow_model::state::TaskState;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::run::{ActiveRun, Compared, Definition};

/// After the first failure a run is tried again after this; after every further one twice as late.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(500);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
}

impl std::fmt::Display for RunKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "run {} of DAG {}", self.run_id, self.dag_id)
    }
}

impl From<&TaskInstanceKey> for RunKey {
    fn from(key: &TaskInstanceKey) -> Self {
        Self { dag_id: key.dag_id.clone(), run_id: key.run_id.clone() }
    }
}

/// The runs that are looked after.
#[derive(Debug, Default)]
pub struct Attended {
    runs: BTreeMap<RunKey, Entry>,
    keys: HashMap<i64, RunKey>,
    dirty: BTreeSet<RunKey>,
    due: BTreeSet<(Timestamp, RunKey)>,
}

/// One of them.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Nothing if it has yet to be read.
    pub(crate) run: Option<Box<ActiveRun>>,
    /// What is to be read again.
    pub(crate) changed: BTreeSet<InstanceRef>,
    pub(crate) has_past_changed: bool,
    /// Whether there is another version of its DAG.
    pub(crate) has_dag_changed: bool,
    /// Whether nothing new of its DAG may begin.
    pub(crate) is_held: bool,
    failures: u32,
    /// When it is looked at although nothing happens.
    due: Option<Timestamp>,
}

impl Attended {
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

    /// Looks after a run from now on.
    pub fn attend(&mut self, key: RunKey) {
        self.runs.entry(key.clone()).or_default();
        self.dirty.insert(key);
    }

    /// Looks at a run of a DAG that is paused: nothing new of it begins.
    pub(crate) fn attend_held(&mut self, key: RunKey) {
        let entry = self.runs.entry(key.clone()).or_default();
        entry.is_held = true;
        entry.run = None;
        self.dirty.insert(key);
    }

    /// A task instance has gone to a state: this try of it. False if its run is not looked after.
    pub fn hear(&mut self, key: &TaskInstanceKey, id: Uuid, state: Option<TaskState>) -> bool {
        let run_key = RunKey::from(key);
        let Some(entry) = self.runs.get_mut(&run_key) else { return false };
        let mut is_worth_a_look = true;
        let matters_to_later = match entry.run.as_mut() {
            Some(run) => {
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
                entry.run.as_ref().is_none_or(|run| run.depends_on_past())
            }
            None => false,
        };
        if matters_to_later {
            self.past_has_changed(&key.dag_id);
        }
        if is_worth_a_look {
            self.dirty.insert(run_key);
        }
        true
    }

    /// A row was read that somebody may have written. Answers whether it is news.
    pub(crate) fn see(&mut self, run_id: i64, row: &ferroflow_db::task_instance_step::InstanceRow) -> bool {
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
        self.past_has_changed(&key.dag_id);
        self.dirty.insert(key);
        true
    }

    /// Whether anything new of the DAG of a run may begin.
    pub(crate) fn hold(&mut self, run_id: i64, is_held: bool) {
        let Some(key) = self.keys.get(&run_id) else { return };
        if let Some(entry) = self.runs.get_mut(key)
            && entry.is_held != is_held
        {
            entry.is_held = is_held;
            // What was ready and had to wait is asked for again.
            entry.run = None;
            self.dirty.insert(key.clone());
        }
    }

    /// Does not look after a run any more.
    pub(crate) fn leave(&mut self, key: &RunKey) {
        self.take(key);
        self.dirty.remove(key);
        self.keys.retain(|_, other| other != key);
    }

    /// The rows of the runs that were read.
    pub(crate) fn ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = self.keys.keys().copied().collect();
        ids.sort_unstable();
        ids
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

    /// Reads the run anew when it is looked at next, which is at once.
    pub(crate) fn forget(&mut self, key: &RunKey) {
        if let Some(entry) = self.runs.get_mut(key) {
            entry.run = None;
            self.dirty.insert(key.clone());
        }
    }

    /// The runs that are to be looked at now, as many as asked for. What is taken is given back ([`Self::give_back`]).
    pub(crate) fn take_dirty(&mut self, now: Timestamp, most: usize) -> Vec<(RunKey, Entry)> {
        while let Some((at, _)) = self.due.first()
            && *at <= now
            && let Some((_, key)) = self.due.pop_first()
        {
            self.dirty.insert(key);
        }
        let keys: Vec<RunKey> = self.dirty.iter().take(most).cloned().collect();
        let taken = keys.into_iter().filter_map(|key| {
            self.dirty.remove(&key);
            self.take(&key).map(|entry| (key, entry))
        });
        taken.collect()
    }

    /// Takes a run back that was looked at.
    pub(crate) fn give_back(&mut self, key: RunKey, mut entry: Entry, now: Timestamp) {
        entry.failures = 0;
        entry.due = None;
        if let Some(run) = &entry.run {
            self.keys.insert(run.row.id, key.clone());
            if run.needs_step(now) || !entry.changed.is_empty() {
                self.dirty.insert(key.clone());
            } else if let Some(due) = run.next_due(now) {
                entry.due = Some(due);
                self.due.insert((due, key.clone()));
            }
        }
        self.runs.insert(key, entry);
    }

    /// Takes a run back that could not be looked at. It is tried again, later every time.
    pub(crate) fn put_off(&mut self, key: RunKey, mut entry: Entry, now: Timestamp) {
        let pause = FIRST_PAUSE * 2_i32.pow(entry.failures.min(10));
        let due = now.checked_add(pause.min(LONGEST_PAUSE)).unwrap_or(Timestamp::MAX);
        entry.failures += 1;
        entry.run = None;
        entry.due = Some(due);
        self.due.insert((due, key.clone()));
        self.runs.insert(key, entry);
    }

    /// Whether a run is to be looked at now.
    pub fn is_dirty(&self, now: Timestamp) -> bool {
        !self.dirty.is_empty() || self.next_due().is_some_and(|due| due <= now)
    }

    /// Looks at every run that waits for its time.
    pub(crate) fn wait_for_nothing(&mut self) {
        self.dirty.extend(std::mem::take(&mut self.due).into_iter().map(|(_, key)| key));
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
                self.dirty.insert(key.clone());
            }
        }
    }

    /// Any run may wait for one before it of which nobody tells: one that has ended, or is gone.
    pub(crate) fn look_at_the_past(&mut self) {
        for (key, entry) in &mut self.runs {
            if entry.asks_for_the_past_again() {
                self.dirty.insert(key.clone());
            }
        }
    }

    /// Other runs of a DAG may wait for this one.
    fn past_has_changed(&mut self, dag_id: &str) {
        for (key, entry) in of_dag(&mut self.runs, dag_id) {
            if entry.asks_for_the_past_again() {
                self.dirty.insert(key.clone());
            }
        }
    }
}

impl Entry {
    /// Has the run before be read again, if it matters to any task. Answers whether it does.
    fn asks_for_the_past_again(&mut self) -> bool {
        let asks = self.run.as_ref().is_some_and(|run| run.depends_on_past());
        self.has_past_changed |= asks;
        asks
    }
}

fn of_dag<'a>(
    runs: &'a mut BTreeMap<RunKey, Entry>,
    dag_id: &'a str,
) -> impl Iterator<Item = (&'a RunKey, &'a mut Entry)> {
    let first = RunKey { dag_id: dag_id.to_owned(), run_id: String::new() };
    runs.range_mut(first..).take_while(move |(key, _)| key.dag_id == dag_id)
}
