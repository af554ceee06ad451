//! A database with a DAG whose tasks do all that tasks do.

use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::testing::change;
use ferroflow_db::{Db, Json, ScopedFutureExt as _, asset, dag, dag_bundle};
use ferroflow_execution::{Rules, Service};
use ferroflow_model::asset::Asset;
use ferroflow_model::dag::Dag;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::stored_assets::{Access, Reference};
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::create_run::{self, DagVersionRef, NewRun};
use ferroflow_scheduler::run::{Pace, RunSettings};
use ferroflow_scheduler::{Context, Definitions, Progress, Questions};
use ferroflow_testkit::TestDb;
use ferroflow_testkit::rows::a_dag;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::bad_database::disturbance::Disturbance;
use crate::bad_database::sketch::Sketch;

pub(crate) const DAG: &str = "life";
/// A DAG of which a task makes a run. It is paused.
pub(crate) const OTHER_DAG: &str = "other";
/// A DAG whose next run is due when a life begins, and one that waits for the asset.
pub(crate) const DUE_DAG: &str = "due";
pub(crate) const CONSUMER: &str = "consumer";
pub(crate) const ASSET: &str = "asset";
pub(crate) const START: Timestamp = Timestamp::constant(1_704_067_230, 0);

pub(crate) struct Place {
    /// It is gone with this.
    pub(crate) database: TestDb,
    /// A way on which nothing goes wrong.
    pub(crate) direct: Db,
    /// The other one.
    pub(crate) db: Db,
    pub(crate) settings: Arc<Settings>,
    environment: Arc<Environment>,
    /// What goes wrong where there is no server.
    pub(crate) disturbance: Disturbance,
    dag: Dag,
    version: DagVersionRef,
}

fn sketch() -> Sketch {
    let mut sketch = Sketch::of(
        "push; mapped < push; retry; sensor; defer; die; unstarted; trigger; skip; fail; after < fail; \
         last : all_done < mapped, retry, sensor, defer, die, unstarted, trigger, skip, after",
    )
    .setting("catchup", json!(false))
    .mapped_over("mapped", "push")
    .mapped("skip", 1)
    .with("sensor", "_is_sensor", json!(true))
    .with("sensor", "reschedule", json!(true));
    for task in ["retry", "die", "unstarted"] {
        sketch = sketch.with(task, "retries", json!(1)).with(task, "retry_delay", json!(1)).with(
            task,
            "has_on_retry_callback",
            json!(true),
        );
    }
    sketch
}

/// Of its schedule no other run comes within a life.
fn due_sketch() -> Sketch {
    let fields = json!({"expression": "0 0 1 1 *", "timezone": "UTC"});
    let yearly = json!({"__type": "airflow.timetables.interval.CronDataIntervalTimetable", "__var": fields});
    let sketch = Sketch::of("tick").setting("timetable", yearly).setting("catchup", json!(true));
    sketch.setting("start_date", json!((START - SignedDuration::from_hours(24)).as_second()))
}

fn consumer_sketch() -> Sketch {
    let asset = json!({"__type": "asset", "name": ASSET, "uri": ASSET, "group": "asset", "extra": {}});
    let fields = json!({"asset_condition": asset});
    let on_asset = json!({"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": fields});
    Sketch::of("consume").setting("timetable", on_asset)
}

