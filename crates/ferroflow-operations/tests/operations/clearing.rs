use ferroflow_db::notifications::Notification;
use ferroflow_operations::dag::WhichDags;
use ferroflow_operations::task_instance::{self, ClearRequest};

use crate::fixture::Fixture;
use crate::stored::{daily, notified};

const STATES: &str = "SELECT task_id || ' ' || COALESCE(state, '-') AS answer FROM task_instance ORDER BY 1";

fn all_of(dag_id: &str) -> ClearRequest<'_> {
    ClearRequest {
        dags: WhichDags::Named(dag_id),
        bundles: &[],
        task_text: None,
        upstream: false,
        downstream: false,
        from: None,
        to: None,
        only_failed: false,
        only_running: false,
    }
}

#[tokio::test]
async fn what_is_selected_begins_anew_when_that_is_applied() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    fixture.trigger("daily", "by_hand").await;
    for statement in [
        "UPDATE dag_run SET state = 'failed'",
        "UPDATE task_instance SET state = 'success' WHERE task_id = 'first'",
        "UPDATE task_instance SET state = 'failed' WHERE task_id = 'second'",
    ] {
        fixture.database.execute(statement).await;
    }
    let operations = &fixture.operations;
    let selected = async |request: &ClearRequest<'_>| {
        let clearing = task_instance::clear(operations, request).await.unwrap();
        let instances = clearing.runs.iter().flat_map(|run| &run.instances);
        instances.map(|instance| instance.task_id.clone()).collect::<Vec<_>>()
    };
    let failed = ClearRequest { only_failed: true, ..all_of("daily") };
    assert_eq!(selected(&failed).await, ["second"]);
    let downstream = ClearRequest { task_text: Some("fir"), downstream: true, ..all_of("daily") };
    assert_eq!(selected(&downstream).await, ["first", "second"]);
    assert_eq!(fixture.texts(STATES).await, ["first success", "second failed"], "nothing was applied");
    let mut notifications = operations.db.notifications();
    let clearing = task_instance::clear(operations, &failed).await.unwrap();
    let mut told = Vec::new();
    clearing.apply(|done| told.push(done)).await.map_err(|(_, error)| error).unwrap();
    assert_eq!(told, [0]);
    assert_eq!(fixture.texts(STATES).await, ["first success", "second -"]);
    assert_eq!(fixture.texts("SELECT state AS answer FROM dag_run").await, ["queued"]);
    let (dag_id, run_id) = ("daily".to_owned(), "by_hand".to_owned());
    let expected = [Notification::QueuedOf { dag_id: dag_id.clone() }, Notification::Run { dag_id, run_id }];
    assert_eq!(notified(&mut notifications), expected);
    assert_eq!(fixture.events().await[1..], ["cli_task_clear"; 3]);
}
