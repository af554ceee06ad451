//! The database of a world, and what schedulers on it are given.

use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::dag::{self, Dag as DagRow};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::testing::change;
use ferroflow_db::{Db, Json, ScopedFutureExt as _, Tx, asset, dag_bundle};
use ferroflow_execution::{Rules, Service};
use ferroflow_model::asset::Asset;
use ferroflow_model::dag::Dag;
use ferroflow_model::runs::next::next_run_after;
use ferroflow_model::stored_assets::{Access, Reference};
use ferroflow_model::timetable::RunInfo;
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::run::{Pace, RunSettings};
use ferroflow_scheduler::{Context, Definitions, Progress, Questions};
use ferroflow_testkit::rows::a_dag;
use ferroflow_testkit::{Server, TestDb};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::simulation::world::{ASSET, PlannedDag, START, Schedule, World};

/// What the configuration says: Airflow's times, shortened.
const SETTINGS: [(&str, &str); 9] = [
    ("SCHEDULER_IDLE_SLEEP_TIME", "12"),
    ("SCHEDULER_HEARTBEAT_SEC", "5"),
    ("SCHEDULER_HEALTH_CHECK_THRESHOLD", "30"),
    ("ORPHANED_TASKS_CHECK_INTERVAL", "60"),
    ("TASK_INSTANCE_HEARTBEAT_TIMEOUT", "60"),
    ("TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL", "20"),
    ("TASK_QUEUED_TIMEOUT", "60"),
    ("TASK_QUEUED_TIMEOUT_CHECK_INTERVAL", "30"),
    ("TRIGGER_TIMEOUT_CHECK_INTERVAL", "15"),
];

/// After so long without a heartbeat a scheduler is given up.
pub(crate) const THRESHOLD: SignedDuration = SignedDuration::from_secs(30);

static CONFIGURED: LazyLock<(Arc<Environment>, Arc<Settings>)> = LazyLock::new(|| {
    let empty = Environment::empty("/nowhere").with("AIRFLOW_HOME", "/nowhere");
    let environment = SETTINGS.iter().fold(empty, |environment, (name, value)| {
        environment.with(format!("AIRFLOW__SCHEDULER__{name}"), *value)
    });
    let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
    (Arc::new(environment), Arc::new(settings))
});

pub(crate) fn settings() -> Arc<Settings> {
    Arc::clone(&CONFIGURED.1)
}

pub(crate) struct Place {
    database: TestDb,
    pub(crate) db: Db,
    pub(crate) service: Service,
}

impl Place {
    pub(crate) async fn new(world: &World) -> Self {
        let database = TestDb::migrated(Server::Sqlite).await;
        let mut options = database.options();
        (options.statement_cache, options.pre_ping) = (1000, false);
        let db = Db::connect(&options).await.unwrap();
        let place = Self { service: service(&db), database, db };
        for pool in &world.pools {
            let (name, slots, deferred) = (&pool.name, pool.slots, pool.include_deferred);
            let columns = "pool, slots, description, include_deferred";
            place
                .change(&format!(
                    "INSERT INTO slot_pool ({columns}) VALUES ('{name}', {slots}, '', {deferred})"
                ))
                .await;
        }
        place.store_all(world).await;
        place
    }

    async fn store_all(&self, world: &World) {
        let stored = self.db.transact(|tx| {
            async move {
                dag_bundle::insert_if_missing(tx, "dags-folder").await?;
                for planned in &world.dags {
                    let document = document(world, planned, 0);
                    dag::insert(tx, &row(planned, &document)).await?;
                    store_version(tx, &planned.dag_id, document, START).await?;
                }
                store_asset(tx, world).await
            }
            .scope_boxed()
        });
        stored.await.unwrap();
    }

    /// Stores another version of a DAG, as a DAG processor does.
    pub(crate) async fn store_again(
        &self,
        world: &World,
        planned: &PlannedDag,
        version: usize,
        now: Timestamp,
    ) {
        let document = &document(world, planned, version);
        let stored = self.db.transact(|tx| {
            async move { store_version(tx, &planned.dag_id, document.clone(), now).await }.scope_boxed()
        });
        stored.await.unwrap();
    }

