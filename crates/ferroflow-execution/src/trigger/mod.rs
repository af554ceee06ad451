//! Runs that tasks ask for.

mod by_person;
mod checks;
mod making;
mod params;

use ferroflow_db::dag_version::serialized_dag::{self, SerializedDag};
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, ScopedFutureExt as _, Tx, dag, dag_run, task_instance};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::stored_dag::needs_python;
use ferroflow_model::timetable::DataInterval;
use ferroflow_telemetry::metrics::{RunTags, runs};
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use serde_json::Map;
use uuid::Uuid;

use crate::create_run::{
    self, CreatedRun, DagVersionRef, NewRun, OfRun, PlannedDeadlines, PlannedRun, plan_deadlines,
};
use crate::{Refusal, Service};

pub use by_person::{UserRun, trigger};
pub(crate) use checks::{may_run, serialized_timetable};
pub use making::{BadRunIdPattern, RunMaking};
pub use params::{BadParam, check_params};

/// A run that somebody asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedRun {
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// From when on it may run; from now on if not given.
    pub run_after: Option<Timestamp>,
    /// What it is given.
    pub conf: Map<String, serde_json::Value>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// What to write on it.
    pub note: Option<String>,
}

/// What is known of a DAG of which a run is asked for.
pub(crate) struct Known {
    pub(crate) row: dag::Dag,
    /// Its newest version.
    pub(crate) version: Uuid,
    pub(crate) dag: Dag,
    text: String,
    /// Who asked for the run of the task that asks.
    user: Option<String>,
}

impl Service {
    /// Makes a run that the task instance `caller` asks for, with all of its first task instances.
    pub async fn trigger_run(
        &self,
        making: &RunMaking,
        asked: &AskedRun,
        caller: Uuid,
    ) -> Result<(), Refusal> {
        let known = self.known(&asked.dag_id, &asked.run_id, caller).await?;
        let source = RunSource {
            run_type: RunType::OperatorTriggered,
            triggered_by: TriggeredBy::Operator,
            user: known.user.clone(),
        };
        make(self, making, &known, asked, source).await
    }

    /// The DAG, if runs of it may be asked for, and no run of that name is there.
    async fn known(&self, dag_id: &str, run_id: &str, caller: Uuid) -> Result<Known, Refusal> {
        let read = self.db.read(|tx| {
            async move {
                let row = dag::find(tx, dag_id).await?;
                let stored = serialized_dag::latest(tx, dag_id).await?;
                let is_there = dag_run::lookup::id(tx, dag_id, run_id).await?.is_some();
                let user = match task_instance::find(tx, caller).await? {
                    Some(caller) => dag_run::find(tx, &caller.key.dag_id, &caller.key.run_id).await?,
                    None => None,
                };
                Ok((row, stored, is_there, user.and_then(|run| run.triggering_user_name)))
            }
            .scope_boxed()
        });
        let (row, stored, is_there, user) = read.await?;
        let row = checks::may_run(dag_id, row)?;
        checks::run_type(&row, RunType::OperatorTriggered, "operator-triggered")?;
        if is_there {
            // Told after what else is wrong.
            serialized(dag_id, stored.as_ref())?;
            return Err(exists(dag_id, run_id));
        }
        Known::of(row, stored, user)
    }
}

impl Known {
    /// A DAG whose row and newest serialized form are these.
    pub(crate) fn of(
        row: dag::Dag,
        stored: Option<SerializedDag>,
        user: Option<String>,
    ) -> Result<Self, Refusal> {
        let version = serialized(&row.dag_id, stored.as_ref())?.dag_version_id;
        let text = stored.map(|stored| stored.data.into_text()).unwrap_or_default();
        let dag = decoded(&row.dag_id, &text)?;
        Ok(Self { row, version, dag, text, user })
    }

    /// The deadlines that a run of it gets.
    pub(crate) async fn deadlines(&self, service: &Service) -> Result<PlannedDeadlines, Refusal> {
        if self.dag.deadlines.is_empty() {
            return Ok(PlannedDeadlines::default());
        }
        let mut planned = plan_deadlines(service, &[self.version]).await?;
        let mut planned = planned.remove(&self.version).unwrap_or_default();
        planned.look_up(service).await;
        Ok(planned)
    }
}

fn serialized<'a>(dag_id: &str, stored: Option<&'a SerializedDag>) -> Result<&'a SerializedDag, Refusal> {
    stored.ok_or_else(|| {
        let message = format!("Dag id {dag_id} not found: its file has not been parsed");
        Refusal::api(500, "not_serialized", message)
    })
}

/// On whose behalf a run is made, and through which door the request came.
struct RunSource {
    run_type: RunType,
    triggered_by: TriggeredBy,
    user: Option<String>,
}

