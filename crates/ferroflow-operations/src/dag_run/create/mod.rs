//! A run comes into being, and with it the first instance of each of its tasks.

mod deadlines;
mod mutation_hook;
mod trace;

use std::collections::BTreeMap;

use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Json, Tx, dag_run};
use ferroflow_model::dag::{Dag, Task};
use ferroflow_model::readiness::first_instances;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::DataInterval;
use ferroflow_model::weight::{Weight, weights};
use ferroflow_model::{extended_json, id};
use ferroflow_python::task_instances::{InstanceRuleError, InstanceRules, Occasion};
use ferroflow_python::timetables::RunToBe;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub use deadlines::{OfRun, PlannedDeadlines, plan_deadlines};
pub use mutation_hook::{About, apply_mutation_hook, apply_mutation_hook_to_all, has_say};
pub use trace::run_carrier;

/// Why a run was not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database.
    #[error(transparent)]
    Db(#[from] ferroflow_db::Error),
    /// There is a run of that name or of that logical date.
    #[error("DAG {dag_id} already has run {run_id}, of the same name or of the same logical date")]
    RunExists {
        /// The DAG.
        dag_id: String,
        /// The run that is there.
        run_id: String,
    },
}

/// The version of a DAG that a run begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagVersionRef {
    /// Its row in `dag_version`.
    pub id: Uuid,
}

/// A run to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// The DAG.
    pub dag_id: String,
    /// The name of the run, which no other run of its DAG has.
    pub run_id: String,
    /// Why it exists.
    pub run_type: RunType,
    /// The date that it stands for, which no other run of its DAG has either.
    pub logical_date: Option<Timestamp>,
    /// What it processes; none without a logical date.
    pub data_interval: Option<DataInterval>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// Where it begins: queued or running.
    pub state: RunState,
    /// When it started, if that is not now; only where it begins running.
    pub start_date: Option<Timestamp>,
    /// What it was given.
    pub conf: Option<Map<String, Value>>,
    /// Which door the request came through.
    pub triggered_by: TriggeredBy,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
    /// What people should know about it.
    pub note: Option<String>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// The date that its partition stands for.
    pub partition_date: Option<Timestamp>,
    /// The backfill that it belongs to.
    pub backfill_id: Option<i64>,
    /// The scheduler that makes it.
    pub creating_job_id: Option<i64>,
    /// The version of the bundle, if the run is tied to one.
    pub bundle_version: Option<String>,
    /// The user of the operating system that makes it.
    pub unixname: String,
}

/// A run that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedRun {
    /// Its row.
    pub id: i64,
    /// How many task instances it has.
    pub instances: usize,
    /// How many of them are of each kind of operator.
    pub operators: Vec<(String, usize)>,
}

/// A run to be made, alone or together with others.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    row: dag_run::NewDagRun,
    note: Option<String>,
    instances: Vec<TaskInstance>,
}

impl PlannedRun {
    /// What is to be written for a run. What it was given and its name have been checked before.
    pub fn new(dag: &Dag, version: &DagVersionRef, run: &NewRun, now: Timestamp) -> Self {
        let conf = run.conf.clone().unwrap_or_default();
        let carrier = run_carrier(&conf, rand::random());
        let instances = instances(dag, version, run, &carrier, now);
        Self { row: run_row(run, version, conf, carrier), note: run.note.clone(), instances }
    }

    /// The same, as a run of a backfill.
    #[must_use]
    pub fn of_backfill(mut self, id: i64) -> Self {
        self.row.backfill_id = Some(id);
        self
    }

    /// The same, from this time on.
    #[must_use]
    pub fn at(mut self, run_after: Timestamp) -> Self {
        self.row.run_after = run_after;
        self
    }

    /// Its name.
    pub fn run_id(&self) -> &str {
        &self.row.run_id
    }

    /// How many task instances it has.
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// Whether Python has a say about any of its task instances.
    pub fn needs_python(&self, dag: &Dag, has_hook: bool) -> bool {
        self.instances.iter().any(|instance| has_say(dag, &instance.key.task_id, has_hook))
    }

    /// Gives its task instances the shape that user code wants for them.
    pub async fn apply_mutation_hook(
        &mut self,
        rules: Option<&InstanceRules>,
        dag: &Dag,
    ) -> Result<(), InstanceRuleError> {
        let about = About {
            dag,
            version: self.row.created_dag_version_id.unwrap_or_default(),
            run_id: &self.row.run_id,
            new_run: Some(as_python_sees(&self.row)),
            occasion: Occasion::Created,
        };
        apply_mutation_hook(rules, &about, &mut self.instances).await
    }

