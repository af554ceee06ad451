//! DAG files that cannot be imported.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::{FERROFLOW, findings, is_there};

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
}
