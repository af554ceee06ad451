//! A DAG changes while nobody looks after its run: whoever takes the run over gives it the new tasks.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::wait_until;

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{let_go, notes, scene, store, wait_for_runs};

const BEFORE: &str = "
with DAG('grows', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task(retries=5, retry_delay=timedelta(seconds=0))
    def first():
        note('begins')
        wait_for('change')
        note('ends')

    first()
";

const ADDED: &str = "
    @task
    def second():
        note('begins')
        note('ends')

    @task
    def third():
        note('begins')
        note('ends')

    first() >> second() >> third()
";

async fn a_run_gets_the_tasks_that_came_while_nobody_looked_after_it(server: Server) {
    let place = scene(server, BEFORE).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(90, || notes(&place).len() == 1), "{}", scheduler.log());
    scheduler.kill();
    store(&place, &format!("{}{ADDED}", BEFORE.trim_end().trim_end_matches("first()")));
    let_go(&place, "change");
    let mut next = place.start(FERROFLOW, &["scheduler"]);
    assert_eq!(wait_for_runs(&place, 1, 120).await, ["grows success"], "{}", next.log());
    next.terminate();
    assert_eq!(next.wait_for_end(30), Some(0), "{}", next.log());
    let tries = notes(&place);
    for task in ["second", "third"] {
        assert_eq!(tries.get(&format!("grows {task} -1 1")), Some(&(1, 1)), "{tries:?}\n{}", next.log());
    }
}

#[tokio::test]
async fn on_sqlite() {
    a_run_gets_the_tasks_that_came_while_nobody_looked_after_it(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    a_run_gets_the_tasks_that_came_while_nobody_looked_after_it(Server::Postgres).await;
}
