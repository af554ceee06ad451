//! A database with DAGs, runs and task instances in all kinds of trouble.

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::dag::{self, Dag as DagRow};
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Db, Json, ScopedFutureExt as _, dag_bundle};
use ferroflow_model::id::{NOT_MAPPED, new_v7};
use ferroflow_model::state::RunState;
use ferroflow_scheduler::why::{Answer, Asked, NoAnswer, why};
use ferroflow_testkit::rows::{a_dag, a_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};

use crate::why::sketch::Sketch;

pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

pub(crate) struct Place {
    pub(crate) database: TestDb,
    pub(crate) db: Db,
    settings: Settings,
}

impl Place {
    /// One without any scheduler.
    pub(crate) async fn new(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        db.transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
            .await
            .unwrap();
        let environment = Environment::empty("/").with("AIRFLOW__CORE__PARALLELISM", "4");
        let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
        Self { database, db, settings }
    }

    /// A component that was heard of so many seconds ago.
    pub(crate) async fn component(&self, job_type: &str, seconds_ago: i64) -> i64 {
        let new = &NewJob {
            job_type: job_type.to_owned(),
            hostname: "host".to_owned(),
            unixname: "user".to_owned(),
            executor_class: None,
        };
        let tracked = NOW - seconds_ago.seconds();
        self.db.transact(|tx| async move { job::insert(tx, new, tracked).await }.scope_boxed()).await.unwrap()
    }

    /// A DAG of these tasks.
    pub(crate) async fn dag(&self, dag_id: &str, sketch: &Sketch, change: impl FnOnce(&mut DagRow)) {
        let mut row = a_dag(dag_id);
        change(&mut row);
        let (row, document) = (&row, &Json::from(sketch.document(dag_id)));
        let stored = self.db.transact(|tx| {
            async move {
                dag::insert(tx, row).await?;
                let version = NewDagVersion {
                    dag_id: dag_id.to_owned(),
                    bundle_name: Some("dags-folder".to_owned()),
                    bundle_version: None,
                    version_data: None,
                };
                let serialized = NewSerializedDag {
                    dag_id: dag_id.to_owned(),
                    dag_version_id: dag_version::insert(tx, &version, NOW).await?,
                    dag_hash: "0".repeat(32),
                    data: document.clone(),
                };
                serialized_dag::insert(tx, &serialized, false, NOW).await
            }
            .scope_boxed()
        });
        stored.await.unwrap();
    }

    /// A run, due so many minutes ago.
    pub(crate) async fn run(
        &self,
        dag_id: &str,
        run_id: &str,
        minutes: i64,
        state: RunState,
        change: impl FnOnce(&mut NewDagRun),
    ) {
        let mut run = a_run(dag_id, run_id, NOW - minutes.minutes());
        run.state = state;
        run.start_date = (state == RunState::Running).then_some(NOW - minutes.minutes());
        change(&mut run);
        let run = &run;
        self.db
            .transact(|tx| async move { dag_run::insert(tx, run, NOW).await }.scope_boxed())
            .await
            .unwrap();
    }

    /// A task instance of a run.
    pub(crate) async fn instance(
        &self,
        (dag_id, run_id, task_id): (&str, &str, &str),
        change: impl FnOnce(&mut TaskInstance),
    ) {
        let key = TaskInstanceKey {
            dag_id: dag_id.to_owned(),
            run_id: run_id.to_owned(),
            task_id: task_id.to_owned(),
            map_index: NOT_MAPPED,
        };
        let mut row = TaskInstance::new(new_v7(NOW, rand::random()), key, NOW);
        change(&mut row);
        let row = &row;
        self.db
            .transact(|tx| async move { task_instance::insert(tx, row).await }.scope_boxed())
            .await
            .unwrap();
    }

    pub(crate) async fn pool(&self, name: &str, slots: i32) {
        let columns = "pool, slots, description, include_deferred";
        let values = format!("'{name}', {slots}, '', true");
        self.database.execute(format!("INSERT INTO slot_pool ({columns}) VALUES ({values})")).await;
    }

    pub(crate) async fn ask(&self, words: &[&str]) -> Result<Answer, NoAnswer> {
        let asked = Asked { dag_id: words[0], run_id: words.get(1).copied(), task_id: words.get(2).copied() };
        why(&self.db, &self.settings, asked, NOW).await
    }

    /// The reasons, each as its kind, its text and who holds what.
    pub(crate) async fn reasons(&self, words: &[&str]) -> Vec<String> {
        let mut answer = self.ask(words).await.unwrap();
        if words.len() == 3 {
            assert_eq!(answer.parts.len(), 1, "{answer:?}");
            answer = answer.parts.remove(0);
        }
        let since = |at: Option<Timestamp>| {
            at.map(|at| format!(" {} s ago", NOW.duration_since(at).as_secs())).unwrap_or_default()
        };
        let mut lines = Vec::new();
        for reason in &answer.reasons {
            let until =
                reason.until.map(|until| format!(" until in {} s", until.duration_since(NOW).as_secs()));
            let (from, until) = (since(reason.since), until.unwrap_or_default());
            lines.push(format!("{}: {}{from}{until}", reason.kind.as_str(), reason.text));
            for holder in &reason.holders {
                lines.push(format!("  {} {}{}", holder.what, holder.state, since(holder.since)));
            }
        }
        lines
    }
}
