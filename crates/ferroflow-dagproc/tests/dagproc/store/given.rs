//! What the tests here store, and where.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_dagproc::store::{
    Description, FileResult, StoreError, StoreSettings, Stored, Timetables, store_file,
};
use ferroflow_db::dag::{self, Dag};
use ferroflow_db::{Db, Json, ScopedFutureExt as _, dag_bundle, import_error};
use ferroflow_model::timetable::{Restriction, RunInfo};
use ferroflow_python::ParsedFile;
use ferroflow_testkit::{Server, TestDb};
use jiff::Timestamp;
use tempfile::TempDir;

/// When the first parse is.
pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// What Airflow's defaults say, without the throttle.
pub(crate) fn settings() -> StoreSettings {
    StoreSettings {
        dags_are_paused_at_creation: true,
        max_active_tasks_per_dag: 16,
        max_active_runs_per_dag: 16,
        max_consecutive_failed_dag_runs_per_dag: 0,
        default_owner: "airflow".to_owned(),
        compress_serialized_dags: false,
        min_serialized_dag_update_interval: Duration::ZERO,
        multi_team: false,
        fernet: Arc::default(),
    }
}

/// Nobody has a timetable of their own.
pub(crate) struct NoPython;

impl Timetables for NoPython {
    async fn describe(&self, timetable: &Json) -> Result<Description, String> {
        Err(format!("{timetable} was asked for"))
    }

    async fn next_run(
        &self,
        timetable: &Json,
        _: Option<&RunInfo>,
        _: &Restriction,
    ) -> Result<Option<RunInfo>, String> {
        Err(format!("{timetable} was asked for"))
    }
}

/// A file with these DAGs.
pub(crate) fn file(relative_path: &str, dags: Vec<Json>) -> FileResult {
    FileResult {
        bundle_name: "dags-folder".to_owned(),
        bundle_version: None,
        version_data: None,
        relative_path: relative_path.to_owned(),
        parsed: ParsedFile { dags, ..ParsedFile::default() },
        duration: 1.5,
    }
}

/// A database, and a folder with one file.
pub(crate) struct Place {
    pub(crate) database: TestDb,
    pub(crate) db: Db,
    folder: TempDir,
}

impl Place {
    pub(crate) async fn new(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        db.transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
            .await
            .unwrap();
        let place = Self { database, db, folder: TempDir::new().unwrap() };
        place.edit("# the file");
        place
    }

    pub(crate) fn source(&self) -> PathBuf {
        self.folder.path().join("file.py")
    }

    pub(crate) fn edit(&self, text: &str) {
        std::fs::write(self.source(), text).unwrap();
    }

    pub(crate) fn dag(&self, dag_id: &str, fields: &str, timetable: &str) -> Json {
        let text = format!(
            r#"{{"__version": 3, "dag": {{"dag_id": "{dag_id}", "fileloc": "{}", "relative_fileloc": "file.py",
            "timezone": "UTC", "timetable": {timetable}, "tasks": [], {fields} "params": [],
            "task_group": {{"_group_id": null, "children": {{}}, "prefix_group_id": true, "tooltip": "",
              "ui_color": "", "ui_fgcolor": "", "upstream_group_ids": [], "downstream_group_ids": [],
              "upstream_task_ids": [], "downstream_task_ids": []}}}}}}"#,
            self.source().display()
        );
        Json::from_text(text).unwrap()
    }

    pub(crate) fn plain(&self, dag_id: &str, fields: &str) -> Json {
        self.dag(dag_id, fields, r#"{"__type": "airflow.timetables.simple.NullTimetable", "__var": {}}"#)
    }

    pub(crate) async fn store(&self, file: FileResult, settings: &StoreSettings, now: Timestamp) -> Stored {
        self.try_to_store(file, settings, now).await.unwrap()
    }

    pub(crate) async fn try_to_store(
        &self,
        file: FileResult,
        settings: &StoreSettings,
        now: Timestamp,
    ) -> Result<Stored, StoreError> {
        store_file(&self.db, file, settings, &NoPython, now).await
    }

    pub(crate) async fn row(&self, dag_id: &str) -> Dag {
        let found = self.db.read(|tx| async move { dag::find(tx, dag_id).await }.scope_boxed()).await;
        found.unwrap().unwrap()
    }

    pub(crate) async fn has_error(&self) -> bool {
        let found = self.db.read(|tx| {
            async move { import_error::filenames(tx, "dags-folder", &["file.py"]).await }.scope_boxed()
        });
        !found.await.unwrap().is_empty()
    }
}
