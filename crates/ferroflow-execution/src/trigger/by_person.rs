//! Runs that people ask for, by a command or over the API.

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{ScopedFutureExt as _, dag};
use ferroflow_model::state::{RunType, TriggeredBy};
use ferroflow_model::timetable::RunInfo;
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{AskedRun, Known, RunSource, checks, exists, make, no_python, value_error};
use crate::{Refusal, RunMaking, Service};

/// A run that a person asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRun {
    /// The DAG.
    pub dag_id: String,
    /// Why: by hand, or to update an asset.
    pub run_type: RunType,
    /// The name of the run; its timetable names it if not given.
    pub run_id: Option<String>,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// From when on it may run; from now on if not given.
    pub run_after: Option<Timestamp>,
    /// What it is given.
    pub conf: Map<String, Value>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// What to write on it.
    pub note: Option<String>,
    /// Which door the request came through.
    pub triggered_by: TriggeredBy,
    /// Who asks for it.
    pub user: Option<String>,
}

/// Makes a run that a person asks for, with all of its first task instances. A scheduler starts it, once its DAG is not
/// paused.
pub async fn trigger(service: &Service, making: &RunMaking, asked: &UserRun) -> Result<DagRun, Refusal> {
    let (db, dag_id) = (&service.db, asked.dag_id.as_str());
    let read = db.read(|tx| {
        async move { Ok((dag::find(tx, dag_id).await?, serialized_dag::latest(tx, dag_id).await?)) }
            .scope_boxed()
    });
    let (row, stored) = read.await?;
    let row = row.ok_or_else(|| Refusal::NotFound(format!("Dag id {dag_id} not found in DagModel")))?;
    checks::run_type(&row, asked.run_type, asked.run_type.as_str())?;
    let known = Known::of(row, stored, None)?;
    let run_after = asked.run_after.unwrap_or_else(clock::now);
    let run_id = match &asked.run_id {
        Some(run_id) if !run_id.is_empty() => run_id.clone(),
        _ => making.manual_run_id(&known, asked, run_after).await?,
    };
    if asked.run_type == RunType::Manual {
        reserved(&run_id)?;
    }
    let name = run_id.as_str();
    let there = db.read(|tx| async move { dag_run::find(tx, dag_id, name).await }.scope_boxed());
    if there.await?.is_some() {
        return Err(exists(dag_id, &run_id));
    }
    let wanted = AskedRun {
        dag_id: asked.dag_id.clone(),
        run_id: run_id.clone(),
        logical_date: asked.logical_date,
        run_after: Some(run_after),
        conf: asked.conf.clone(),
        partition_key: asked.partition_key.clone(),
        note: asked.note.clone(),
    };
    let source =
        RunSource { run_type: asked.run_type, triggered_by: asked.triggered_by, user: asked.user.clone() };
    make(service, making, &known, &wanted, source).await?;
    let made = db.read(|tx| async move { dag_run::find(tx, dag_id, name).await }.scope_boxed());
    made.await?.ok_or_else(|| Refusal::NotFound(format!("run {run_id} was deleted as soon as it was made")))
}

/// Names that tell of another kind of run are for those.
fn reserved(run_id: &str) -> Result<(), Refusal> {
    let others = RunType::ALL.iter().filter(|kind| **kind != RunType::Manual);
    let mut kinds = others.map(|kind| kind.as_str());
    let kind = kinds.find(|kind| run_id.strip_prefix(kind).is_some_and(|rest| rest.starts_with("__")));
    kind.map_or(Ok(()), |kind| {
        let message =
            format!("A manual DAG run cannot use ID '{run_id}' since it is reserved for {kind} runs");
        Err(value_error(message))
    })
}

impl RunMaking {
    /// The name that the timetable of a DAG gives to a run that somebody asks for.
    async fn manual_run_id(
        &self,
        known: &Known,
        asked: &UserRun,
        run_after: Timestamp,
    ) -> Result<String, Refusal> {
        let (timetable, run_type) = (&known.dag.timetable, asked.run_type);
        if timetable.custom().is_none() {
            let named = timetable.run_id(run_type, run_after, None, rand::random());
            return named.map_err(|error| value_error(error.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(no_python(known)) };
        let data_interval = if asked.logical_date.is_some() {
            Some(self.manual_interval(known, run_after).await?)
        } else {
            None
        };
        let run = RunInfo { run_after, data_interval, partition_date: None, partition_key: None };
        let document = checks::serialized_timetable(known)?;
        let asked = python.run_id(&document, run_type.as_str(), &run).await;
        asked.map_err(|error| value_error(chain(&error)))
    }
}
