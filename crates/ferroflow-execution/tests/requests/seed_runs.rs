//! DAGs of which tasks ask for runs, and a run that they clear.

use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_testkit::rows::{a_dag, a_run};
use ferroflow_testkit::{Server, TestDb, repository};
use jiff::ToSpan as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::seed::{DAY_1, instance_id};
use crate::seed_assets::seeded_with_assets;

/// `target` has a schedule and takes runs, and has a run of each state in which a run can be; of `pinned`, runs are
/// tied to a version of their bundle; `newest` runs on with its newest version; of the others, none can be asked for.
pub(crate) async fn seeded_with_runs(server: Server) -> TestDb {
    let database = seeded_with_assets(server).await;
    let db = database.connect().await;
    db.transact(|tx| async move { seed(tx).await }.scope_boxed()).await.unwrap();
    db.close().await;
    let user =
        "UPDATE dag_run SET triggering_user_name = 'somebody' WHERE run_id = 'run 1' AND dag_id = 'dag'";
    database.execute(user).await;
    let day = "'2026-01-01 00:00:00.000000'";
    let id = Uuid::from_u128(9_000).simple();
    let id = if server == Server::Postgres { format!("CAST('{id}' AS UUID)") } else { format!("'{id}'") };
    let reschedule = format!(
        "INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) \
         VALUES ({id}, {day}, {day}, 1, {day})"
    );
    database.execute(reschedule).await;
    let body = if server == Server::MariaDb { "`body`" } else { "\"body\"" };
    let question = format!(
        "INSERT INTO hitl_detail (ti_id, options, subject, {body}, multiple, params, created_at, responded_at, params_input) \
         VALUES ({id}, '[\"yes\"]', 's', NULL, FALSE, '{{}}', {day}, {day}, '{{}}')"
    );
    database.execute(question).await;
    database
}

async fn seed(tx: &mut Tx) -> Result<(), Error> {
    let target = document();
    store(tx, &a_dag("target"), Some(&target)).await?;
    store(tx, &Dag { is_stale: true, ..a_dag("stale") }, Some(&target)).await?;
    store(tx, &Dag { has_import_errors: Some(true), ..a_dag("broken") }, Some(&target)).await?;
    let only_manual = Some(Json::from(json!(["manual", "scheduled"])));
    store(tx, &Dag { allowed_run_types: only_manual, ..a_dag("denied") }, Some(&target)).await?;
    store(tx, &a_dag("unparsed"), None).await?;
    let versioned = |dag_id: &str| Dag { bundle_version: Some("v2".to_owned()), ..a_dag(dag_id) };
    let mut older = target.clone();
    older["dag"]["tasks"].as_array_mut().unwrap().remove(2);
    older["dag"]["task_group"]["children"].as_object_mut().unwrap().remove("c");
    older["dag"]["tasks"][1]["__var"]["downstream_task_ids"] = json!([]);
    let first = store(tx, &versioned("pinned"), Some(&older)).await?;
    version(tx, "pinned", &target).await?;
    let mut latest = target.clone();
    latest["dag"]["rerun_with_latest_version"] = json!(true);
    let first_of_newest = store(tx, &versioned("newest"), Some(&older)).await?;
    version(tx, "newest", &latest).await?;
    let success = [Some(TaskState::Success), Some(TaskState::Failed), None, Some(TaskState::UpForReschedule)];
    let running = [Some(TaskState::Running), Some(TaskState::Queued), Some(TaskState::Skipped), None];
    run(tx, "target", "done", RunState::Success, &success, None, 9_000).await?;
    run(tx, "target", "active", RunState::Running, &running, None, 9_100).await?;
    run(tx, "target", "empty", RunState::Failed, &[], None, 9_200).await?;
    run(tx, "pinned", "done", RunState::Failed, &success, first, 9_300).await?;
    run(tx, "newest", "done", RunState::Failed, &success, first_of_newest, 9_400).await?;
    run(tx, "newest", "active", RunState::Running, &running, first_of_newest, 9_500).await
}

fn document() -> Value {
    serde_json::from_str(&fs_err::read_to_string(repository("testdata/requests/target.json")).unwrap())
        .unwrap()
}

async fn store(tx: &mut Tx, row: &Dag, document: Option<&Value>) -> Result<Option<Uuid>, Error> {
    dag::insert(tx, row).await?;
    match document {
        Some(document) => version(tx, &row.dag_id, document).await.map(Some),
        None => Ok(None),
    }
}

async fn version(tx: &mut Tx, dag_id: &str, document: &Value) -> Result<Uuid, Error> {
    let mut document = document.clone();
    document["dag"]["dag_id"] = json!(dag_id);
    let new = NewDagVersion {
        dag_id: dag_id.to_owned(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    };
    let dag_version_id = dag_version::insert(tx, &new, DAY_1).await?;
    let dag = NewSerializedDag {
        dag_id: dag_id.to_owned(),
        dag_version_id,
        dag_hash: "0".repeat(32),
        data: Json::from(document),
    };
    serialized_dag::insert(tx, &dag, false, DAY_1).await?;
    Ok(dag_version_id)
}

/// Task `gone` is not in the DAG any more.
async fn run(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    state: RunState,
    states: &[Option<TaskState>],
    version: Option<Uuid>,
    first_id: u128,
) -> Result<(), Error> {
    let date = DAY_1 + i64::try_from(first_id).unwrap().minutes();
    let new = NewDagRun {
        created_dag_version_id: version,
        bundle_version: version.map(|_| "v1".to_owned()),
        ..a_run(dag_id, run_id, date)
    };
    let id = dag_run::insert(tx, &new, date).await?;
    dag_run::set_state(tx, id, RunState::Queued, RunState::Running, date).await?;
    if state != RunState::Running {
        dag_run::set_state(tx, id, RunState::Running, state, date).await?;
    }
    let tasks = [("a", -1), ("b", 0), ("b", 1), ("gone", -1)];
    for ((place, state), (task_id, map_index)) in (0..).zip(states).zip(tasks) {
        let key = TaskInstanceKey {
            dag_id: dag_id.to_owned(),
            run_id: run_id.to_owned(),
            task_id: task_id.to_owned(),
            map_index,
        };
        let ended = state.is_some_and(TaskState::is_finished);
        let instance = TaskInstance {
            state: *state,
            try_number: i32::from(state.is_some()),
            start_date: state.is_some().then_some(date),
            end_date: ended.then(|| date + 5.seconds()),
            duration: ended.then_some(5.0),
            max_tries: 1,
            pool: "other".to_owned(),
            external_executor_id: Some("x".to_owned()),
            next_method: (place == 1).then(|| "go_on".to_owned()),
            next_kwargs: (place == 1).then(|| Json::from(json!({"x": 1}))),
            dag_version_id: version,
            ..TaskInstance::new(Uuid::from_u128(first_id + place), key, date)
        };
        task_instance::insert(tx, &instance).await?;
    }
    debug_assert_ne!(instance_id(1, 0), Uuid::from_u128(first_id), "ids are used once");
    Ok(())
}
