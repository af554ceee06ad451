//! A database with some DAGs, and a scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::dag::{self, Dag as DagRow};
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Json, ScopedFutureExt as _, asset, dag_bundle};
use ferroflow_execution::{Rules, Service};
use ferroflow_model::asset::Asset;
use ferroflow_model::dag::Dag;
use ferroflow_model::runs::next::next_run_after;
use ferroflow_model::stored_assets::{Access, Reference};
use ferroflow_operations::asset::{Change, Mappings, register};
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::create_runs::{CreatedRuns, create_runs};
use ferroflow_scheduler::run::{Pace, RunSettings};
use ferroflow_scheduler::start_runs::{StartedRuns, start_runs};
use ferroflow_scheduler::{Context, Definitions, LOCK_PATIENCE, Progress, Questions};
use ferroflow_testkit::rows::a_dag;
use ferroflow_testkit::{Server, TestDb};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::runs::sketch::Sketch;

pub(crate) struct Place {
    pub(crate) database: TestDb,
    pub(crate) db: Db,
}

/// A DAG to be.
pub(crate) struct Plan {
    pub(crate) sketch: Sketch,
    pub(crate) row: DagRow,
    /// Since when its schedule is known: its next run is the first after that.
    pub(crate) known_since: Timestamp,
}

pub(crate) fn at(text: &str) -> Timestamp {
    let text = if text.len() == 10 { format!("{text}T00:00:00Z") } else { format!("{text}Z") };
    text.parse().unwrap()
}

/// At the end of every day, for that day.
pub(crate) fn daily() -> Value {
    cron("0 0 * * *")
}

/// At the end of every minute, for that minute.
pub(crate) fn every_minute() -> Value {
    cron("* * * * *")
}

/// For every stretch that the expression divides time into.
pub(crate) fn cron(expression: &str) -> Value {
    let fields = json!({"expression": expression, "timezone": "UTC"});
    json!({"__type": "airflow.timetables.interval.CronDataIntervalTimetable", "__var": fields})
}

/// When an asset of this name changes.
pub(crate) fn on_asset(name: &str) -> Value {
    let asset = json!({"__type": "asset", "name": name, "uri": name, "group": "asset", "extra": {}});
    json!({"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": {"asset_condition": asset}})
}

impl Plan {
    /// A DAG with one task whose schedule begins on the first of 2024.
    pub(crate) fn new(dag_id: &str, timetable: Value) -> Self {
        let start = at("2024-01-01").as_second();
        let sketch = Sketch::of("a").setting("timetable", timetable).setting("start_date", json!(start));
        Self { sketch, row: a_dag(dag_id), known_since: at("2024-01-01") }
    }

    pub(crate) fn setting(mut self, field: &str, value: Value) -> Self {
        self.sketch = self.sketch.setting(field, value);
        self
    }

    pub(crate) fn catchup(self) -> Self {
        self.setting("catchup", json!(true))
    }

    pub(crate) fn max_active_runs(mut self, most: i32) -> Self {
        self.row.max_active_runs = Some(most);
        self
    }

    pub(crate) fn known_since(mut self, since: Timestamp) -> Self {
        self.known_since = since;
        self
    }

    /// The row as a DAG processor leaves it.
    fn row(&self, dag: &Dag) -> DagRow {
        let row = DagRow {
            timetable_periodic: true,
            asset_expression: dag.timetable.assets().map(|_| Json::from(json!({"any": []}))),
            ..self.row.clone()
        };
        let Ok(next) = next_run_after(dag, None, self.known_since) else { return row };
        let interval = next.data_interval;
        DagRow {
            next_dagrun: next.logical_date(),
            next_dagrun_data_interval_start: interval.map(|interval| interval.start),
            next_dagrun_data_interval_end: interval.map(|interval| interval.end),
            next_dagrun_create_after: Some(next.run_after),
            ..row
        }
    }
}

