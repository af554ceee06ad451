//! A run that a user asks for, to be run here and at once.

use ferroflow_db::{Db, ScopedFutureExt as _, dag_run};
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::{DataInterval, NoRun, Timetable};
use ferroflow_operations::dag_run::check_params;
use ferroflow_python::timetables::Timetables;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::Error;
use crate::create_run::{NewRun, PlannedRun, create_planned};
use crate::run::{Definition, RunSettings};

/// What a run is made from.
#[derive(Clone, Debug)]
pub struct ManualRun {
    /// Its name.
    pub run_id: String,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// What it processes.
    pub data_interval: Option<DataInterval>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// What it is given.
    pub conf: Option<Map<String, Value>>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// How it was asked for.
    pub triggered_by: TriggeredBy,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
    /// The user of the operating system that makes it.
    pub unixname: String,
}

/// The name of the run that stood for the date before, if there was one.
pub type Replaced = Option<String>;

/// What a run of this date processes.
pub async fn data_interval(
    timetables: &Timetables,
    definition: &Definition,
    at: Timestamp,
) -> Result<DataInterval, Error> {
    let timetable = &definition.dag().timetable;
    match (timetable.manual_interval(at), timetable) {
        (Err(NoRun::Custom(_)), Timetable::Custom(custom)) => {
            let document = ferroflow_python::timetables::serialized(custom);
            Ok(timetables.manual_interval(&document, at).await?)
        }
        (interval, _) => Ok(interval?),
    }
}

/// Makes a run that runs at once. One that stands for the same date is deleted, as Airflow's command does.
pub async fn make(
    db: &Db,
    run_settings: &RunSettings,
    definition: &Definition,
    wanted: ManualRun,
) -> Result<Replaced, Error> {
    let dag = definition.dag();
    check_params(&dag.params, wanted.conf.as_ref().unwrap_or(&Map::new()))?;
    let now = clock::now();
    let run = &NewRun {
        dag_id: dag.dag_id.to_string(),
        run_id: wanted.run_id,
        run_type: RunType::Manual,
        logical_date: wanted.logical_date,
        data_interval: wanted.data_interval,
        run_after: wanted.run_after,
        state: RunState::Running,
        start_date: Some(now),
        conf: wanted.conf,
        triggered_by: wanted.triggered_by,
        triggering_user_name: wanted.triggering_user_name,
        note: None,
        partition_key: wanted.partition_key,
        partition_date: None,
        backfill_id: None,
        creating_job_id: None,
        bundle_version: definition.bundle_version.clone().filter(|_| !dag.disable_bundle_versioning),
        unixname: wanted.unixname,
    };
    let mut planned = PlannedRun::new(dag, &definition.version, run, now);
    planned.apply_mutation_hook(run_settings.rules.as_deref(), dag).await?;
    let planned = &planned;
    let made = db.transact(|tx| {
        async move {
            let mut replaced = None;
            if let Some(run_id) = dag_run::find_either(tx, &run.dag_id, "", run.logical_date).await?
                && let Some(there) = dag_run::find(tx, &run.dag_id, &run_id).await?
            {
                dag_run::delete(tx, there.id).await?;
                replaced = Some(run_id);
            }
            let made = create_planned(tx, planned, now).await;
            Error::split(made.map(|_| replaced).map_err(Error::from))
        }
        .scope_boxed()
    });
    made.await?
}
