//! A scheduler that is told to end: what runs comes to its end, and others take over all the rest at once.

use ferroflow_db::testing::texts;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Running, wait_until};

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{let_go, notes, scene, wait_for_runs};

const DAGS: &str = "
with DAG('waits', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task
    def long():
        note('begins')
        wait_for('long')
        note('ends')

    @task
    def short():
        note('begins')
        wait_for('short')
        note('ends')

    @task
    def after():
        note('begins')
        note('ends')

    long()
    short() >> after()
";

async fn its_runs_go_on_with_another(server: Server) {
    let place = scene(server, DAGS).await;
    let mut first = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(90, || notes(&place).len() == 2), "{}", first.log());
    let mut second = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || second.log().contains("scheduling")), "{}", second.log());
    first.terminate();
    assert!(wait_until(30, || first.log().contains("waiting for running tasks")), "{}", first.log());
    let_go(&place, "short");
    let has_followed = wait_until(45, || notes(&place).contains_key("waits after -1 1"));
    assert!(has_followed, "{}\n{}", first.log(), second.log());
    assert!(!first.has_ended(), "its other task runs");
    let_go(&place, "long");
    assert_eq!(first.wait_for_end(60), Some(0), "{}", first.log());
    assert_eq!(wait_for_runs(&place, 1, 60).await, ["waits success"], "{}", second.log());
    second.terminate();
    assert_eq!(second.wait_for_end(30), Some(0), "{}", second.log());
    let tries = notes(&place);
    assert_eq!(tries.len(), 3);
    assert!(tries.values().all(|counts| *counts == (1, 1)), "{tries:?}");
}

#[tokio::test]
async fn its_runs_go_on_with_another_on_postgres() {
    its_runs_go_on_with_another(Server::Postgres).await;
}

#[tokio::test]
async fn its_runs_go_on_with_another_on_mariadb() {
    its_runs_go_on_with_another(Server::MariaDb).await;
}

const ONE: &str = "
with DAG('one', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task(retries=1)
    def ends():
        note('begins')
        wait_for('spoilt')
        note('ends')

    ends()
";

/// A task has succeeded, and its row cannot be written until after it was given up waiting for that.
#[tokio::test]
async fn what_a_task_has_told_outlasts_a_second_signal() {
    let place = scene(Server::Sqlite, ONE).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    let says = |scheduler: &Running, words: &str| wait_until(90, || scheduler.log().contains(words));
    assert!(wait_until(90, || notes(&place).len() == 1), "{}", scheduler.log());
    place.db().execute("UPDATE dag_run SET partition_date = 'soon'").await;
    let_go(&place, "spoilt");
    assert!(says(&scheduler, "the state of a task waits until a row is mended"), "{}", scheduler.log());
    scheduler.terminate();
    assert!(says(&scheduler, "waiting for running tasks"), "{}", scheduler.log());
    scheduler.terminate();
    assert!(says(&scheduler, "a request of user code failed"), "{}", scheduler.log());
    place.db().execute("UPDATE dag_run SET partition_date = NULL").await;
    assert_eq!(scheduler.wait_for_end(60), Some(0), "{}", scheduler.log());
    let db = place.db().connect().await;
    let question = "SELECT concat(state, ' ', try_number) AS answer FROM task_instance";
    assert_eq!(texts(&db, question).await.unwrap(), ["success 1"], "{}", scheduler.log());
    db.close().await;
}

#[tokio::test]
async fn a_second_signal_ends_what_runs() {
    let place = scene(Server::Sqlite, DAGS).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(90, || notes(&place).len() == 2), "{}", scheduler.log());
    scheduler.terminate();
    assert!(wait_until(30, || scheduler.log().contains("waiting for running tasks")), "{}", scheduler.log());
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(60), Some(0), "{}", scheduler.log());
    assert!(wait_until(20, || place.processes().is_empty()), "{:?}", place.processes());
    assert!(notes(&place).values().all(|counts| *counts == (1, 0)), "neither came to its end");
}
