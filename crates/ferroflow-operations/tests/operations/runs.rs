use ferroflow_db::dag_run::DagRun;
use ferroflow_db::notifications::Notification;
use ferroflow_model::state::{RunState, RunType};
use ferroflow_operations::OperationError;
use ferroflow_operations::dag_run::{self, RunName, TriggerRequest};

use crate::fixture::Fixture;
use crate::stored::{daily, notified, of_user_code};

impl Fixture {
    pub(crate) async fn trigger(&self, dag_id: &str, run_id: &str) -> DagRun {
        dag_run::trigger(&self.operations, &request(dag_id, Some(run_id))).await.unwrap()
    }
}

fn request(dag_id: &str, run_id: Option<&str>) -> TriggerRequest {
    TriggerRequest {
        dag_id: dag_id.to_owned(),
        run_id: run_id.map(str::to_owned),
        ..TriggerRequest::default()
    }
}

#[tokio::test]
async fn a_run_is_of_its_caller_and_schedulers_are_notified() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    let mut notifications = fixture.operations.db.notifications();
    let logical_date = Some("2024-03-01T06:00:00.5Z".parse().unwrap());
    let wanted = TriggerRequest { logical_date, ..request("daily", None) };
    let run = dag_run::trigger(&fixture.operations, &wanted).await.unwrap();
    assert!(run.run_id.starts_with("manual__"), "{}", run.run_id);
    assert_eq!((run.run_type, run.state), (RunType::Manual, RunState::Queued));
    assert_eq!(run.triggering_user_name.as_deref(), Some("ada"));
    let unixnames =
        fixture.texts("SELECT task_id || ' ' || unixname AS answer FROM task_instance ORDER BY 1");
    assert_eq!(unixnames.await, ["first airflow", "second airflow"]);
    assert_eq!(notified(&mut notifications), [Notification::QueuedOf { dag_id: "daily".to_owned() }]);
    assert_eq!(run.logical_date, Some("2024-03-01T06:00:00Z".parse().unwrap()), "fractions are cut off");
    let logged =
        fixture.texts("SELECT event || ' ' || dag_id || ' ' || logical_date AS answer FROM log").await;
    assert_eq!(logged.len(), 1);
    assert!(logged[0].starts_with("cli_dag_trigger daily 2024-03-01 06:00:00.5"), "{logged:?}");
    let exact = TriggerRequest { keeps_microseconds: true, run_id: Some("exact".to_owned()), ..wanted };
    let run = dag_run::trigger(&fixture.operations, &exact).await.unwrap();
    assert_eq!(run.logical_date, logical_date);
}

#[tokio::test]
async fn a_run_that_may_not_be_made_is_refused_by_kind() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    fixture.store("lunar", of_user_code()).await;
    fixture.trigger("daily", "by_hand").await;
    let refused = async |dag_id: &str, run_id: Option<&str>| {
        dag_run::trigger(&fixture.operations, &request(dag_id, run_id)).await.unwrap_err()
    };
    let again = refused("daily", Some("by_hand")).await;
    assert!(matches!(again, OperationError::Conflict(_)), "{again:?}");
    let reserved = refused("daily", Some("scheduled__x")).await;
    assert!(matches!(reserved, OperationError::Invalid(_)), "{reserved:?}");
    let unknown = refused("weekly", None).await;
    assert!(matches!(unknown, OperationError::NotFound(_)), "{unknown:?}");
    let unanswered = refused("lunar", None).await;
    assert!(matches!(unanswered, OperationError::Unable(_)), "nobody asks Python: {unanswered:?}");
    assert_eq!(fixture.texts("SELECT run_id AS answer FROM dag_run").await, ["by_hand"]);
    assert_eq!(fixture.events().await, ["cli_dag_trigger"; 5], "the log has what was tried");
}

#[tokio::test]
async fn a_run_is_found_by_its_name_or_its_date() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    let date = Some("2024-03-01T00:00:00Z".parse().unwrap());
    let wanted = TriggerRequest { logical_date: date, ..request("daily", Some("by_hand")) };
    dag_run::trigger(&fixture.operations, &wanted).await.unwrap();
    let find = async |text: &str, logical_date| {
        let name = RunName { dag_id: "daily", text, logical_date };
        dag_run::find(&fixture.operations, name).await.map(|run| run.run_id)
    };
    assert_eq!(find("by_hand", None).await.unwrap(), "by_hand");
    assert_eq!(find("2024-03-01", date).await.unwrap(), "by_hand");
    let near = find("by_hands", None).await.unwrap_err();
    assert!(near.to_string().ends_with("; did you mean by_hand?"), "{near}");
}
