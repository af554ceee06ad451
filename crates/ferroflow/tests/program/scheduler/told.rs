//! A scheduler that hardly ever looks around is told what happens.

use ferroflow_db::testing;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running};

use crate::scheduler::FERROFLOW;
use crate::scheduler::alone::runs_go_from_schedule_to_end;
use crate::scheduler::scene::scene_with;

/// So long that no test waits for it.
const NEVER: [(&str, &str); 1] = [("AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME", "86400")];

const DAGS: &str = "
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator

with DAG('first', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task
    def only():
        pass

    only()

with DAG('asked_for', schedule=None):

    @task
    def only():
        pass

    only()

with DAG('asks', schedule=None):
    TriggerDagRunOperator(task_id='asks', trigger_dag_id='asked_for', trigger_run_id='by_a_task')
";

/// Within one process: a task changes an asset that a DAG waits for, on every database.
#[tokio::test]
async fn of_assets_on_sqlite() {
    runs_go_from_schedule_to_end(Server::Sqlite, &NEVER).await;
}

#[tokio::test]
async fn of_assets_on_postgres() {
    runs_go_from_schedule_to_end(Server::Postgres, &NEVER).await;
}

#[tokio::test]
async fn of_assets_on_mariadb() {
    runs_go_from_schedule_to_end(Server::MariaDb, &NEVER).await;
}

/// By a process of ours, which needs no triggers.
#[tokio::test]
async fn of_a_run_that_another_process_makes() {
    let (place, mut scheduler) = at_rest().await;
    let mut asking = place.start(FERROFLOW, &["dags", "test", "asks"]);
    assert_eq!(asking.wait_for_end(120), Some(0), "{}", asking.log());
    wait_for(&place, &scheduler, "SELECT state AS answer FROM dag_run WHERE run_id = 'by_a_task'", "success")
        .await;
    end(&mut scheduler);
}

/// By somebody who writes into the tables and knows nothing of us, by triggers; also when the connection that listens was
/// lost in between.
#[tokio::test]
async fn of_a_run_that_somebody_inserts() {
    let (place, mut scheduler) = at_rest().await;
    let mut installing = place.start(FERROFLOW, &["db", "notify", "--install"]);
    assert_eq!(installing.wait_for_end(30), Some(0), "{}", installing.log());
    assert!(installing.log().contains("asset_dag_run_queue ferroflow_new"), "{}", installing.log());
    insert_run(&place, "one").await;
    let state_of = |run_id: &str| format!("SELECT state AS answer FROM dag_run WHERE run_id = '{run_id}'");
    wait_for(&place, &scheduler, &state_of("one"), "success").await;

    let listening = "SELECT CAST(pid AS TEXT) AS answer FROM pg_stat_activity \
                     WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let before = ask(&place, listening).await;
    assert_eq!(before.len(), 1, "one connection listens");
    place.db().execute(format!("SELECT pg_terminate_backend({}, 5000)", before[0])).await;
    let again = format!("SELECT 'yes' AS answer FROM ({listening}) AS found WHERE answer <> '{}'", before[0]);
    wait_for(&place, &scheduler, &again, "yes").await;
    insert_run(&place, "two").await;
    wait_for(&place, &scheduler, &state_of("two"), "success").await;

    let mut removing = place.start(FERROFLOW, &["db", "notify", "--remove"]);
    assert_eq!(removing.wait_for_end(30), Some(0), "{}", removing.log());
    assert!(removing.log().contains("no triggers"), "{}", removing.log());
    let left = "SELECT CAST(nspname AS TEXT) AS answer FROM pg_namespace WHERE nspname = 'ferroflow_news'";
    assert_eq!(ask(&place, left).await, Vec::<String>::new());
    end(&mut scheduler);
}

/// A task instance that an official component ends: what waits for it goes on.
#[tokio::test]
async fn of_a_task_instance_that_somebody_marks() {
    let place = scene_with(Server::Postgres, WAITING, &NEVER).await;
    let mut installing = place.start(FERROFLOW, &["db", "notify", "--install"]);
    assert_eq!(installing.wait_for_end(30), Some(0), "{}", installing.log());
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    let sleeps = "SELECT COALESCE(state, 'none') AS answer FROM task_instance WHERE task_id = 'sleeps'";
    wait_for(&place, &scheduler, sleeps, "running").await;
    let mark = "UPDATE task_instance SET state = 'success', end_date = now(), updated_at = now() \
                WHERE task_id = 'sleeps'";
    place.db().execute(mark).await;
    wait_for(&place, &scheduler, "SELECT state AS answer FROM dag_run", "success").await;
    end(&mut scheduler);
}

const WAITING: &str = "
with DAG('waits', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task
    def sleeps():
        time.sleep(600)

    @task
    def follows():
        pass

    sleeps() >> follows()
";

/// A scheduler that has run what there was to run.
async fn at_rest() -> (Place, Running) {
    let place = scene_with(Server::Postgres, DAGS, &NEVER).await;
    let scheduler = place.start(FERROFLOW, &["scheduler"]);
    wait_for(&place, &scheduler, "SELECT state AS answer FROM dag_run WHERE dag_id = 'first'", "success")
        .await;
    (place, scheduler)
}

/// Inserts a run with its task instance as an API server does: those of the first DAG, with other names.
async fn insert_run(place: &Place, run_id: &str) {
    let version = "(SELECT id FROM dag_version WHERE dag_id = 'asked_for')";
    let run = format!(
        "INSERT INTO dag_run SELECT (jsonb_populate_record(run, jsonb_build_object(
             'id', nextval('dag_run_id_seq'), 'dag_id', 'asked_for', 'run_id', '{run_id}', 'state', 'queued',
             'run_type', 'manual', 'logical_date', NULL, 'data_interval_start', NULL, 'data_interval_end', NULL,
             'start_date', NULL, 'end_date', NULL, 'queued_at', now(), 'run_after', now(),
             'last_scheduling_decision', NULL, 'scheduled_by_job_id', NULL, 'created_dag_version_id', {version}
         ))).* FROM dag_run AS run WHERE dag_id = 'first'"
    );
    let instance = format!(
        "INSERT INTO task_instance SELECT (jsonb_populate_record(instance, jsonb_build_object(
             'id', gen_random_uuid(), 'dag_id', 'asked_for', 'run_id', '{run_id}', 'state', NULL, 'try_number', 0,
             'start_date', NULL, 'end_date', NULL, 'dag_version_id', {version}, 'queued_dttm', NULL
         ))).* FROM task_instance AS instance WHERE dag_id = 'first'"
    );
    place.db().execute(format!("BEGIN; {run}; {instance}; COMMIT")).await;
}

async fn ask(place: &Place, question: &str) -> Vec<String> {
    let db = place.db().connect().await;
    let answers = testing::texts(&db, question).await.unwrap();
    db.close().await;
    answers
}

/// Waits until a question has this one answer.
async fn wait_for(place: &Place, scheduler: &Running, question: &str, expected: &str) {
    let db = place.db().connect().await;
    let mut answers = Vec::new();
    for _ in 0..240 {
        answers = testing::texts(&db, question).await.unwrap();
        if answers == [expected] {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
    db.close().await;
    assert_eq!(answers, [expected], "{question}\n{}", scheduler.log());
}

fn end(scheduler: &mut Running) {
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
}
