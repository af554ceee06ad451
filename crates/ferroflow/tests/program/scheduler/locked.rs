//! Somebody has locked rows of running tasks: their own ends wait for that, and nothing else does.

use ferroflow_db::testing::texts;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};
use ferroflow_testkit::{HeldRows, Server};
use uuid::Uuid;

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{let_go, notes, scene_with, wait_for_runs};

const PAIR: &str = "
with DAG('pair', schedule='@once', start_date=datetime(2024, 1, 1)):

    def lasting(name):
        @task(task_id=name)
        def run():
            note('begins')
            wait_for(name)
            note('ends')
        return run()

    lasting('first')
    lasting('held')
    lasting('last')
";

const CROWD: &str = "
with DAG('crowd', schedule='@once', start_date=datetime(2024, 1, 1), max_active_tasks=32):

    @task
    def held(number):
        note('begins')
        wait_for('crowd')
        note('ends')

    held.expand(number=list(range(20)))

with DAG('other', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task
    def waits():
        note('begins')
        wait_for('other')
        note('ends')

    @task
    def follows():
        note('begins')
        note('ends')

    waits() >> follows()
";

/// Seconds after which a task that was not heard of is given up.
const SILENCE: i64 = 20;

async fn ids(place: &Place, condition: &str) -> Vec<Uuid> {
    let question = format!("SELECT CAST(id AS CHAR(36)) AS answer FROM task_instance WHERE {condition}");
    ask(place, &question).await.iter().map(|id| id.parse().unwrap()).collect()
}

async fn ask(place: &Place, question: &str) -> Vec<String> {
    let db = place.db().connect().await;
    let answers = texts(&db, question).await.unwrap();
    db.close().await;
    answers
}

async fn state_of(place: &Place, task: &str) -> String {
    let question = format!(
        "SELECT concat(state, ' ', try_number) AS answer FROM task_instance WHERE task_id = '{task}'"
    );
    ask(place, &question).await.concat()
}

/// Waits until a question is answered so.
async fn until(place: &Place, question: &str, expected: &str, scheduler: &Running) {
    for _ in 0..400 {
        if ask(place, question).await == [expected] {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
    panic!("{question}: {:?}\n{}", ask(place, question).await, scheduler.log());
}

fn state(task: &str) -> String {
    format!("SELECT state AS answer FROM task_instance WHERE task_id = '{task}'")
}

/// One of three running tasks is held, for longer than one may be silent.
async fn one_holds_up_nobody(server: Server, silent_for: &str) {
    let settings = [
        ("AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL", "1"),
        ("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT", &*SILENCE.to_string()),
        // It looks for silent ones all the time, also when the row has just been let go of.
        ("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL", "0.1"),
    ];
    let place = scene_with(server, PAIR, &settings).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(90, || notes(&place).len() == 3), "{}", scheduler.log());
    let held = HeldRows::of(place.db(), ids(&place, "task_id = 'held'").await).await;
    let_go(&place, "first");
    until(&place, &state("first"), "success", &scheduler).await;
    let_go(&place, "held");
    assert!(
        wait_until(60, || scheduler.log().contains("a row that others have locked")),
        "{}",
        scheduler.log()
    );
    // The held one is not heard of in its row for long enough, and the other is.
    let silent = format!("SELECT 'yes' AS answer FROM task_instance WHERE task_id = 'held' AND {silent_for}");
    until(&place, &silent, "yes", &scheduler).await;
    let_go(&place, "last");
    until(&place, &state("last"), "success", &scheduler).await;
    assert_eq!(state_of(&place, "held").await, "running 1", "{}", scheduler.log());
    held.let_go().await;
    assert_eq!(wait_for_runs(&place, 1, 90).await, ["pair success"], "{}", scheduler.log());
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(60), Some(0), "{}", scheduler.log());
    let tries = notes(&place);
    assert!(tries.len() == 3 && tries.values().all(|counts| *counts == (1, 1)), "{tries:?}");
}

#[tokio::test]
async fn one_holds_up_nobody_on_postgres() {
    let silent_for = format!("last_heartbeat_at < now() - interval '{} seconds'", SILENCE + 2);
    one_holds_up_nobody(Server::Postgres, &silent_for).await;
}

#[tokio::test]
async fn one_holds_up_nobody_on_mariadb() {
    let silent_for = format!("last_heartbeat_at < UTC_TIMESTAMP() - INTERVAL {} SECOND", SILENCE + 2);
    one_holds_up_nobody(Server::MariaDb, &silent_for).await;
}

/// More tasks than there are connections wait for their rows.
async fn many_hold_up_nobody(server: Server) {
    let place = scene_with(server, CROWD, &[]).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(180, || notes(&place).len() == 21), "{:?}\n{}", notes(&place), scheduler.log());
    let held = ids(&place, "task_id = 'held'").await;
    assert_eq!(held.len(), 20);
    let held = HeldRows::of(place.db(), held).await;
    let_go(&place, "crowd");
    let have_ended = || notes(&place).values().filter(|counts| counts.1 == 1).count() == 20;
    assert!(wait_until(60, have_ended), "{:?}\n{}", notes(&place), scheduler.log());
    let waiting =
        || scheduler.log().matches("the state of a task waits for a row that others have locked").count();
    assert!(wait_until(90, || waiting() >= 20), "{} {}", waiting(), scheduler.log());
    let_go(&place, "other");
    until(&place, "SELECT state AS answer FROM dag_run WHERE dag_id = 'other'", "success", &scheduler).await;
    scheduler.terminate();
    assert!(wait_until(30, || scheduler.log().contains("waiting for running tasks")), "{}", scheduler.log());
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(150), Some(0), "{}", scheduler.log());
    held.let_go().await;
    let states =
        ask(&place, "SELECT DISTINCT state AS answer FROM task_instance WHERE task_id = 'held'").await;
    assert_eq!(states, ["running"], "nothing is invented");
}

#[tokio::test]
async fn many_hold_up_nobody_on_postgres() {
    many_hold_up_nobody(Server::Postgres).await;
}

#[tokio::test]
async fn many_hold_up_nobody_on_mariadb() {
    many_hold_up_nobody(Server::MariaDb).await;
}
