//! Task instances that wait, and what is known of their DAGs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ferroflow_db::pool::Pool as PoolRow;
use ferroflow_model::admission::{Candidate, DagLimits, Executors, InstanceKey, Limits, Pool, Waiting};
use jiff::Timestamp;
use uuid::Uuid;

use super::ExecutorSlots;
use super::report::{LeftOut, WhyLeftOut};

/// One that waits, as it was read.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The identity of its try.
    pub(super) id: Uuid,
    /// The row of its run.
    pub(super) dag_run_id: i64,
    /// Itself.
    pub(super) candidate: Candidate,
    /// What its DAG allows.
    pub(super) limits: DagLimits,
}

/// Task instances that wait, and what is known of their DAGs.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) waiting: Waiting,
    /// DAGs are kept from pass to pass; pools and executors are those of the last one.
    pub(super) limits: Limits,
    waiting_rows: HashMap<InstanceKey, WaitingRow>,
    runs: HashMap<i64, RunWaiting>,
    /// The tasks that limit how many of their instances are active, and how many of each wait.
    limited: HashMap<(Arc<str>, Arc<str>), usize>,
}

/// Where one that waits is found in the database, and what it takes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaitingRow {
    pub(super) id: Uuid,
    pub(super) dag_run_id: i64,
    pub(super) pool: Arc<str>,
    pub(super) pool_slots: i32,
    pub(super) executor: Option<Arc<str>>,
    is_limited: bool,
}

/// What waits in a run.
#[derive(Default)]
pub(super) struct RunWaiting {
    pub(super) keys: HashSet<InstanceKey>,
    /// When the last of all that ever were here became ready.
    pub(super) newest: Option<Timestamp>,
}

impl Memory {
    /// Takes in what was read, instead of what was known of the same.
    pub(super) fn take_in(&mut self, read: &[Read]) {
        for one in read {
            self.insert(one);
        }
    }

    fn insert(&mut self, read: &Read) {
        let Read { id, dag_run_id, candidate, limits } = read;
        let key = candidate.key.clone();
        self.forget(&key);
        let is_limited =
            candidate.max_active_tis_per_dag.is_some() || candidate.max_active_tis_per_dagrun.is_some();
        if is_limited {
            *self.limited.entry(task(&key)).or_default() += 1;
        }
        let run = self.runs.entry(*dag_run_id).or_default();
        run.newest = run.newest.max(Some(candidate.waiting_since));
        run.keys.insert(key.clone());
        self.limits.dags.insert(Arc::clone(&key.dag_id), limits.clone());
        self.waiting.insert(candidate.clone());
        let waiting_row = WaitingRow {
            id: *id,
            dag_run_id: *dag_run_id,
            pool: Arc::clone(&candidate.pool),
            pool_slots: candidate.pool_slots,
            executor: candidate.executor.clone(),
            is_limited,
        };
        self.waiting_rows.insert(key, waiting_row);
    }

    /// One waits no longer.
    pub(super) fn remove(&mut self, key: &InstanceKey) {
        self.forget(key);
        self.waiting.remove(key);
    }

    /// These tries are not known any longer.
    pub(super) fn remove_tries(&mut self, ids: &[Uuid]) {
        let ids: HashSet<&Uuid> = ids.iter().collect();
        let known = self.waiting_rows.iter().filter(|(_, waiting_row)| ids.contains(&waiting_row.id));
        let keys: Vec<InstanceKey> = known.map(|(key, _)| key.clone()).collect();
        for key in &keys {
            self.remove(key);
        }
    }

    /// No task instance of a run waits any longer.
    pub(super) fn remove_run(&mut self, dag_run_id: i64) {
        let keys = self.runs.get(&dag_run_id).map(|run| run.keys.clone()).unwrap_or_default();
        for key in &keys {
            self.remove(key);
        }
    }

    /// Takes in what was read of some runs, instead of all that was known of them.
    pub(super) fn replace_runs(&mut self, dag_run_ids: &[i64], read: &[Read]) {
        for id in dag_run_ids {
            self.remove_run(*id);
        }
        self.take_in(read);
    }

