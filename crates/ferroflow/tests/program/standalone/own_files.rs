//! Somebody goes on with files of their own.

use ferroflow_testkit::{Program, Server, TestDb};

use crate::standalone::home::{Home, end, wait_for_line};

const DAGS: &str = "
from airflow.sdk import DAG, task

with DAG('mine', schedule='@once'):

    @task
    def only():
        with open(NOTES, 'a') as notes:
            notes.write('only\\n')

    only()

with DAG('shy', schedule='@once', is_paused_upon_creation=True):

    @task
    def never():
        raise ValueError('it is paused')

    never()
";

fn goes_on(home: &Home) {
    let running = home.start();
    wait_for_line(&running, &["success  mine "]);
    wait_for_line(&running, &["paused   shy", "ferroflow dags unpause shy"]);
    home.write("broken.py", "import airflow.sdk, dag_that_is_not_there\n");
    wait_for_line(&running, &["broken   broken.py: ModuleNotFoundError"]);
    home.write("broken.py", &DAGS.replace("'mine'", "'mended'").replace("'shy'", "'also_shy'"));
    wait_for_line(&running, &["success  mended "]);
    let log = end(running);
    assert!(!log.contains("example_"), "no examples were asked for\n{log}");
    assert_eq!(home.notes(), ["only", "only"]);
    assert!(!home.airflow().join("ferroflow-examples").exists());
}

#[test]
fn in_the_embedded_database() {
    // Airflow's standalone does not take the executor of a larger site either.
    goes_on(&Home::with_dags(DAGS).with("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor"));
}

#[tokio::test]
async fn on_postgres_by_one_variable() {
    let database = TestDb::empty(Server::Postgres).await;
    goes_on(&Home::with_dags(DAGS).with("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", &database.url()));
    let db = database.connect().await;
    let standing = "SELECT dag_id || ' ' || state AS answer FROM dag_run ORDER BY 1";
    assert_eq!(
        ferroflow_db::testing::texts(&db, standing).await.unwrap(),
        ["mended success", "mine success"]
    );
    db.close().await;
}

#[tokio::test]
async fn a_database_of_something_else_is_refused() {
    let database = TestDb::empty(Server::Postgres).await;
    database.execute("CREATE TABLE something (id INTEGER)").await;
    let home = Home::new().with("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", &database.url());
    let mut running = home.start();
    assert_eq!(running.wait_for_end(60), Some(1));
    let log = running.log();
    assert!(log.contains("tables that are not Airflow's") && log.contains("empty database"), "{log}");
}

#[test]
fn without_a_python_to_start_from_it_says_what_to_install() {
    let nothing = Program::new(env!("CARGO_BIN_EXE_ferroflow")).with("PATH", "/nonexistent");
    let refused = nothing.run(&["standalone"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stdout.ends_with("python    is being made, with Airflow; this takes a few minutes, once\n")
    );
    assert!(refused.stderr.contains("no Python 3.10 or newer with the venv module"), "{}", refused.stderr);
    // One that somebody has named is not replaced.
    let refused = nothing.with("AIRFLOW__FERROFLOW__PYTHON", "/nonexistent/python").run(&["standalone"]);
    assert!(refused.stderr.contains("[ferroflow] python: /nonexistent/python: there is no such file"));
    assert!(!refused.stdout.contains("is being made"), "{}", refused.stdout);
}
