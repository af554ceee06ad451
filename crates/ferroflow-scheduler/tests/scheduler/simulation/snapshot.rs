//! What the database says, all of it that matters, as it is after a step.

use std::collections::BTreeMap;

use ferroflow_db::Db;
use ferroflow_db::testing::texts;
use ferroflow_model::state::{RunState, TaskState};
use uuid::Uuid;

/// All rows that matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) runs: BTreeMap<i64, RunRow>,
    pub(crate) instances: BTreeMap<InstanceKey, InstanceRow>,
    pub(crate) pools: BTreeMap<String, PoolRow>,
    pub(crate) dags: BTreeMap<String, DagRow>,
    /// How often the runs of a DAG were made for an event of an asset.
    pub(crate) consumed: BTreeMap<(String, i64), i64>,
    /// The DAGs for which an asset has changed, and which have no run for it yet.
    pub(crate) waiting_for_run: Vec<String>,
}

/// The run's row, the task and the map index: what stays the same over all tries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InstanceKey {
    pub(crate) run: i64,
    pub(crate) task_id: String,
    pub(crate) map_index: i32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRow {
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) state: RunState,
    pub(crate) is_backfill: bool,
    pub(crate) logical_date: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InstanceRow {
    pub(crate) id: Uuid,
    pub(crate) state: Option<TaskState>,
    pub(crate) try_number: i32,
    pub(crate) pool: String,
    pub(crate) pool_slots: i64,
    pub(crate) pid: Option<i32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PoolRow {
    pub(crate) slots: i64,
    pub(crate) include_deferred: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DagRow {
    pub(crate) is_paused: bool,
    pub(crate) max_active_runs: i64,
    pub(crate) max_active_tasks: i64,
}

/// One question for all, and one row in answer: a row costs more than what is in it. Each line begins with what it is of.
const QUESTION: &str = "
    SELECT COALESCE(group_concat(line, char(10)), '') AS answer FROM (
    SELECT 'run|' || id || '|' || dag_id || '|' || run_id || '|' || state || '|' || (backfill_id IS NOT NULL) || '|'
        || COALESCE(logical_date, '') AS line
    FROM dag_run
    UNION ALL
    SELECT 'instance|' || dag_run.id || '|' || ti.task_id || '|' || ti.map_index || '|' || ti.id || '|'
        || COALESCE(ti.state, '') || '|' || ti.try_number || '|' || ti.pool || '|' || ti.pool_slots || '|'
        || COALESCE(ti.pid, '')
    FROM task_instance AS ti
    JOIN dag_run ON dag_run.dag_id = ti.dag_id AND dag_run.run_id = ti.run_id
    UNION ALL
    SELECT 'pool|' || pool || '|' || slots || '|' || include_deferred FROM slot_pool
    UNION ALL
    SELECT 'dag|' || dag_id || '|' || is_paused || '|' || max_active_runs || '|' || max_active_tasks FROM dag
    UNION ALL
    SELECT 'consumed|' || dag_run.dag_id || '|' || event_id || '|' || COUNT(*)
    FROM dagrun_asset_event
    JOIN dag_run ON dag_run.id = dag_run_id
    GROUP BY dag_run.dag_id, event_id
    UNION ALL
    SELECT 'waiting|' || target_dag_id FROM asset_dag_run_queue
    )";

impl Snapshot {
    pub(crate) async fn take(db: &Db) -> Self {
        let mut snapshot = Self::default();
        let answer = texts(db, QUESTION).await.unwrap().concat();
        for line in answer.lines() {
            snapshot.add(&line.split('|').collect::<Vec<_>>());
        }
        snapshot
    }

    fn add(&mut self, words: &[&str]) {
        match words {
            ["run", id, dag_id, run_id, state, is_backfill, logical_date] => {
                let row = RunRow {
                    dag_id: (*dag_id).to_owned(),
                    run_id: (*run_id).to_owned(),
                    state: state.parse().unwrap(),
                    is_backfill: *is_backfill == "1",
                    logical_date: (*logical_date).to_owned(),
                };
                self.runs.insert(id.parse().unwrap(), row);
            }
            ["instance", run, task_id, map_index, id, state, try_number, pool, pool_slots, pid] => {
                let key = InstanceKey {
                    run: run.parse().unwrap(),
                    task_id: (*task_id).to_owned(),
                    map_index: map_index.parse().unwrap(),
                };
                let row = InstanceRow {
                    id: id.parse().unwrap(),
                    state: (!state.is_empty()).then(|| state.parse().unwrap()),
                    try_number: try_number.parse().unwrap(),
                    pool: (*pool).to_owned(),
                    pool_slots: pool_slots.parse().unwrap(),
                    pid: pid.parse().ok(),
                };
                self.instances.insert(key, row);
            }
            ["pool", name, slots, include_deferred] => {
                let pool =
                    PoolRow { slots: slots.parse().unwrap(), include_deferred: *include_deferred == "1" };
                self.pools.insert((*name).to_owned(), pool);
            }
            ["dag", dag_id, is_paused, max_active_runs, max_active_tasks] => {
                let row = DagRow {
                    is_paused: *is_paused == "1",
                    max_active_runs: max_active_runs.parse().unwrap(),
                    max_active_tasks: max_active_tasks.parse().unwrap(),
                };
                self.dags.insert((*dag_id).to_owned(), row);
            }
            ["consumed", dag_id, event, times] => {
                let key = ((*dag_id).to_owned(), event.parse().unwrap());
                self.consumed.insert(key, times.parse().unwrap());
            }
            ["waiting", dag_id] => self.waiting_for_run.push((*dag_id).to_owned()),
            other => panic!("{other:?}"),
        }
    }

    /// The DAG of an instance.
    pub(crate) fn dag_of(&self, key: &InstanceKey) -> &str {
        &self.runs[&key.run].dag_id
    }
}
