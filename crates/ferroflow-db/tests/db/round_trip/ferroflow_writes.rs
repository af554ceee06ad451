//! Ferroflow writes, Airflow's ORM reads.

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::dag_run::{self, ClaimedRun, DagRun};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag, SerializedDag};
use ferroflow_db::dag_version::{self, DagVersion, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::encoding::fernet_rotation;
use ferroflow_db::job::{self, Job, NewJob};
use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, callback, dag, dag_bundle};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::{JobState, RunState, TaskState};
use ferroflow_testkit::Airflow;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::round_trip::airflow_writes::{AIRFLOW, OPAQUE_CONFIG};
use crate::round_trip::cases::{Writer, new_id, new_year, serialized_data, year_end};
use crate::round_trip::expected::{Expected, queued};
use crate::round_trip::{NEW_KEY, OLD_KEY, orm};

const FERROFLOW: Writer = Writer("ferroflow");

/// `opaque` is a task instance whose executor config only Python can read.
pub(crate) async fn ferroflow_writes(airflow: &Airflow, db: &Db, opaque: Uuid) {
    let both_keys = &Fernet::new(&format!("{NEW_KEY},{OLD_KEY}")).unwrap();
    let written = db.transact(|tx| {
        async move {
            let expected = write(tx).await?;
            expected.assert_found(tx, both_keys).await?;
            Ok((expected, copy(tx, opaque).await?))
        }
        .scope_boxed()
    });
    let (expected, copied) = written.await.unwrap();

    let found = orm(airflow, "read", "");
    for (table, rows) in expected.tables() {
        for row in rows {
            let name = row[name_column(table)].as_str().unwrap();
            let mut found = found[table][name].as_object().expect(name).clone();
            let span_status = found.remove("span_status");
            assert!(span_status.is_none_or(|status| status == "not_started"));
            assert_eq!(found, row, "{table}");
        }
    }
    assert_eq!(found["task_instance"][copied.to_string()]["executor_config"]["python"], OPAQUE_CONFIG);
    // Rotation has moved what Airflow encrypted to the first key as well, and left plain text plain.
    for (name, key) in [("new", json!(0)), ("old", json!(0)), ("plain", Value::Null)] {
        let name = AIRFLOW.named(name);
        assert_eq!(found["variable"][&name]["val key"], key);
        assert_eq!(found["connection"][&name]["password key"], key);
        assert_eq!(found["connection"][&name]["extra key"], key);
    }
}

/// Writes every table, and returns what is then to be found.
async fn write(tx: &mut Tx) -> Result<Expected, Error> {
    let jobs = write_jobs(tx).await?;
    // The second time it is there already.
    dag_bundle::insert_if_missing(tx, &FERROFLOW.bundle()).await?;
    dag_bundle::insert_if_missing(tx, &FERROFLOW.bundle()).await?;
    let dags = FERROFLOW.dags();
    for dag in &dags {
        dag::insert(tx, dag).await?;
    }
    let versions = vec![write_version(tx, 1).await?, write_version(tx, 2).await?];
    let mut serialized = Vec::new();
    for (version, compress) in versions.iter().zip([false, true]) {
        serialized.push((write_serialized(tx, version, compress).await?, compress));
    }
    let newest = versions[1].id;
    let runs = write_runs(tx, newest).await?;
    let task_instances = write_task_instances(tx, newest).await?;
    let callbacks = FERROFLOW.callbacks();
    for callback in &callbacks {
        callback::insert(tx, callback).await?;
    }
    let (variables, connections) = write_secrets(tx).await?;
    let audit_entries = write_audit_log(tx).await?;
    Ok(Expected {
        bundle: FERROFLOW.bundle(),
        jobs,
        dags: dags.into(),
        versions,
        serialized,
        runs,
        task_instances,
        callbacks: callbacks.into(),
        variables,
        connections,
        audit_entries,
    })
}