/// Makes a run that waits to be started, if it may be made.
async fn make(
    service: &Service,
    making: &RunMaking,
    known: &Known,
    asked: &AskedRun,
    source: RunSource,
) -> Result<(), Refusal> {
    let now = clock::now();
    let run_after = asked.run_after.unwrap_or(now);
    checks::logical_date(&known.dag, asked.logical_date)?;
    let data_interval = match asked.logical_date {
        Some(_) => Some(making.manual_interval(known, run_after).await?),
        None => None,
    };
    let partition_date = making.partition_date(known, asked.partition_key.as_deref()).await?;
    making.check_run_id(&asked.run_id)?;
    checks::partition_key(&known.row, &known.dag, asked.partition_key.as_deref())?;
    check_params(&known.dag.params, &asked.conf).map_err(|bad| value_error(bad.to_string()))?;
    let is_tied = !known.dag.disable_bundle_versioning;
    let run = NewRun {
        dag_id: asked.dag_id.clone(),
        run_id: asked.run_id.clone(),
        run_type: source.run_type,
        logical_date: asked.logical_date,
        data_interval,
        run_after,
        state: RunState::Queued,
        start_date: None,
        conf: Some(asked.conf.clone()),
        triggered_by: source.triggered_by,
        triggering_user_name: source.user,
        note: asked.note.clone(),
        partition_key: asked.partition_key.clone(),
        partition_date,
        backfill_id: None,
        creating_job_id: None,
        bundle_version: known.row.bundle_version.clone().filter(|_| is_tied),
        unixname: making.unixname.clone(),
    };
    let mut planned = PlannedRun::new(&known.dag, &DagVersionRef { id: known.version }, &run, now);
    let shaped = planned.apply_mutation_hook(making.rules.as_deref(), &known.dag).await;
    shaped.map_err(|error| value_error(chain(&error)))?;
    let mut deadlines = known.deadlines(service).await?;
    deadlines.ask(making.timetables.as_deref(), &planned).await;
    create(&service.db, &run, &Parts { planned, deadlines, bundle_name: &known.row.bundle_name }, now).await
}

/// What is written of a run.
struct Parts<'a> {
    planned: PlannedRun,
    deadlines: PlannedDeadlines,
    bundle_name: &'a str,
}

impl Parts<'_> {
    async fn write(
        &self,
        tx: &mut Tx,
        run: &NewRun,
        now: Timestamp,
    ) -> Result<(CreatedRun, (usize, Vec<String>)), create_run::Error> {
        let made = create_run::create_planned(tx, &self.planned, now).await?;
        let of_run = OfRun {
            id: made.id,
            dag_id: &run.dag_id,
            bundle_name: self.bundle_name,
            logical_date: run.logical_date,
        };
        Ok((made, self.deadlines.add(tx, &of_run, now).await?))
    }
}

async fn create(db: &Db, run: &NewRun, parts: &Parts<'_>, now: Timestamp) -> Result<(), Refusal> {
    let created = db.transact(|tx| {
        async move {
            notifications::notify(tx, Notification::QueuedOf { dag_id: run.dag_id.clone() }).await?;
            match parts.write(tx, run, now).await {
                Err(create_run::Error::Db(error)) => Err(error),
                other => Ok(other),
            }
        }
        .scope_boxed()
    });
    let refusal = match created.await {
        Ok(Ok((made, (deadlines, problems)))) => {
            let tags = RunTags { dag_id: &run.dag_id, run_type: run.run_type.as_str() };
            runs::instances_created(tags, &made.operators);
            for problem in problems {
                tracing::warn!(dag_id = run.dag_id, run_id = run.run_id, problem, "a run lacks a deadline");
            }
            if deadlines > 0 {
                runs::deadlines_created(&run.dag_id, deadlines);
            }
            return Ok(());
        }
        Ok(Err(create_run::Error::RunExists { run_id, .. })) => return Err(exists(&run.dag_id, &run_id)),
        Ok(Err(create_run::Error::Db(error))) | Err(error) => error,
    };
    // Somebody else may have made it in the meantime.
    if refusal.is_about_data() {
        let (dag_id, run_id, date) = (run.dag_id.as_str(), run.run_id.as_str(), run.logical_date);
        let there =
            db.read(|tx| async move { dag_run::find_either(tx, dag_id, run_id, date).await }.scope_boxed());
        if let Some(there) = there.await? {
            return Err(exists(dag_id, &there));
        }
    }
    Err(refusal.into())
}

impl RunMaking {
    async fn manual_interval(&self, known: &Known, run_after: Timestamp) -> Result<DataInterval, Refusal> {
        let timetable = &known.dag.timetable;
        if timetable.custom().is_none() {
            return timetable.manual_interval(run_after).map_err(|error| value_error(error.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(no_python(known)) };
        let asked = python.manual_interval(&checks::serialized_timetable(known)?, run_after).await;
        asked.map_err(|error| value_error(chain(&error)))
    }

    async fn partition_date(&self, known: &Known, key: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
        let Some(key) = key else { return Ok(None) };
        let timetable = &known.dag.timetable;
        if !needs_python(timetable) {
            return timetable
                .partition_date(key)
                .map_err(|error| Refusal::api(400, "invalid_partition_key", error.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(no_python(known)) };
        let asked = python.partition_date(&checks::serialized_timetable(known)?, key).await;
        asked.map_err(|error| value_error(chain(&error)))
    }
}

/// Reads a stored DAG.
pub(crate) fn decoded(dag_id: &str, text: &str) -> Result<Dag, Refusal> {
    Dag::decode(text)
        .map_err(|problems| Refusal::Stored { what: format!("DAG {dag_id:?}"), source: problems.into() })
}

pub(crate) fn value_error(message: impl Into<String>) -> Refusal {
    Refusal::api(400, "value_error", message)
}

pub(crate) fn no_python(known: &Known) -> Refusal {
    let message = format!(
        "DAG {} has a timetable of its own, which is evaluated in Python; here is nobody who can ask it",
        known.row.dag_id
    );
    Refusal::api(500, "timetable_needs_python", message)
}

fn exists(dag_id: &str, run_id: &str) -> Refusal {
    let message = format!("A run already exists for Dag '{dag_id}' with run_id '{run_id}'");
    Refusal::api(409, "already_exists", message)
}
