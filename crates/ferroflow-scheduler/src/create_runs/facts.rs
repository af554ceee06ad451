//! What the tables say of DAGs that may be due, as the model wants to know it.

use std::collections::HashMap;
use std::sync::Arc;

use ferroflow_db::dag::scheduling::DagFacts as DagRow;
use ferroflow_db::dag_run::create::{ActiveRuns, RunOfDate};
use ferroflow_db::{Error as DbError, Tx, dag_run};
use ferroflow_model::runs::create::DagFacts;
use ferroflow_model::runs::next::latest_instead_of;
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::{DataInterval, RunInfo};
use jiff::Timestamp;

use crate::run::Definition;

/// A DAG with its row, its newest version, and the run that is next.
pub(super) struct Seen {
    pub(super) row: DagRow,
    pub(super) definition: Arc<Definition>,
    pub(super) next: Next,
    allowed: Option<Vec<RunType>>,
    /// If its condition on assets is met: since when.
    pub(super) triggered_at: Option<Timestamp>,
    /// Whether it got a run for a partition in this pass.
    pub(super) got_partition_run: bool,
}

/// The next run of a schedule. Any part may be missing in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) create_after: Option<Timestamp>,
    pub(super) logical_date: Option<Timestamp>,
    pub(super) data_interval: Option<DataInterval>,
    pub(super) partition_key: Option<String>,
    pub(super) partition_date: Option<Timestamp>,
}

/// What other tables say.
#[derive(Default)]
pub(super) struct Surroundings {
    active: HashMap<String, ActiveRuns>,
    of_dates: HashMap<(String, Timestamp), RunOfDate>,
    last_scheduled: HashMap<String, Timestamp>,
    last_asset_triggered: HashMap<String, Timestamp>,
}

impl Seen {
    pub(super) fn new(row: DagRow, definition: &Arc<Definition>, now: Timestamp) -> Self {
        let mut next = Next::of_row(&row);
        if let Some(info) = next.info()
            && let Some(latest) = latest_instead_of(definition.dag(), &info, now)
        {
            next = Next::of_run(latest);
        }
        let allowed = row.allowed_run_types.as_ref().map(|words| {
            let words: Vec<String> = serde_json::from_str(&words.standard_text()).unwrap_or_default();
            words.iter().filter_map(|word| word.parse().ok()).collect()
        });
        let definition = Arc::clone(definition);
        Self { row, definition, next, allowed, triggered_at: None, got_partition_run: false }
    }

    pub(super) fn dag_id(&self) -> &str {
        &self.row.dag_id
    }

    pub(super) fn facts<'s>(&'s self, around: &Surroundings) -> DagFacts<'s> {
        let (row, next, id) = (&self.row, &self.next, self.dag_id());
        let active = around.active.get(id).copied().unwrap_or_default();
        DagFacts {
            dag_id: id,
            is_paused: row.is_paused,
            is_stale: row.is_stale,
            has_import_errors: row.has_import_errors,
            max_active_runs: row.max_active_runs,
            active_runs: active.others,
            active_backfill_runs: active.backfills,
            next_dagrun_create_after: next.create_after,
            next_dagrun: next.logical_date,
            next_dagrun_data_interval: next.data_interval,
            next_dagrun_partition_key: next.partition_key.as_deref(),
            next_dagrun_partition_date: next.partition_date,
            next_dagrun_exists: around.run_of_next(self).is_some(),
            timetable_partitioned: row.timetable_partitioned,
            allowed_run_types: self.allowed.as_deref(),
            assets_triggered_at: self.triggered_at,
            got_partition_run: self.got_partition_run,
            last_scheduled_at: around.last_scheduled.get(id).copied(),
            last_asset_triggered_at: around.last_asset_triggered.get(id).copied(),
        }
    }

    /// What the timetable is told of the run that has the date of the next one already.
    pub(super) fn existing(&self, around: &Surroundings) -> Option<RunInfo> {
        around.run_of_next(self).map(|there| there.run.info(&self.definition.dag().timetable))
    }
}

impl Next {
    fn of_row(row: &DagRow) -> Self {
        Self {
            create_after: row.next_dagrun_create_after,
            logical_date: row.next_dagrun,
            data_interval: row.next_dagrun_data_interval,
            partition_key: row.next_dagrun_partition_key.clone(),
            partition_date: row.next_dagrun_partition_date,
        }
    }

    fn of_run(run: RunInfo) -> Self {
        Self {
            create_after: Some(run.run_after),
            logical_date: run.logical_date(),
            data_interval: run.data_interval,
            partition_key: run.partition_key,
            partition_date: run.partition_date,
        }
    }

    /// What a timetable is told of it.
    pub(super) fn info(&self) -> Option<RunInfo> {
        Some(RunInfo {
            run_after: self.create_after?,
            data_interval: self.data_interval,
            partition_date: self.partition_date,
            partition_key: self.partition_key.clone(),
        })
    }
}

impl Surroundings {
    /// What a decision depends on besides the rows of the DAGs.
    pub(super) async fn load(tx: &mut Tx, dags: &[Seen]) -> Result<Self, DbError> {
        let ids: Vec<&str> = dags.iter().map(Seen::dag_id).collect();
        let dates: Vec<(&str, Timestamp)> =
            dags.iter().filter_map(|dag| Some((dag.dag_id(), dag.next.logical_date?))).collect();
        Ok(Self {
            active: dag_run::create::count_active(tx, &ids).await?,
            of_dates: dag_run::create::of_dates(tx, &dates).await?,
            ..Self::default()
        })
    }

    /// Adds when each DAG was last served, which says whose turn it is.
    pub(super) async fn load_turns(
        &mut self,
        tx: &mut Tx,
        dags: &[Seen],
        now: Timestamp,
    ) -> Result<(), DbError> {
        let ids: Vec<&str> = dags.iter().map(Seen::dag_id).collect();
        self.last_scheduled = dag_run::create::last_scheduled(tx, &ids).await?;
        for dag in dags.iter().filter(|dag| dag.triggered_at.is_some()) {
            if let Some(last) = dag_run::create::last_asset_triggered(tx, dag.dag_id(), now).await? {
                self.last_asset_triggered.insert(dag.dag_id().to_owned(), last);
            }
        }
        Ok(())
    }

    fn run_of_next(&self, dag: &Seen) -> Option<&RunOfDate> {
        self.of_dates.get(&(dag.dag_id().to_owned(), dag.next.logical_date?))
    }
}
