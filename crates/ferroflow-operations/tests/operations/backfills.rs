use ferroflow_model::backfill::{Reprocess, Stretch};
use ferroflow_operations::OperationError;
use ferroflow_operations::backfill::{self, BackfillRequest};

use crate::fixture::Fixture;
use crate::stored::daily;

fn three_days() -> BackfillRequest {
    BackfillRequest {
        dag_id: "daily".to_owned(),
        stretch: Stretch {
            from: "2024-01-01T00:00:00Z".parse().unwrap(),
            to: "2024-01-03T00:00:00Z".parse().unwrap(),
            is_backwards: false,
            reprocess: Reprocess::None,
        },
        conf: None,
        max_active_runs: None,
        run_on_latest_version: None,
    }
}

#[tokio::test]
async fn a_backfill_is_previewed_made_and_refused_a_second_time() {
    let fixture = Fixture::new().await;
    fixture.store("daily", daily()).await;
    let operations = &fixture.operations;
    assert_eq!(backfill::preview(operations, &three_days()).await.unwrap().len(), 3);
    assert_eq!(fixture.texts("SELECT run_id AS answer FROM dag_run").await, [""; 0]);
    let made = backfill::create(operations, &three_days(), &|_, _| ()).await.unwrap().unwrap();
    assert_eq!((made.made, made.cleared, made.skipped), (3, 0, 0));
    let users = "SELECT triggering_user_name AS answer FROM dag_run";
    assert_eq!(fixture.texts(users).await, ["ada"; 3]);
    let refused = backfill::create(operations, &three_days(), &|_, _| ()).await.unwrap_err();
    assert!(matches!(refused, OperationError::Conflict(_)), "{refused:?}");
    assert_eq!(fixture.events().await, ["cli_create_backfill"; 3]);
}