impl Place {
    pub(crate) async fn new(server: Server, plans: &[Plan]) -> Self {
        let database = TestDb::migrated(server).await;
        let place = Self { db: database.connect().await, database };
        place
            .db
            .transact(|tx| {
                async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed()
            })
            .await
            .unwrap();
        for plans in plans.chunks(100) {
            place.store(plans).await;
        }
        place
    }

    /// Stores DAGs as a DAG processor does: a new version of each, and its row.
    async fn store(&self, plans: &[Plan]) {
        let stored = self.db.transact(|tx| {
            async move {
                for plan in plans {
                    let text = plan.sketch.document(&plan.row.dag_id).to_string();
                    let decoded = Dag::decode(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
                    dag::insert(tx, &plan.row(&decoded)).await?;
                    store_version(tx, &plan.row.dag_id, text).await?;
                }
                Ok(())
            }
            .scope_boxed()
        });
        stored.await.unwrap();
    }

    /// Stores another version of a DAG.
    pub(crate) async fn store_again(&self, plan: &Plan) {
        let text = &plan.sketch.document(&plan.row.dag_id).to_string();
        let stored = self.db.transact(|tx| {
            async move { store_version(tx, &plan.row.dag_id, text.clone()).await }.scope_boxed()
        });
        stored.await.unwrap();
    }

    /// Stores another version of a DAG, whose document is yet to come.
    pub(crate) async fn store_version_without_document(&self, dag_id: &str) {
        let version = &new_version(dag_id);
        let stored = self.db.transact(|tx| {
            async move { dag_version::insert(tx, version, at("2024-01-01")).await }.scope_boxed()
        });
        stored.await.unwrap();
    }

    /// A scheduler, which knows nothing yet.
    pub(crate) async fn scheduler(&self) -> Context {
        self.scheduler_with(&[]).await
    }

    pub(crate) async fn scheduler_with(&self, variables: &[(&str, &str)]) -> Context {
        let db = self.database.connect().await.with_lock_patience(LOCK_PATIENCE);
        let environment = variables
            .iter()
            .fold(Environment::empty("/"), |environment, (key, value)| environment.with(*key, *value));
        let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
        let fernet = Arc::new(Fernet::new("").unwrap());
        Context {
            service: Service {
                db: db.clone(),
                fernet: Arc::clone(&fernet),
                environment: Arc::new(environment),
                backend: None,
                timetables: None,
                rules: Rules::of(&settings),
            },
            db,
            settings: Arc::new(settings),
            job_id: 7,
            run_settings: RunSettings {
                job_id: Some(7),
                unixname: "somebody".to_owned(),
                fernet,
                longest_wait: 86_400,
                pace: Pace::Scheduled,
                rules: None,
                questions: Questions::default(),
            },
            timetables: None,
            definitions: Definitions::new(SignedDuration::from_secs(30)),
            orphan_retries: OrphanRetries::default(),
            row_retries: RowRetries::default(),
            progress: Progress::default(),
        }
    }

    /// One run.
    pub(crate) async fn run(&self, dag_id: &str, run_id: &str) -> DagRun {
        let found = self.db.read(|tx| async move { dag_run::find(tx, dag_id, run_id).await }.scope_boxed());
        found.await.unwrap().unwrap()
    }

    /// The names of all runs, by DAG.
    pub(crate) async fn run_ids(&self) -> BTreeMap<String, Vec<String>> {
        let mut by_dag: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for [dag_id, run_id, _] in self.all_runs().await {
            by_dag.entry(dag_id).or_default().push(run_id);
        }
        by_dag
    }

    /// How many runs of each DAG are in a state.
    pub(crate) async fn count(&self, state: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for [dag_id, ..] in self.all_runs().await.into_iter().filter(|run| run[2] == state) {
            *counts.entry(dag_id).or_default() += 1;
        }
        counts
    }

    /// DAG, name and state of every run, sorted.
    async fn all_runs(&self) -> Vec<[String; 3]> {
        let mut runs: Vec<[String; 3]> = self
            .texts("SELECT CONCAT(dag_id, ' ', run_id, ' ', state) AS answer FROM dag_run")
            .await
            .iter()
            .map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap())
            .collect();
        runs.sort();
        runs
    }