impl Place {
    pub(crate) async fn new(database: TestDb, direct: Db, db: Db) -> Self {
        let environment = Environment::empty("/nowhere")
            .with("AIRFLOW_HOME", "/nowhere")
            .with("AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME", "1");
        let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
        let text = sketch().document(DAG).to_string();
        let dag = Dag::decode(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let version = store(&direct, a_dag(DAG), text).await;
        let paused = dag::Dag { is_paused: true, ..a_dag(OTHER_DAG) };
        store(&direct, paused, Sketch::of("a").document(OTHER_DAG).to_string()).await;
        let due = dag::Dag { timetable_periodic: true, max_active_runs: Some(16), ..a_dag(DUE_DAG) };
        store(&direct, due, due_sketch().document(DUE_DAG).to_string()).await;
        let asset_expression = Some(Json::from(json!({"any": []})));
        let consumer = dag::Dag { asset_expression, max_active_runs: Some(16), ..a_dag(CONSUMER) };
        store(&direct, consumer, consumer_sketch().document(CONSUMER).to_string()).await;
        store_asset(&direct).await;
        let (environment, settings) = (Arc::new(environment), Arc::new(settings));
        Self {
            database,
            direct,
            db,
            settings,
            environment,
            disturbance: Disturbance::default(),
            dag,
            version,
        }
    }

    /// Makes a run that waits to be started.
    pub(crate) async fn make_run(&self, run_id: &str, now: Timestamp) {
        let run = &NewRun {
            dag_id: DAG.to_owned(),
            run_id: run_id.to_owned(),
            run_type: RunType::Manual,
            logical_date: None,
            data_interval: None,
            run_after: now,
            state: RunState::Queued,
            start_date: None,
            conf: None,
            triggered_by: TriggeredBy::Test,
            triggering_user_name: None,
            note: None,
            partition_key: None,
            partition_date: None,
            backfill_id: None,
            creating_job_id: None,
            bundle_version: None,
            unixname: "somebody".to_owned(),
        };
        let made = self.direct.transact(|tx| {
            async move {
                match create_run::create(tx, &self.dag, &self.version, run, now).await {
                    Err(create_run::Error::Db(error)) => Err(error),
                    other => Ok(other.map(drop)),
                }
            }
            .scope_boxed()
        });
        made.await.unwrap().unwrap();
    }

    /// A run of the other DAG is due.
    pub(crate) async fn make_due(&self, now: Timestamp) {
        let time = now.strftime("'%Y-%m-%d %H:%M:%S'");
        let statement = format!(
            "UPDATE dag SET next_dagrun = {time}, next_dagrun_data_interval_start = {time}, \
             next_dagrun_data_interval_end = {time}, next_dagrun_create_after = {time} WHERE dag_id = '{DUE_DAG}'"
        );
        change(&self.direct, &statement).await.unwrap();
    }

    pub(crate) fn service(&self) -> Service {
        Service {
            db: self.db.clone(),
            fernet: Arc::new(Fernet::new("").unwrap()),
            environment: Arc::clone(&self.environment),
            backend: None,
            timetables: None,
            rules: Rules::of(&self.settings),
        }
    }

    /// What the steps of a scheduler are given.
    pub(crate) fn context(&self, job_id: i64) -> Arc<Context> {
        Arc::new(Context {
            db: self.db.clone(),
            settings: Arc::clone(&self.settings),
            job_id,
            run_settings: RunSettings {
                job_id: Some(job_id),
                unixname: "somebody".to_owned(),
                fernet: Arc::default(),
                longest_wait: 86_400,
                pace: Pace::Scheduled,
                rules: None,
                questions: Questions::default(),
            },
            service: self.service(),
            timetables: None,
            definitions: Definitions::new(SignedDuration::from_secs(20)),
            orphan_retries: OrphanRetries::default(),
            row_retries: RowRetries::default(),
            progress: Progress::default(),
        })
    }
}

async fn store(db: &Db, row: dag::Dag, document: String) -> DagVersionRef {
    let (row, dag_id) = (&row, row.dag_id.as_str());
    let data = &Json::from_text(document).unwrap();
    let stored = db.transact(|tx| {
        async move {
            dag_bundle::insert_if_missing(tx, "dags-folder").await?;
            dag::insert(tx, row).await?;
            let version = NewDagVersion {
                dag_id: dag_id.to_owned(),
                bundle_name: Some("dags-folder".to_owned()),
                bundle_version: None,
                version_data: None,
            };
            let id = dag_version::insert(tx, &version, START).await?;
            let serialized = NewSerializedDag {
                dag_id: dag_id.to_owned(),
                dag_version_id: id,
                dag_hash: id.simple().to_string(),
                data: data.clone(),
            };
            serialized_dag::insert(tx, &serialized, false, START).await?;
            Ok(id)
        }
        .scope_boxed()
    });
    DagVersionRef { id: stored.await.unwrap() }
}

async fn store_asset(db: &Db) {
    let asset = &Asset {
        name: ASSET.to_owned(),
        uri: ASSET.to_owned(),
        group: "asset".to_owned(),
        extra: Json::from(json!({})),
        watchers: Vec::new(),
        access_control: None,
    };
    let stored = db.transact(|tx| {
        async move {
            let asset_id = asset::insert_if_missing(tx, asset, START).await?.id;
            // What no task or schedule refers to is taken out of use sooner or later.
            let reference =
                Reference::Outlet { dag_id: DAG.to_owned(), task_id: "push".to_owned(), asset_id };
            asset::reference::insert(tx, &reference, &Access::ANYBODY, START).await?;
            let waits = Reference::Schedule { dag_id: CONSUMER.to_owned(), asset_id };
            asset::reference::insert(tx, &waits, &Access::ANYBODY, START).await?;
            asset::active::insert_unless_claimed(tx, (ASSET, ASSET)).await.map(drop)
        }
        .scope_boxed()
    });
    stored.await.unwrap();
}