    /// What user code may know of it before it is made.
    fn to_be(&self) -> RunToBe {
        RunToBe {
            version: self.row.created_dag_version_id.unwrap_or_default().to_string(),
            dag_id: self.row.dag_id.clone(),
            run_id: self.row.run_id.clone(),
            fields: as_python_sees(&self.row),
        }
    }
}

/// Makes a run and all of its first task instances, about which Python has no say. What it was given has been checked
/// against the parameters of the DAG before; so has its name against what the configuration allows.
///
/// A run of that name, or of that logical date, that is there already is refused ([`Error::RunExists`]).
pub async fn create(
    tx: &mut Tx,
    dag: &Dag,
    version: &DagVersionRef,
    run: &NewRun,
    now: Timestamp,
) -> Result<CreatedRun, Error> {
    create_planned(tx, &PlannedRun::new(dag, version, run, now), now).await
}

/// The same, of a run that was planned before.
pub async fn create_planned(tx: &mut Tx, run: &PlannedRun, now: Timestamp) -> Result<CreatedRun, Error> {
    let PlannedRun { row, note, instances } = run;
    let there = dag_run::find_either(tx, &row.dag_id, &row.run_id, row.logical_date).await?;
    if let Some(there) = there {
        return Err(Error::RunExists { dag_id: row.dag_id.clone(), run_id: there });
    }
    let id = dag_run::insert(tx, row, now).await?;
    if let Some(note) = note {
        dag_run::note::insert(tx, id, None, note, now).await?;
    }
    task_instance::insert_many(tx, instances).await?;
    Ok(CreatedRun { id, instances: instances.len(), operators: operators(instances) })
}

/// Makes several runs, of different DAGs or not, with few statements. Whoever calls has made sure that there are none of
/// their names and dates: one that is there fails them all.
pub async fn create_many(
    tx: &mut Tx,
    runs: Vec<PlannedRun>,
    now: Timestamp,
) -> Result<Vec<CreatedRun>, ferroflow_db::Error> {
    let (rows, mut instances): (Vec<_>, Vec<_>) =
        runs.into_iter().map(|run| (run.row, run.instances)).unzip();
    // They may have been planned before Python was asked about them.
    instances.iter_mut().flatten().for_each(|instance| instance.updated_at = Some(now));
    let ids = dag_run::create::insert_many(tx, &rows, now).await?;
    task_instance::insert_many(tx, &instances.concat()).await?;
    let made = rows.into_iter().zip(&instances).map(|(row, instances)| {
        let id = ids.get(&(row.dag_id, row.run_id)).copied().unwrap_or_default();
        CreatedRun { id, instances: instances.len(), operators: operators(instances) }
    });
    Ok(made.collect())
}

/// How many task instances are of each kind of operator.
pub fn operators(instances: &[TaskInstance]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for operator in instances.iter().filter_map(|instance| instance.operator.as_deref()) {
        *counts.entry(operator).or_default() += 1;
    }
    counts.into_iter().map(|(operator, count)| (operator.to_owned(), count)).collect()
}

fn run_row(
    run: &NewRun,
    version: &DagVersionRef,
    conf: Map<String, Value>,
    context_carrier: Value,
) -> dag_run::NewDagRun {
    dag_run::NewDagRun {
        dag_id: run.dag_id.clone(),
        run_id: run.run_id.clone(),
        state: run.state,
        start_date: run.start_date,
        run_type: run.run_type,
        triggered_by: Some(run.triggered_by),
        triggering_user_name: run.triggering_user_name.clone(),
        creating_job_id: run.creating_job_id,
        backfill_id: run.backfill_id,
        logical_date: run.logical_date,
        data_interval_start: run.data_interval.map(|interval| interval.start),
        data_interval_end: run.data_interval.map(|interval| interval.end),
        run_after: run.run_after,
        partition_key: run.partition_key.clone(),
        partition_date: run.partition_date,
        conf: Json::from(Value::Object(conf)),
        bundle_version: run.bundle_version.clone(),
        created_dag_version_id: Some(version.id),
        context_carrier,
    }
}

