//! Airflow's ORM writes, ferroflow reads.

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::dag_version::DagVersion;
use ferroflow_db::dag_version::serialized_dag::SerializedDag;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::job::Job;
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, task_instance};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::{JobState, RunState};
use ferroflow_testkit::Airflow;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::round_trip::cases::{Writer, new_id, new_year, serialized_data, year_end};
use crate::round_trip::expected::{Expected, queued};
use crate::round_trip::{NEW_KEY, OLD_KEY, orm, row};

pub(crate) const AIRFLOW: Writer = Writer("airflow");

/// A task instance whose executor config only Python can read.
pub(crate) const OPAQUE_CONFIG: &str = "{'pair': (1, 2), 'names': {'a'}, 'raw': b'\\x00'}";

/// Returns the id of the task instance with [`OPAQUE_CONFIG`].
pub(crate) async fn airflow_writes(airflow: &Airflow, db: &Db) -> Uuid {
    let mut expected = expected();
    let opaque = AIRFLOW.bare_task_instance("opaque", NOT_MAPPED);
    let mut tables = expected.tables();
    let mut opaque_row = row::task_instance(&opaque);
    opaque_row.insert("executor_config".to_owned(), json!({"python": OPAQUE_CONFIG}));
    tables.get_mut("task_instance").unwrap().push(opaque_row);
    // Nothing, said in the other way that Airflow has of saying it.
    let nothing = DagRun { run_id: AIRFLOW.named("null"), ..expected.runs[2].clone() };
    let mut json_null = row::dag_run(&nothing);
    for column in ["conf", "context_carrier"] {
        json_null.insert(format!("{column} is NULL"), Value::from(false));
    }
    tables.get_mut("dag_run").unwrap().push(json_null);

    let ids = orm(airflow, "write", &serde_json::to_string(&tables).unwrap());
    for (i, job) in expected.jobs.iter_mut().enumerate() {
        job.id = ids["job"][i].as_str().unwrap().parse().unwrap();
    }
    expected.runs.push(nothing);

    let fernet = Fernet::new(&format!("{NEW_KEY},{OLD_KEY}")).unwrap();
    let (expected, fernet) = (&expected, &fernet);
    let read = db.transact(|tx| {
        async move {
            expected.assert_found(tx, fernet).await?;
            assert_opaque(tx, opaque.id).await?;
            // Another type than a dict, which SQLite keeps as a number.
            let scalar = dag_run::find(tx, &AIRFLOW.named("dag"), &AIRFLOW.named("scalar")).await?.unwrap();
            assert_eq!(scalar.conf.unwrap().text(), "5");
            Ok(())
        }
        .scope_boxed()
    });
    read.await.unwrap();
    opaque.id
}

async fn assert_opaque(tx: &mut Tx, id: Uuid) -> Result<(), Error> {
    let found = task_instance::find(tx, id).await?.expect("the task instance is there");
    assert_eq!(found.executor_config.expect("it has a config").value(), None);
    Ok(())
}

fn expected() -> Expected {
    let versions = [1, 2].map(version);
    let newest = versions[1].id;
    let [full, bare] = AIRFLOW.runs(newest).map(|run| queued(0, run, new_year()));
    let finished = DagRun {
        state: RunState::Success,
        scheduled_by_job_id: Some(7),
        start_date: Some(year_end()),
        end_date: Some(new_year()),
        clear_number: 2,
        ..full
    };
    let running = DagRun {
        state: RunState::Running,
        last_scheduling_decision: Some(year_end()),
        log_template_id: Some(1),
        ..bare.clone()
    };
    let nothing = DagRun {
        run_id: AIRFLOW.named("nothing"),
        conf: None,
        context_carrier: None,
        queued_at: None,
        log_template_id: None,
        created_at: None,
        ..bare.clone()
    };
    let scalar = DagRun {
        run_id: AIRFLOW.named("scalar"),
        conf: Some(Json::from_text("5".to_owned()).unwrap()),
        ..bare
    };
    Expected {
        bundle: AIRFLOW.bundle(),
        jobs: vec![job()],
        dags: AIRFLOW.dags().into(),
        serialized: versions
            .iter()
            .zip([false, true])
            .map(|(version, yes)| (serialized(version), yes))
            .collect(),
        versions: versions.into(),
        runs: vec![finished, running, nothing, scalar],
        task_instances: AIRFLOW.task_instances(newest),
        callbacks: AIRFLOW.callbacks().into(),
        variables: vec![
            (AIRFLOW.variable("new"), Some(0)),
            (AIRFLOW.variable("old"), Some(1)),
            (AIRFLOW.variable("plain"), None),
        ],
        connections: vec![
            (AIRFLOW.connection("new"), Some(0)),
            (AIRFLOW.connection("old"), Some(1)),
            (AIRFLOW.connection("plain"), None),
            (AIRFLOW.bare_connection("nothing", None, None), None),
            (AIRFLOW.bare_connection("password_only", Some("p"), Some("")), Some(0)),
        ],
        audit_entries: AIRFLOW.audit_entries().into(),
    }
}

/// Its id is only known once it is written.
fn job() -> Job {
    Job {
        id: 0,
        dag_id: Some(AIRFLOW.named("dag")),
        state: Some(JobState::Failed),
        job_type: Some("SchedulerJob".to_owned()),
        start_date: Some(year_end()),
        end_date: Some(new_year()),
        latest_heartbeat: None,
        executor_class: None,
        hostname: Some(AIRFLOW.named("host")),
        unixname: None,
    }
}

fn version(number: i32) -> DagVersion {
    DagVersion {
        id: new_id(),
        version_number: number,
        dag_id: AIRFLOW.named("dag"),
        bundle_name: Some(AIRFLOW.bundle()),
        bundle_version: Some("v1".to_owned()),
        version_data: (number == 1).then(|| Json::from(json!({"manifest": {"a": 1}}))),
        created_at: year_end(),
        last_updated: new_year(),
    }
}

fn serialized(version: &DagVersion) -> SerializedDag {
    SerializedDag {
        id: new_id(),
        dag_id: version.dag_id.clone(),
        dag_version_id: version.id,
        dag_hash: "0123456789abcdef0123456789abcdef".to_owned(),
        data: serialized_data(&version.dag_id),
        created_at: year_end(),
        last_updated: new_year(),
    }
}
