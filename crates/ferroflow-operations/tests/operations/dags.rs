use ferroflow_db::notifications::Notification;
use ferroflow_operations::OperationError;
use ferroflow_operations::dag::{self, PauseRequest, WhichDags};
use regex::Regex;

use crate::fixture::Fixture;
use crate::stored::{daily, notified};

#[tokio::test]
async fn a_dag_is_deleted_only_when_that_is_applied_and_schedulers_are_notified() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    let operations = &fixture.operations;
    let mut notifications = operations.db.notifications();
    drop(dag::delete(operations, "daily").await);
    assert_eq!(fixture.texts("SELECT dag_id AS answer FROM dag").await, ["daily"]);
    assert_eq!(notified(&mut notifications), []);
    let rows = dag::delete(operations, "daily").await.apply().await.unwrap();
    assert!(rows >= 3, "the DAG, its version, its serialized form: {rows}");
    assert_eq!(notified(&mut notifications), [Notification::Dags]);
    assert_eq!(fixture.texts("SELECT dag_id AS answer FROM dag").await, [""; 0]);
    let logged = fixture.texts("SELECT event || ' ' || dag_id || ' ' || owner AS answer FROM log").await;
    assert_eq!(logged, ["cli_dag_delete daily ada"; 2]);
}

#[tokio::test]
async fn what_is_not_there_or_still_runs_is_not_deleted() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    let operations = &fixture.operations;
    let mut notifications = operations.db.notifications();
    let refused = dag::delete(operations, "dayly").await.apply().await.unwrap_err();
    assert!(matches!(refused, OperationError::NotFound(_)));
    assert_eq!(refused.to_string(), "DAG \"dayly\" is not in the database; did you mean daily?");
    fixture.trigger("daily", "by_hand").await;
    fixture.database.execute("UPDATE task_instance SET state = 'running' WHERE task_id = 'first'").await;
    notified(&mut notifications);
    let refused = dag::delete(operations, "daily").await.apply().await.unwrap_err();
    assert!(matches!(refused, OperationError::Conflict(_)));
    assert!(refused.to_string().starts_with("task first of run by_hand still runs; "), "{refused}");
    assert_eq!(notified(&mut notifications), []);
}

#[tokio::test]
async fn dags_are_paused_by_name_or_pattern_unless_they_are_so_already() {
    let fixture = Fixture::new().await;
    for dag_id in ["north", "south", "sea"] {
        fixture.store(dag_id, daily()).await;
    }
    let operations = &fixture.operations;
    let pause = async |dags: WhichDags<'_>, is_paused: bool| {
        let change = dag::pause(operations, PauseRequest { dags, is_paused }).await.unwrap();
        let planned = change.dag_ids.clone();
        assert_eq!(change.apply().await.unwrap(), planned);
        planned
    };
    let mut notifications = operations.db.notifications();
    assert_eq!(pause(WhichDags::Named("south"), true).await, ["south"]);
    assert_eq!(notified(&mut notifications), [Notification::Dags]);
    let pattern = Regex::new("th$").unwrap();
    assert_eq!(pause(WhichDags::Matching(&pattern), true).await, ["north"]);
    notified(&mut notifications);
    assert_eq!(pause(WhichDags::Matching(&pattern), true).await, [""; 0]);
    assert_eq!(notified(&mut notifications), []);
    assert_eq!(pause(WhichDags::Matching(&pattern), false).await, ["north", "south"]);
    let events = ["cli_dag_pause", "cli_dag_pause", "cli_dag_pause", "cli_dag_unpause"];
    assert_eq!(fixture.events().await, events);
}