    /// Where one is found that waits.
    pub(super) fn waiting_row(&self, key: &InstanceKey) -> Option<WaitingRow> {
        self.waiting_rows.get(key).cloned()
    }

    /// The runs in which one waits.
    pub(super) fn runs(&self) -> impl Iterator<Item = (i64, &RunWaiting)> {
        self.runs.iter().map(|(id, run)| (*id, run))
    }

    /// What waits in a run.
    pub(super) fn run(&self, dag_run_id: i64) -> Option<&RunWaiting> {
        self.runs.get(&dag_run_id)
    }

    /// The DAGs and the names of tasks that limit how many of their instances are active, and are waited for.
    pub(super) fn limited(&self) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let dags: BTreeSet<Arc<str>> = self.limited.keys().map(|(dag, _)| Arc::clone(dag)).collect();
        let tasks: BTreeSet<Arc<str>> = self.limited.keys().map(|(_, task)| Arc::clone(task)).collect();
        (dags.into_iter().collect(), tasks.into_iter().collect())
    }

    /// What the pools are now. Teams are told apart only where they are in use.
    pub(super) fn set_pools(&mut self, pools: &[PoolRow], multi_team: bool) {
        let pool = |row: &PoolRow| {
            let team = row.team_name.as_deref().filter(|_| multi_team).map(Arc::from);
            let pool = Pool { slots: row.slots, include_deferred: row.include_deferred, team };
            (Arc::from(row.name.as_str()), pool)
        };
        self.limits.pools = pools.iter().map(pool).collect();
    }

    /// What the executors are now.
    pub(super) fn set_executors(&mut self, executors: &[ExecutorSlots], parallelism: i64) {
        let list = executors.iter().map(|one| one.executor.clone()).collect();
        self.limits.executors = Executors { list, parallelism };
    }

    /// What a DAG allows now, if a task instance of it waits.
    pub(super) fn set_dag(&mut self, dag_id: &str, limits: DagLimits) {
        if let Some(known) = self.limits.dags.get_mut(dag_id) {
            *known = limits;
        }
    }

    /// Forgets the DAGs of which none waits.
    pub(super) fn drop_idle_dags(&mut self) {
        let busy: HashSet<&Arc<str>> = self.waiting_rows.keys().map(|key| &key.dag_id).collect();
        self.limits.dags.retain(|dag_id, _| busy.contains(dag_id));
    }

    /// Takes in why one was not queued although it was admitted.
    pub(super) fn correct(&mut self, left_out: &LeftOut) {
        match &left_out.why {
            WhyLeftOut::Held | WhyLeftOut::NotScheduled(_) | WhyLeftOut::RowChanged => {
                self.remove(&left_out.key);
            }
            WhyLeftOut::RunGone | WhyLeftOut::RunNotRunning(_) | WhyLeftOut::DagPaused => {
                // Found again by a sweep, should it come back.
                if let Some(waiting_row) = self.waiting_row(&left_out.key) {
                    self.remove_run(waiting_row.dag_run_id);
                }
            }
            WhyLeftOut::Refused(_) => self.hold(&left_out.key),
            WhyLeftOut::DagChanged(limits) => self.set_dag(&left_out.key.dag_id, limits.clone()),
        }
    }

    /// One that waits is not queued until it is read again: it is known all the same.
    pub(super) fn hold(&mut self, key: &InstanceKey) {
        self.waiting.remove(key);
    }

    /// Takes one out of all but the queue itself.
    fn forget(&mut self, key: &InstanceKey) {
        let Some(waiting_row) = self.waiting_rows.remove(key) else { return };
        if let Some(run) = self.runs.get_mut(&waiting_row.dag_run_id) {
            run.keys.remove(key);
            if run.keys.is_empty() {
                self.runs.remove(&waiting_row.dag_run_id);
            }
        }
        if waiting_row.is_limited
            && let Some(waiting) = self.limited.get_mut(&task(key))
        {
            *waiting -= 1;
            if *waiting == 0 {
                self.limited.remove(&task(key));
            }
        }
    }
}

fn task(key: &InstanceKey) -> (Arc<str>, Arc<str>) {
    (Arc::clone(&key.dag_id), Arc::clone(&key.task_id))
}
