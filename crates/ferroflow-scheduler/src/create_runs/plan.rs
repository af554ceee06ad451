//! The run that a DAG gets.

use ferroflow_db::dag::scheduling::DagFacts as DagRow;
use ferroflow_model::dag::Dag;
use ferroflow_model::runs::create::NewRun as DecidedRun;
use ferroflow_model::runs::next::{NoNextRun, next_run_after};
use ferroflow_model::state::{RunState, RunType};
use ferroflow_model::timetable::{NoRun, RunInfo};
use ferroflow_operations::dag_run::create::{CreatedRun, NewRun, PlannedDeadlines, PlannedRun};
use ferroflow_operations::dag_run::{RunMaking, check_params};
use jiff::Timestamp;
use serde_json::Map;

use super::ask::Asked;
use super::report::{Created, NotCreated};
use crate::questions::{Due, NewRunKey, NewRunQuestion};
use crate::run::{Definition, RunSettings};

/// A run to be written.
#[derive(Clone)]
pub(crate) struct Plan {
    /// What Python is asked, if it has a say.
    pub(super) question: NewRunQuestion,
    pub(super) run: PlannedRun,
    pub(super) deadlines: PlannedDeadlines,
    pub(super) outline: Outline,
}

/// What has to be known of a run once it is written.
#[derive(Clone)]
pub(super) struct Outline {
    pub(super) dag_id: String,
    pub(super) run_id: String,
    pub(super) run_type: RunType,
    pub(super) run_after: Timestamp,
    pub(super) logical_date: Option<Timestamp>,
    pub(super) partition_key: Option<String>,
}

/// Whose run it is.
pub(super) struct Owner<'a> {
    pub(super) row: &'a DagRow,
    pub(super) definition: &'a Definition,
    pub(super) asked: Option<&'a Asked>,
    pub(super) deadlines: &'a PlannedDeadlines,
}

/// Plans a run, unless its name or a parameter of the DAG stands in the way.
pub(super) fn plan(
    run_settings: &RunSettings,
    making: &RunMaking,
    owner: &Owner<'_>,
    run: &DecidedRun<'_>,
    now: Timestamp,
) -> Result<Plan, NotCreated> {
    let dag = owner.definition.dag();
    let run_id = run_id(owner, run)?;
    making.check_run_id(&run_id).map_err(|refusal| NotCreated::BadRunId(refusal.to_string()))?;
    check_params(&dag.params, &Map::new())?;
    let bundle_version = owner.row.bundle_version.clone().filter(|_| !dag.disable_bundle_versioning);
    let new = NewRun {
        dag_id: owner.row.dag_id.clone(),
        run_id: run_id.clone(),
        run_type: run.run_type,
        logical_date: run.logical_date,
        data_interval: run.data_interval,
        run_after: run.run_after,
        state: RunState::Queued,
        start_date: None,
        conf: None,
        triggered_by: run.triggered_by,
        triggering_user_name: None,
        note: None,
        partition_key: run.partition_key.map(str::to_owned),
        partition_date: run.partition_date,
        backfill_id: None,
        creating_job_id: run_settings.job_id,
        bundle_version,
        unixname: run_settings.unixname.clone(),
    };
    Ok(Plan {
        question: NewRunQuestion {
            dag_hash: owner.definition.hash.clone(),
            version: owner.definition.version.id,
            run: asked_about(&new),
        },
        run: PlannedRun::new(dag, &owner.definition.version, &new, now),
        deadlines: owner.deadlines.clone(),
        outline: Outline {
            dag_id: new.dag_id,
            run_id,
            run_type: run.run_type,
            run_after: run.run_after,
            logical_date: run.logical_date,
            partition_key: new.partition_key,
        },
    })
}

/// A run as far as two questions about it are the same: without its name, which may be one by chance, and without the time
/// of what assets ask for, which is that of the pass or of the last event.
fn asked_about(run: &NewRun) -> NewRun {
    let run_after =
        if run.run_type == RunType::AssetTriggered { Timestamp::UNIX_EPOCH } else { run.run_after };
    NewRun { run_id: String::new(), run_after, ..run.clone() }
}

impl Plan {
    /// The same run as Python was asked about it, at the time that it has by now. It keeps the name that Python knows.
    pub(super) fn as_said(&self, said: Self) -> Self {
        let run_after = self.outline.run_after;
        let outline = Outline { run_after, ..said.outline };
        Self { run: said.run.at(run_after), outline, ..said }
    }

    /// What the run is of.
    pub(super) fn key(&self) -> NewRunKey {
        (self.outline.dag_id.clone(), self.outline.partition_key.clone())
    }
}

impl Outline {
    /// What is reported of the run.
    pub(super) fn created(
        self,
        made: CreatedRun,
        consumed_events: u64,
        (deadlines, missing_deadlines): (usize, Vec<String>),
    ) -> Created {
        Created {
            id: made.id,
            dag_id: self.dag_id,
            run_id: self.run_id,
            run_type: self.run_type,
            run_after: self.run_after,
            partition_key: self.partition_key,
            instances: made.instances,
            operators: made.operators,
            consumed_events,
            deadlines,
            missing_deadlines,
        }
    }
}

/// The run that follows `last`; `None` if the schedule is over or cannot be computed, as official schedulers take it.
pub(super) fn next_after(
    dag: &Dag,
    asked: Option<&Asked>,
    last: &RunInfo,
    now: Timestamp,
) -> Result<Option<RunInfo>, NotCreated> {
    match next_run_after(dag, Some(last), now) {
        Ok(next) => Ok(Some(next)),
        Err(NoNextRun::Over) => Ok(None),
        Err(NoNextRun::Failed(reason)) => {
            tracing::error!(dag_id = %dag.dag_id, %reason, "next run cannot be computed; the DAG has none");
            Ok(None)
        }
        Err(NoNextRun::AskPython(_)) => match asked {
            Some(asked) if asked.about == *last => Ok(said(asked)?.next),
            _ => Err(NotCreated::Changed),
        },
    }
}

fn said(asked: &Asked) -> Result<Due, NotCreated> {
    let said = asked.said.clone();
    said.map_err(|no_answer| NotCreated::unanswered(no_answer, NotCreated::Timetable))
}

/// What a timetable is told of a run that is made.
pub(super) fn info(run: &DecidedRun<'_>) -> RunInfo {
    RunInfo {
        run_after: run.run_after,
        data_interval: run.data_interval,
        partition_date: run.partition_date,
        partition_key: run.partition_key.map(str::to_owned),
    }
}

fn run_id(owner: &Owner<'_>, run: &DecidedRun<'_>) -> Result<String, NotCreated> {
    match run.run_id(&owner.definition.dag().timetable, rand::random()) {
        Ok(run_id) => Ok(run_id),
        Err(NoRun::Custom(_)) => match owner.asked {
            Some(asked) if asked.about == info(run) => Ok(said(asked)?.run_id),
            _ => Err(NotCreated::Changed),
        },
        Err(reason) => Err(NotCreated::Timetable(reason.to_string())),
    }
}
