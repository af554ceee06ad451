//! All rows that one side writes, and what the other side has to find.

use std::collections::BTreeMap;

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_run::{self, DagRun, NewDagRun};
use ferroflow_db::dag_version::serialized_dag::{self, SerializedDag};
use ferroflow_db::dag_version::{self, DagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::job::{self, Job};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Error, Tx};
use ferroflow_model::state::RunState;
use jiff::Timestamp;
use serde_json::json;

use crate::round_trip::cases::BIG;
use crate::round_trip::row::{self, Row, without_texts_of_json};

/// The rows of each table, but for bundles, which only have a name.
pub(crate) struct Expected {
    pub(crate) bundle: String,
    pub(crate) jobs: Vec<Job>,
    pub(crate) dags: Vec<Dag>,
    pub(crate) versions: Vec<DagVersion>,
    /// With whether it is compressed.
    pub(crate) serialized: Vec<(SerializedDag, bool)>,
    pub(crate) runs: Vec<DagRun>,
    pub(crate) task_instances: Vec<TaskInstance>,
    pub(crate) callbacks: Vec<Callback>,
    /// With the position of the key that encrypts it.
    pub(crate) variables: Vec<(Variable, Option<usize>)>,
    /// With the position of the key that encrypts its secrets.
    pub(crate) connections: Vec<(Connection, Option<usize>)>,
    pub(crate) audit_entries: Vec<AuditEntry>,
}

impl Expected {
    /// For `orm.py`.
    pub(crate) fn tables(&self) -> BTreeMap<&'static str, Vec<Row>> {
        let bundle = json!({
            "name": self.bundle, "active": true, "version": null, "last_refreshed": null,
            "signed_url_template": null, "template_params": "{}", "template_params is NULL": false,
        });
        let secrets = (
            self.variables.iter().map(|(variable, key)| row::variable(variable, *key)),
            self.connections.iter().map(|(connection, key)| row::connection(connection, *key)),
        );
        let serialized =
            self.serialized.iter().map(|(dag, is_compressed)| row::serialized_dag(dag, *is_compressed));
        BTreeMap::from([
            ("job", self.jobs.iter().map(row::job).collect()),
            ("dag_bundle", vec![bundle.as_object().unwrap().clone()]),
            ("dag", self.dags.iter().map(row::dag).collect()),
            ("dag_version", self.versions.iter().map(row::dag_version).collect()),
            ("serialized_dag", serialized.collect()),
            ("dag_run", self.runs.iter().map(row::dag_run).collect()),
            ("task_instance", self.task_instances.iter().map(row::task_instance).collect()),
            ("callback", self.callbacks.iter().map(row::callback).collect()),
            ("variable", secrets.0.collect()),
            ("connection", secrets.1.collect()),
            ("log", self.audit_entries.iter().map(row::audit_entry).collect()),
        ])
    }

    /// Finds every row by ferroflow's own functions. Fails the test where one differs.
    pub(crate) async fn assert_found(&self, tx: &mut Tx, fernet: &Fernet) -> Result<(), Error> {
        self.assert_definitions_found(tx).await?;
        for expected in &self.runs {
            let found = dag_run::find(tx, &expected.dag_id, &expected.run_id).await?.expect(&expected.run_id);
            assert_same(&row::dag_run(&found), &row::dag_run(expected));
            let has_big = |run: &DagRun| run.conf.as_ref().is_some_and(|conf| conf.text().contains(BIG));
            assert_eq!(has_big(&found), has_big(expected), "{found:?}");
        }
        for expected in &self.task_instances {
            let found = task_instance::find(tx, expected.id).await?.expect(&expected.key.task_id);
            assert_same(&row::task_instance(&found), &row::task_instance(expected));
        }
        for expected in &self.callbacks {
            let found = callback::find(tx, expected.id).await?.expect("the callback is there");
            assert_same(&row::callback(&found), &row::callback(expected));
        }
        for (expected, _) in &self.variables {
            assert_eq!(variable::get(tx, fernet, &expected.key).await?.as_ref(), Some(expected));
        }
        for (expected, _) in &self.connections {
            assert_eq!(connection::find(tx, fernet, &expected.conn_id).await?.as_ref(), Some(expected));
        }
        // Only an entry about a task instance can be looked up.
        for expected in self.audit_entries.iter().filter(|entry| entry.task_id.is_some()) {
            let (key, try_number) = about(expected);
            let found = audit_log::newest(tx, &key, try_number, &expected.event).await?;
            assert_eq!(found.as_ref(), Some(expected));
        }
        Ok(())
    }

    async fn assert_definitions_found(&self, tx: &mut Tx) -> Result<(), Error> {
        for expected in &self.jobs {
            assert_eq!(job::find(tx, expected.id).await?.as_ref(), Some(expected));
        }
        for expected in &self.dags {
            let found = dag::find(tx, &expected.dag_id).await?.expect(&expected.dag_id);
            assert_same(&row::dag(&found), &row::dag(expected));
        }
        let newest = self.versions.last().expect("there are versions");
        let found = dag_version::latest(tx, &newest.dag_id).await?.expect("there is a version");
        assert_same(&row::dag_version(&found), &row::dag_version(newest));
        for (expected, is_compressed) in &self.serialized {
            let found = serialized_dag::find(tx, expected.dag_version_id).await?.expect("the DAG is there");
            let rows = [&found, expected].map(|dag| row::serialized_dag(dag, *is_compressed));
            assert_same(&rows[0], &rows[1]);
            assert!(found.data.text().contains(BIG));
        }
        Ok(())
    }
}

/// What a run is in the database once it was made, under the newest of the two log templates that a new database has.
pub(crate) fn queued(id: i64, new: NewDagRun, now: Timestamp) -> DagRun {
    DagRun {
        id,
        dag_id: new.dag_id,
        run_id: new.run_id,
        state: RunState::Queued,
        run_type: new.run_type,
        triggered_by: new.triggered_by,
        triggering_user_name: new.triggering_user_name,
        creating_job_id: new.creating_job_id,
        scheduled_by_job_id: None,
        backfill_id: new.backfill_id,
        logical_date: new.logical_date,
        data_interval_start: new.data_interval_start,
        data_interval_end: new.data_interval_end,
        run_after: new.run_after,
        partition_key: new.partition_key,
        partition_date: new.partition_date,
        queued_at: Some(now),
        start_date: None,
        end_date: None,
        last_scheduling_decision: None,
        conf: Some(new.conf),
        log_template_id: Some(2),
        clear_number: 0,
        bundle_version: new.bundle_version,
        created_dag_version_id: new.created_dag_version_id,
        context_carrier: Some(new.context_carrier),
        created_at: Some(now),
        updated_at: Some(now),
    }
}

fn assert_same(found: &Row, expected: &Row) {
    assert_eq!(without_texts_of_json(found), without_texts_of_json(expected));
}

fn about(entry: &AuditEntry) -> (TaskInstanceKey, i32) {
    let key = TaskInstanceKey {
        dag_id: entry.dag_id.clone().unwrap(),
        run_id: entry.run_id.clone().unwrap(),
        task_id: entry.task_id.clone().unwrap(),
        map_index: entry.map_index.unwrap(),
    };
    (key, entry.try_number.unwrap())
}