    /// What a question to the database is answered with.
    pub(crate) async fn texts(&self, question: &str) -> Vec<String> {
        ferroflow_db::testing::texts(&self.db, question).await.unwrap()
    }

    pub(crate) async fn dag(&self, dag_id: &str) -> DagRow {
        let found = self.db.read(|tx| async move { dag::find(tx, dag_id).await }.scope_boxed());
        found.await.unwrap().unwrap()
    }
}

async fn store_version(
    tx: &mut ferroflow_db::Tx,
    dag_id: &str,
    text: String,
) -> Result<(), ferroflow_db::Error> {
    let now = at("2024-01-01");
    let dag_version_id = dag_version::insert(tx, &new_version(dag_id), now).await?;
    let serialized = NewSerializedDag {
        dag_id: dag_id.to_owned(),
        dag_version_id,
        dag_hash: dag_version_id.simple().to_string(),
        data: Json::from_text(text).unwrap(),
    };
    serialized_dag::insert(tx, &serialized, false, now).await?;
    Ok(())
}

fn new_version(dag_id: &str) -> NewDagVersion {
    NewDagVersion {
        dag_id: dag_id.to_owned(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    }
}

/// Passes until nothing more is due, one right after the other.
pub(crate) async fn create_all(cx: &Context, now: Timestamp) -> CreatedRuns {
    let mut all = create_runs(cx, now).await.unwrap();
    let mut is_more_due = all.is_more_due;
    while is_more_due {
        let more = create_runs(cx, now).await.unwrap();
        is_more_due = more.is_more_due && !(more.created.is_empty() && more.advanced.is_empty());
        all.created.extend(more.created);
        all.refused.extend(more.refused);
        all.advanced.extend(more.advanced);
    }
    all
}

/// The same for starting them.
pub(crate) async fn start_all(cx: &Context, now: Timestamp) -> StartedRuns {
    let mut all = start_runs(cx, now).await.unwrap();
    let mut is_more_due = all.is_more_due();
    while is_more_due {
        let more = start_runs(cx, now).await.unwrap();
        is_more_due = more.is_more_due();
        all.started.extend(more.started);
    }
    all
}

impl Place {
    /// Makes an asset that these DAGs wait for, since a time.
    pub(crate) async fn asset(&self, name: &str, waiting: &[&str], since: Timestamp) -> i64 {
        let asset = &Asset {
            name: name.to_owned(),
            uri: name.to_owned(),
            group: "asset".to_owned(),
            extra: Json::from(json!({})),
            watchers: Vec::new(),
            access_control: None,
        };
        let made = self.db.transact(|tx| {
            async move {
                let id = asset::insert_if_missing(tx, asset, since).await?.id;
                asset::active::insert_unless_claimed(tx, (name, name)).await?;
                for dag_id in waiting {
                    let reference = Reference::Schedule { dag_id: (*dag_id).to_owned(), asset_id: id };
                    asset::reference::insert(tx, &reference, &Access::ANYBODY, since).await?;
                }
                Ok(id)
            }
            .scope_boxed()
        });
        made.await.unwrap()
    }

    /// The asset changes: whoever waits for it is told.
    pub(crate) async fn change(&self, asset_id: i64, name: &str, when: Timestamp) {
        self.change_partition(asset_id, name, None, when).await;
    }

    pub(crate) async fn change_partition(
        &self,
        asset_id: i64,
        name: &str,
        key: Option<&str>,
        when: Timestamp,
    ) {
        let aliases = &BTreeSet::new();
        let change = &Change {
            asset_id,
            name,
            uri: name,
            aliases,
            extra: &json!({}),
            partition_key: key,
            partition_date: None,
            source: None,
        };
        let (rules, mappings) = (&self.scheduler().await.service.rules.of_events(), &Mappings::default());
        self.db
            .transact(|tx| {
                async move {
                    register(tx, rules, change, mappings, when).await?;
                    mappings.are_known()
                }
                .scope_boxed()
            })
            .await
            .unwrap();
    }
}