/// What a `DagRun` is made of.
fn as_python_sees(row: &dag_run::NewDagRun) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    let interval = row.data_interval_start.zip(row.data_interval_end);
    json!({
        "logical_date": time(row.logical_date),
        "run_after": time(Some(row.run_after)),
        "start_date": time(row.start_date),
        "conf": row.conf.value().unwrap_or_else(|_| json!({})),
        "state": row.state.as_str(),
        "run_type": row.run_type.as_str(),
        "creating_job_id": row.creating_job_id,
        "data_interval": interval.map(|(start, end)| [start.to_string(), end.to_string()]),
        "triggered_by": row.triggered_by.map(TriggeredBy::as_str),
        "triggering_user_name": row.triggering_user_name,
        "backfill_id": row.backfill_id,
        "bundle_version": row.bundle_version,
        "partition_key": row.partition_key,
        "partition_date": time(row.partition_date),
        "context_carrier": row.context_carrier,
    })
}

fn instances(
    dag: &Dag,
    version: &DagVersionRef,
    run: &NewRun,
    carrier: &Value,
    now: Timestamp,
) -> Vec<TaskInstance> {
    let weights = weights(dag);
    let origin = Origin {
        dag_id: &run.dag_id,
        run_id: &run.run_id,
        unixname: &run.unixname,
        carrier,
        version: *version,
    };
    let mut instances = Vec::with_capacity(dag.tasks().len());
    for (task, indexes) in first_instances(dag, run.run_type, run.logical_date) {
        let template = fresh(&dag[task], &weights[task.position()], &origin, now);
        instances.extend(indexes.map(|map_index| numbered(&template, map_index, now)));
    }
    instances
}

/// Where new task instances belong.
pub struct Origin<'a> {
    /// The DAG.
    pub dag_id: &'a str,
    /// The run.
    pub run_id: &'a str,
    /// The user of the operating system that makes it.
    pub unixname: &'a str,
    /// Where the run stands in a trace.
    pub carrier: &'a Value,
    /// The version of the DAG.
    pub version: DagVersionRef,
}

/// A task instance that nobody has looked at yet.
pub fn fresh(task: &Task, weight: &Weight, origin: &Origin<'_>, now: Timestamp) -> TaskInstance {
    let details = task.details();
    let key = TaskInstanceKey {
        dag_id: origin.dag_id.to_owned(),
        run_id: origin.run_id.to_owned(),
        task_id: task.task_id.to_string(),
        map_index: id::NOT_MAPPED,
    };
    TaskInstance {
        max_tries: task.retries,
        unixname: Some(origin.unixname.to_owned()),
        pool: task.pool.to_string(),
        pool_slots: task.pool_slots,
        queue: Some(task.queue.to_string()),
        priority_weight: Some(known(weight, task)),
        operator: Some(task.operator.task_type.to_string()),
        custom_operator_name: Some(task.operator.name.to_string()),
        executor: details.executor.as_deref().map(str::to_owned),
        executor_config: Some(executor_config(details.executor_config.as_ref())),
        context_carrier: Some(origin.carrier.clone()),
        task_display_name: Some(task.display_name().to_owned()),
        dag_version_id: Some(origin.version.id),
        ..TaskInstance::new(Uuid::nil(), key, now)
    }
}

/// The instance with a map index, and with an identity of its own.
pub fn numbered(template: &TaskInstance, map_index: i32, now: Timestamp) -> TaskInstance {
    let key = TaskInstanceKey { map_index, ..template.key.clone() };
    TaskInstance { id: id::new_v7(now, rand::random()), key, ..template.clone() }
}

/// A class of somebody's own has its say when the instance is [shaped](apply_mutation_hook()); until then the task weighs what it says
/// itself.
fn known(weight: &Weight, task: &Task) -> i32 {
    match weight {
        Weight::Of(weight) => *weight,
        Weight::NeedsPython(_) => {
            let nearest = if task.priority_weight < 0 { i32::MIN } else { i32::MAX };
            i32::try_from(task.priority_weight).unwrap_or(nearest)
        }
    }
}

/// Airflow pickles a dict; what a pod override is stays in its envelope there, too.
fn executor_config(document: Option<&Json>) -> ExecutorConfig {
    let value = document.and_then(|json| json.value().ok()).map(|value| extended_json::decode(&value));
    value.map_or_else(ExecutorConfig::default, |value| ExecutorConfig::pickle(&value))
}
