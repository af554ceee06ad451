//! DAG files that cannot be imported.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::doctor::{FERROFLOW, findings, is_there};

#[tokio::test]
async fn on_sqlite() {
    errors_are_told(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    errors_are_told(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    errors_are_told(Server::MariaDb).await;
}

/// One that is known is none of ferroflow's doing; one that nobody knew of might be.
async fn errors_are_told(server: Server) {
    let place = Place::on(server).await;
    place.write_dag("daily");
    place.write("broken.py", "from airflow.sdk import DAG\nprice = 1 / 0\n");
    place.process_once(FERROFLOW);
    let (code, found) = findings(&place, &[]);
    assert_eq!(code, Some(0), "{found:#?}");
    let known = ["ZeroDivisionError: division by zero", "broken.py of bundle main"];
    assert!(is_there(&found, "warning DAG files, as the database knows them: ", &known), "{found:#?}");
    place.write("new.py", "from airflow.sdk import DAG\nimport nothing_of_this_name\n");
    let (code, found) = findings(&place, &["--parse"]);
    assert_eq!(code, Some(1), "{found:#?}");
    let parsed = "DAG files, parsed now: ";
    assert!(is_there(&found, &format!("ok {parsed}3 files were parsed, with 1 DAGs"), &[]), "{found:#?}");
    assert!(is_there(&found, &format!("warning {parsed}"), &known), "{found:#?}");
    let new = ["ModuleNotFoundError", "nothing_of_this_name", "new.py of bundle main"];
    assert!(is_there(&found, &format!("problem {parsed}"), &new), "{found:#?}");
    let times = found.iter().filter(|line| line.contains("ZeroDivisionError")).count();
    assert_eq!(times, 1, "{found:#?}");
}

/// Neither the official DAG processor nor ours refuses any of them.
#[tokio::test]
async fn a_dag_in_two_files_is_a_note_and_a_pool_that_is_missing_a_warning() {
    let place = Place::on(Server::Sqlite).await;
    let dag = "
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG('twin', schedule=None):
    EmptyOperator(task_id='t', pool='nowhere')
";
    place.write("one.py", dag);
    place.write("two.py", dag);
    place.process_once(FERROFLOW);
    let (code, found) = findings(&place, &["--parse"]);
    assert_eq!(code, Some(0), "{found:#?}");
    let twice = ["DAG twin is in", "one.py of bundle main", "two.py of bundle main"];
    assert!(is_there(&found, "note DAG files, parsed now: ", &twice), "{found:#?}");
    assert!(!found.iter().any(|line| line.contains("cannot be imported")), "{found:#?}");
    let missing = ["there is no pool \"nowhere\"", "tasks of twin wait"];
    assert!(is_there(&found, "warning DAGs: ", &missing), "{found:#?}");
}
