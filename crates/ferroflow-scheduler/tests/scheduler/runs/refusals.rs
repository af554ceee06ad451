//! DAGs that get no run, for a reason; and no other goes without one for it.

use ferroflow_scheduler::create_runs::{CreatedRuns, NotCreated, create_runs};
use ferroflow_testkit::Server;
use serde_json::json;

use crate::runs::place::{Place, Plan, at, daily};

ferroflow_testkit::on_every_database!(
    every_refusal_has_its_reason_and_takes_no_other_with_it,
    a_run_that_the_database_refuses_takes_no_other_with_it,
);

fn reason<'r>(report: &'r CreatedRuns, dag_id: &str) -> &'r NotCreated {
    let refused = report.refused.iter().find(|refused| refused.dag_id == dag_id);
    &refused.unwrap_or_else(|| panic!("{dag_id} was not refused: {report:?}")).reason
}

async fn every_refusal_has_its_reason_and_takes_no_other_with_it(server: Server) {
    let mut not_allowed = Plan::new("not_allowed", daily());
    not_allowed.row.allowed_run_types = Some(ferroflow_db::Json::from(json!(["manual"])));
    let param = json!({"__class": "airflow.sdk.definitions.param.Param", "default": "x", "description": null,
        "schema": {"__type": "dict", "__var": {"type": "integer"}}});
    let bad_param = Plan::new("bad_param", daily()).setting("params", json!([["p", param]]));
    let plans = [Plan::new("good", daily()), not_allowed, bad_param, Plan::new("unreadable", daily())];
    let place = Place::new(server, &plans).await;
    place
        .database
        .execute(r#"UPDATE serialized_dag SET data = '{"no": "dag"}' WHERE dag_id = 'unreadable'"#)
        .await;
    let report = create_runs(&place.scheduler().await, at("2024-01-02")).await.unwrap();
    assert_eq!(report.created.iter().map(|run| run.dag_id.as_str()).collect::<Vec<_>>(), ["good"]);
    assert!(matches!(reason(&report, "not_allowed"), NotCreated::Rule(_)));
    assert_eq!(reason(&report, "not_allowed").to_string(), "the DAG does not allow runs of type scheduled");
    assert!(matches!(reason(&report, "bad_param"), NotCreated::BadParam(_)), "{report:?}");
    assert!(matches!(reason(&report, "unreadable"), NotCreated::NoDefinition(_)));
    let next = place.dag("bad_param").await.next_dagrun_create_after;
    assert_eq!(next, Some(at("2024-01-02")), "it is tried again when it is mended");
}

async fn a_run_that_the_database_refuses_takes_no_other_with_it(server: Server) {
    let plans: Vec<Plan> = (0..9).map(|number| Plan::new(&format!("dag_{number}"), daily())).collect();
    let place = Place::new(server, &plans).await;
    // No run of this name can be there twice, and this one has another date.
    place
        .db
        .transact(|tx| {
            use ferroflow_db::ScopedFutureExt as _;
            async move {
                let run_id = "scheduled__2024-01-02T00:00:00+00:00";
                ferroflow_testkit::rows::add_run(tx, "dag_4", run_id, at("2023-01-01")).await
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let report = create_runs(&place.scheduler().await, at("2024-01-02")).await.unwrap();
    assert_eq!(report.created.len(), 8);
    assert!(matches!(reason(&report, "dag_4"), NotCreated::RunIdTaken(_)));
}

#[tokio::test]
async fn without_use_job_schedule_nothing_is_made() {
    let place = Place::new(Server::Sqlite, &[Plan::new("a", daily())]).await;
    let cx = place.scheduler_with(&[("AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE", "False")]).await;
    let report = create_runs(&cx, at("2024-01-02")).await.unwrap();
    assert!(report.created.is_empty() && report.refused.is_empty());
}

#[tokio::test]
async fn a_name_that_the_configuration_does_not_allow_is_refused() {
    let place = Place::new(Server::Sqlite, &[Plan::new("a", crate::runs::place::on_asset("x"))]).await;
    let asset = place.asset("x", &["a"], at("2024-01-01")).await;
    place.change(asset, "x", at("2024-01-02")).await;
    let cx = place.scheduler_with(&[("AIRFLOW__SCHEDULER__ALLOWED_RUN_ID_PATTERN", "^only_this$")]).await;
    let report = create_runs(&cx, at("2024-01-02")).await.unwrap();
    assert!(matches!(reason(&report, "a"), NotCreated::BadRunId(_)), "{report:?}");
    assert_eq!(place.texts("SELECT target_dag_id AS answer FROM asset_dag_run_queue").await, ["a"]);
}

#[tokio::test]
async fn a_timetable_that_cannot_be_asked_keeps_its_run() {
    let mut plan = Plan::new("own", json!({"__type": "plugin.Mine", "__var": {}}));
    plan.row.next_dagrun = Some(at("2024-01-01"));
    plan.row.next_dagrun_data_interval_start = Some(at("2024-01-01"));
    plan.row.next_dagrun_data_interval_end = Some(at("2024-01-02"));
    plan.row.next_dagrun_create_after = Some(at("2024-01-02"));
    let place = Place::new(Server::Sqlite, &[plan, Plan::new("good", daily())]).await;
    let report = create_runs(&place.scheduler().await, at("2024-01-02")).await.unwrap();
    assert_eq!(report.created.len(), 1);
    assert!(matches!(reason(&report, "own"), NotCreated::Timetable(_)), "{report:?}");
    assert_eq!(place.dag("own").await.next_dagrun_create_after, Some(at("2024-01-02")));
}
