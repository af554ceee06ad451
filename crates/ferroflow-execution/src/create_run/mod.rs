//! A run comes into being, and with it the first instance of each of its tasks.

mod trace;

use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::task_instance::{TaskInstance, TaskInstanceKey};
use ferroflow_db::{Json, Tx, dag_run, dag_run_creation, dag_run_note, task_instance};
use ferroflow_model::dag::{Dag, Task};
use ferroflow_model::readiness::first_instances;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::DataInterval;
use ferroflow_model::weight::{Weight, weights};
use ferroflow_model::{extended_json, id};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

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
}

/// Makes a run and all of its first task instances. What it was given has been checked against the parameters of the
/// DAG before; so has its name against what the configuration allows.
///
/// A run of that name, or of that logical date, that is there already is refused ([`Error::RunExists`]).
pub async fn create(
    tx: &mut Tx,
    dag: &Dag,
    version: &DagVersionRef,
    run: &NewRun,
    now: Timestamp,
) -> Result<CreatedRun, Error> {
    let there = dag_run::find_either(tx, &run.dag_id, &run.run_id, run.logical_date).await?;
    if let Some(there) = there {
        return Err(Error::RunExists { dag_id: run.dag_id.clone(), run_id: there });
    }
    let conf = run.conf.clone().unwrap_or_default();
    let carrier = run_carrier(&conf, rand::random());
    let id = dag_run::insert(tx, &run_row(run, version, conf, carrier.clone()), now).await?;
    if let Some(note) = &run.note {
        dag_run_note::insert(tx, id, None, note, now).await?;
    }
    let instances = instances(dag, version, run, &carrier, now);
    task_instance::insert_many(tx, &instances).await?;
    Ok(CreatedRun { id, instances: instances.len() })
}

/// A run to be made together with others.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    row: dag_run::NewDagRun,
    instances: Vec<TaskInstance>,
}

impl PlannedRun {
    /// What is to be written for a run. What it was given and its name have been checked before.
    pub fn new(dag: &Dag, version: &DagVersionRef, run: &NewRun, now: Timestamp) -> Self {
        let conf = run.conf.clone().unwrap_or_default();
        let carrier = run_carrier(&conf, rand::random());
        let instances = instances(dag, version, run, &carrier, now);
        Self { row: run_row(run, version, conf, carrier), instances }
    }
}

/// Makes several runs, of different DAGs or not, with few statements. Whoever calls has made sure that there are none of
/// their names and dates: one that is there fails them all.
pub async fn create_many(
    tx: &mut Tx,
    runs: Vec<PlannedRun>,
    now: Timestamp,
) -> Result<Vec<CreatedRun>, ferroflow_db::Error> {
    let (rows, instances): (Vec<_>, Vec<_>) = runs.into_iter().map(|run| (run.row, run.instances)).unzip();
    let ids = dag_run_creation::insert_many(tx, &rows, now).await?;
    let counts: Vec<usize> = instances.iter().map(Vec::len).collect();
    task_instance::insert_many(tx, &instances.concat()).await?;
    let made = rows.into_iter().zip(counts).map(|(row, instances)| {
        let id = ids.get(&(row.dag_id, row.run_id)).copied().unwrap_or_default();
        CreatedRun { id, instances }
    });
    Ok(made.collect())
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

/// A class of somebody's own would have to be asked in Python, and a transaction is no place to wait for that: such
/// tasks weigh what they say themselves.
fn known(weight: &Weight, task: &Task) -> i32 {
    match weight {
        Weight::Of(weight) => *weight,
        Weight::NeedsPython(class) => {
            tracing::warn!(task_id = %task.task_id, class = %class, "a weight rule that needs Python is not asked");
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
