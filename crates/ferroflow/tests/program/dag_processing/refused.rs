//! A database that does not take what was parsed, for a while.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, wait_until};

use crate::dag_processing::FERROFLOW;

#[tokio::test]
async fn what_could_not_be_stored_is_tried_again_soon() {
    let place =
        Place::on(Server::Postgres).await.with("AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL", "3600");
    for statement in [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN RAISE EXCEPTION ''not today''; END'",
        "CREATE TRIGGER refusal BEFORE INSERT ON dag_version FOR EACH ROW EXECUTE FUNCTION refuse()",
    ] {
        place.db().execute(statement).await;
    }
    place.write_dag("one");
    let running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    assert!(wait_until(60, || running.log().contains("not today")), "{}", running.log());
    assert!(observer.serialized().is_empty() && observer.import_errors().is_empty());
    place.db().execute("DROP TRIGGER refusal ON dag_version").await;
    assert!(wait_until(60, || observer.serialized() == ["one"]), "{}", running.log());
}