async fn write_jobs(tx: &mut Tx) -> Result<Vec<Job>, Error> {
    let mut jobs = Vec::new();
    for name in ["finished", "back from the dead"] {
        let new = NewJob {
            job_type: "SchedulerJob".to_owned(),
            hostname: FERROFLOW.named(name),
            unixname: "airflow".to_owned(),
            executor_class: Some("LocalExecutor".to_owned()),
        };
        let id = job::insert(tx, &new, year_end()).await?;
        jobs.push(Job {
            id,
            dag_id: None,
            state: Some(JobState::Failed),
            job_type: Some(new.job_type),
            start_date: Some(year_end()),
            end_date: Some(new_year()),
            latest_heartbeat: Some(year_end()),
            executor_class: new.executor_class,
            hostname: Some(new.hostname),
            unixname: Some(new.unixname),
        });
        assert!(job::finish(tx, id, JobState::Failed, new_year()).await?);
        assert!(!job::finish(tx, id, JobState::Success, year_end()).await?, "it has finished");
    }
    assert!(job::heartbeat(tx, jobs[1].id, new_year()).await?);
    jobs[1].state = Some(JobState::Running);
    jobs[1].latest_heartbeat = Some(new_year());
    assert!(!job::heartbeat(tx, i64::from(i32::MAX), new_year()).await?, "there is no such job");
    Ok(jobs)
}

async fn write_version(tx: &mut Tx, number: i32) -> Result<DagVersion, Error> {
    let new = NewDagVersion {
        dag_id: FERROFLOW.named("dag"),
        bundle_name: Some(FERROFLOW.bundle()),
        bundle_version: None,
        version_data: (number == 1).then(|| Json::from(json!({"manifest": {"a": 1}}))),
    };
    let id = dag_version::insert(tx, &new, year_end()).await?;
    Ok(DagVersion {
        id,
        version_number: number,
        dag_id: new.dag_id,
        bundle_name: new.bundle_name,
        bundle_version: new.bundle_version,
        version_data: new.version_data,
        created_at: year_end(),
        last_updated: year_end(),
    })
}

async fn write_serialized(tx: &mut Tx, version: &DagVersion, compress: bool) -> Result<SerializedDag, Error> {
    let new = NewSerializedDag {
        dag_id: version.dag_id.clone(),
        dag_version_id: version.id,
        dag_hash: "fedcba9876543210fedcba9876543210".to_owned(),
        data: serialized_data(&version.dag_id),
    };
    let id = serialized_dag::insert(tx, &new, compress, new_year()).await?;
    Ok(SerializedDag {
        id,
        dag_id: new.dag_id,
        dag_version_id: new.dag_version_id,
        dag_hash: new.dag_hash,
        data: new.data,
        created_at: new_year(),
        last_updated: new_year(),
    })
}

async fn write_runs(tx: &mut Tx, version: Uuid) -> Result<Vec<DagRun>, Error> {
    let mut runs = Vec::new();
    for new in FERROFLOW.runs(version) {
        let id = dag_run::insert(tx, &new, year_end()).await?;
        runs.push(queued(id, new, year_end()));
    }
    let id = runs[1].id;
    assert!(
        !dag_run::set_state(tx, id, RunState::Running, RunState::Success, new_year()).await?,
        "it is queued"
    );
    assert!(dag_run::set_state(tx, id, RunState::Queued, RunState::Running, new_year()).await?);
    // Airflow's has been looked at; ours has not, and comes first.
    let claimed = dag_run::claim_running(tx, 10).await?;
    assert_eq!(
        claimed.iter().map(|run| &run.run_id).collect::<Vec<_>>(),
        [&FERROFLOW.named("bare"), &AIRFLOW.named("bare")]
    );
    let ours = ClaimedRun { id, dag_id: FERROFLOW.named("dag"), run_id: FERROFLOW.named("bare") };
    assert_eq!(dag_run::claim_running(tx, 1).await?, [ours]);
    assert!(dag_run::set_state(tx, id, RunState::Running, RunState::Failed, year_end()).await?);
    runs[1].state = RunState::Failed;
    runs[1].start_date = Some(new_year());
    runs[1].end_date = Some(year_end());
    Ok(runs)
}

async fn write_task_instances(tx: &mut Tx, version: Uuid) -> Result<Vec<TaskInstance>, Error> {
    let mut instances = FERROFLOW.task_instances(version);
    for instance in &instances {
        task_instance::insert(tx, instance).await?;
    }
    let (none, scheduled) = (None, Some(TaskState::Scheduled));
    let id = instances[0].id;
    assert!(!task_instance::set_state(tx, id, scheduled, none, new_year()).await?, "it has no state");
    assert!(task_instance::set_state(tx, id, none, scheduled, year_end()).await?);
    assert!(!task_instance::set_state(tx, id, none, scheduled, year_end()).await?, "it has one now");
    assert!(task_instance::set_state(tx, id, scheduled, none, new_year()).await?);
    assert!(task_instance::set_state(tx, id, none, Some(TaskState::Removed), new_year()).await?);
    instances[0].state = Some(TaskState::Removed);
    instances[0].updated_at = Some(new_year());
    Ok(instances)
}