    /// Something that is different after every transaction that has changed anything: the head of the index of SQLite's
    /// write-ahead log.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let mut head = vec![0; 48];
        let path = self.database.sqlite_path().with_extension("db-shm");
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
        read.unwrap();
        head
    }

    /// Runs a statement.
    pub(crate) async fn change(&self, statement: &str) -> u64 {
        change(&self.db, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// What the steps of a scheduler are given.
    pub(crate) fn context(&self, job_id: i64, trusted: SignedDuration) -> Arc<Context> {
        Arc::new(Context {
            db: self.db.clone(),
            settings: settings(),
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
            service: self.service.clone(),
            timetables: None,
            definitions: Definitions::new(trusted),
            orphan_retries: OrphanRetries::default(),
            row_retries: RowRetries::default(),
            progress: Progress::default(),
        })
    }
}

fn service(db: &Db) -> Service {
    Service {
        db: db.clone(),
        fernet: Arc::new(Fernet::new("").unwrap()),
        environment: Arc::clone(&CONFIGURED.0),
        backend: None,
        timetables: None,
        rules: Rules::of(&CONFIGURED.1),
    }
}

fn document(world: &World, planned: &PlannedDag, version: usize) -> String {
    planned.sketch(version, &world.pools, world.busy).document(&planned.dag_id).to_string()
}

/// The row as a DAG processor leaves it.
fn row(planned: &PlannedDag, document: &str) -> DagRow {
    let dag = Dag::decode(document).unwrap_or_else(|problems| panic!("{problems}\n{document}"));
    let next = next_run_after(&dag, None, START).ok();
    let interval = next.as_ref().and_then(|run| run.data_interval);
    DagRow {
        next_dagrun: next.as_ref().and_then(RunInfo::logical_date),
        next_dagrun_data_interval_start: interval.map(|interval| interval.start),
        next_dagrun_data_interval_end: interval.map(|interval| interval.end),
        next_dagrun_create_after: next.as_ref().map(|run| run.run_after),
        timetable_periodic: matches!(planned.schedule, Schedule::Cron | Schedule::Delta(_)),
        asset_expression: dag.timetable.assets().map(|_| Json::from(json!({"any": []}))),
        max_active_runs: Some(planned.max_active_runs),
        max_active_tasks: planned.max_active_tasks,
        has_task_concurrency_limits: planned
            .tasks
            .iter()
            .any(|task| task.per_dag.is_some() || task.per_run.is_some()),
        fail_fast: planned.fail_fast,
        ..a_dag(&planned.dag_id)
    }
}

async fn store_version(
    tx: &mut Tx,
    dag_id: &str,
    document: String,
    now: Timestamp,
) -> Result<(), ferroflow_db::Error> {
    let version = NewDagVersion {
        dag_id: dag_id.to_owned(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    };
    let dag_version_id = dag_version::insert(tx, &version, now).await?;
    let serialized = NewSerializedDag {
        dag_id: dag_id.to_owned(),
        dag_version_id,
        dag_hash: dag_version_id.simple().to_string(),
        data: Json::from_text(document).unwrap(),
    };
    serialized_dag::insert(tx, &serialized, false, now).await?;
    Ok(())
}

async fn store_asset(tx: &mut Tx, world: &World) -> Result<(), ferroflow_db::Error> {
    let asset = Asset {
        name: ASSET.to_owned(),
        uri: ASSET.to_owned(),
        group: "asset".to_owned(),
        extra: Json::from(json!({})),
        watchers: Vec::new(),
        access_control: None,
    };
    let id = asset::insert_if_missing(tx, &asset, START).await?.id;
    asset::active::insert_unless_claimed(tx, (ASSET, ASSET)).await?;
    for dag in world.dags.iter().filter(|dag| dag.schedule == Schedule::Asset) {
        let reference = Reference::Schedule { dag_id: dag.dag_id.clone(), asset_id: id };
        asset::reference::insert(tx, &reference, &Access::ANYBODY, START).await?;
    }
    Ok(())
}