type Secrets = (Vec<(Variable, Option<usize>)>, Vec<(Connection, Option<usize>)>);

async fn write_secrets(tx: &mut Tx) -> Result<Secrets, Error> {
    let now = new_year();
    let [none, old, both] = [String::new(), OLD_KEY.to_owned(), format!("{NEW_KEY},{OLD_KEY}")]
        .map(|setting| Fernet::new(&setting).unwrap());

    variable::set(tx, &old, &FERROFLOW.variable("rotated"), now).await?;
    connection::insert(tx, &old, &FERROFLOW.connection("rotated"), now).await?;
    // Airflow's two with either key and this one; of its connections, also the one with a password only.
    let counts: Vec<u64> =
        fernet_rotation::rotate_all(tx, &both).await?.iter().map(|kind| kind.count).collect();
    assert_eq!(counts, [4, 3, 3, 0, 0, 0]);

    let mut variables = vec![(FERROFLOW.variable("rotated"), Some(0))];
    let mut connections = vec![(FERROFLOW.connection("rotated"), Some(0))];
    for (fernet, name, key) in [(&none, "plain", None), (&old, "old", Some(1)), (&both, "new", Some(0))] {
        // It is there before, in another form: all but its team is replaced.
        let before = Variable { val: "before".to_owned(), description: None, ..FERROFLOW.variable(name) };
        variable::set(tx, if key.is_none() { &both } else { &none }, &before, now).await?;
        variable::set(tx, fernet, &FERROFLOW.variable(name), now).await?;
        variables.push((FERROFLOW.variable(name), key));
        connection::insert(tx, fernet, &FERROFLOW.connection(name), now).await?;
        connections.push((FERROFLOW.connection(name), key));
    }
    for (name, password, extra) in
        [("nothing", None, None), ("empty", Some(""), Some("")), ("password", Some("p"), None)]
    {
        connection::insert(tx, &both, &FERROFLOW.bare_connection(name, password, extra), now).await?;
        let stored = password.filter(|password| !password.is_empty());
        connections.push((FERROFLOW.bare_connection(name, stored, extra), Some(0)));
    }

    variable::set(tx, &both, &FERROFLOW.variable("deleted"), now).await?;
    assert!(variable::delete(tx, &FERROFLOW.named("deleted")).await?);
    assert!(!variable::delete(tx, &FERROFLOW.named("deleted")).await?, "it is gone");
    assert_eq!(variable::get(tx, &both, &FERROFLOW.named("deleted")).await?, None);
    Ok((variables, connections))
}

async fn write_audit_log(tx: &mut Tx) -> Result<Vec<AuditEntry>, Error> {
    let entries = FERROFLOW.audit_entries();
    for entry in &entries {
        audit_log::insert(tx, entry).await?;
    }
    let key = FERROFLOW.key("bare", NOT_MAPPED);
    let with_time = |dttm| AuditEntry { dttm: Some(dttm), event: "running".to_owned(), ..entries[1].clone() };
    for dttm in [new_year(), year_end()] {
        audit_log::insert(tx, &with_time(dttm)).await?;
    }
    assert_eq!(audit_log::newest(tx, &key, 0, "running").await?, Some(with_time(new_year())));
    assert_eq!(audit_log::newest(tx, &key, 1, "running").await?, None, "another try");
    Ok(entries.into())
}

/// Copies a task instance, with an executor config that it cannot read. Returns the id of the copy.
async fn copy(tx: &mut Tx, id: Uuid) -> Result<Uuid, Error> {
    let mut instance = task_instance::find(tx, id).await?.expect("the task instance is there");
    instance.id = new_id();
    instance.key.task_id.push_str("_copy");
    task_instance::insert(tx, &instance).await?;
    Ok(instance.id)
}

/// What `orm.py` names a table's rows by.
fn name_column(table: &str) -> &'static str {
    match table {
        "job" => "hostname",
        "dag_bundle" => "name",
        "dag" => "dag_id",
        "serialized_dag" => "dag_version_id",
        "dag_run" => "run_id",
        "variable" => "key",
        "connection" => "conn_id",
        "log" => "event",
        _ => "id",
    }
}
