use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::job::{self as rows, NewJob};
use ferroflow_operations::OperationError;
use ferroflow_operations::job::{self, CheckRequest, JobQuery, ListRequest};
use ferroflow_telemetry::clock;
use jiff::{SignedDuration, Timestamp};

use crate::fixture::Fixture;

async fn start(fixture: &Fixture, job_type: &str, hostname: &str, at: Timestamp) -> i64 {
    let job = &NewJob {
        job_type: job_type.to_owned(),
        hostname: hostname.to_owned(),
        unixname: "airflow".to_owned(),
        executor_class: None,
    };
    let db = &fixture.operations.db;
    db.transact(|tx| async move { rows::insert(tx, job, at).await }.scope_boxed()).await.unwrap()
}

/// Each kind of component has a threshold of its own; without one, two heartbeats count.
#[tokio::test]
async fn a_component_lives_as_long_as_its_threshold_says() {
    let fixture = Fixture::with(&[
        ("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "100"),
        ("AIRFLOW__DAG_PROCESSOR__HEALTH_CHECK_THRESHOLD", "30"),
        ("AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC", "10"),
    ])
    .await;
    let operations = &fixture.operations;
    let beat = clock::now();
    for job_type in ["SchedulerJob", "DagProcessorJob", "OtherJob"] {
        start(&fixture, job_type, "one", beat).await;
    }
    for (after, expected) in [(20, 3), (22, 2), (29, 2), (31, 1), (99, 1), (101, 0)] {
        let now = beat + SignedDuration::from_secs(after);
        let alive = job::alive(&operations.db, &operations.settings, &JobQuery::default(), now).await;
        assert_eq!(alive.unwrap(), expected, "{after} s later");
    }
}

#[tokio::test]
async fn one_has_to_live_and_several_may_where_that_is_allowed() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    let now = clock::now();
    start(&fixture, "SchedulerJob", "one", now).await;
    let second = start(&fixture, "SchedulerJob", "two", now).await;
    let check = async |query: JobQuery, allows_several| {
        let query = JobQuery { job_type: Some("SchedulerJob".to_owned()), ..query };
        job::check(operations, &CheckRequest { query, allows_several }).await
    };
    let on = |host: &str| JobQuery { hostname: Some(host.to_owned()), ..JobQuery::default() };
    assert_eq!(check(on("one"), false).await.unwrap(), 1);
    assert_eq!(check(JobQuery { id: Some(second), ..JobQuery::default() }, false).await.unwrap(), 1);
    assert_eq!(check(JobQuery { limit: 1, ..JobQuery::default() }, false).await.unwrap(), 1);
    assert_eq!(check(JobQuery::default(), true).await.unwrap(), 2);
    let error = check(JobQuery::default(), false).await.unwrap_err();
    assert!(matches!(error, OperationError::Conflict(_)), "{error:?}");
    let error = check(on("three"), true).await.unwrap_err();
    assert!(matches!(error, OperationError::NotFound(_)), "{error:?}");
}

#[tokio::test]
async fn jobs_of_a_dag_that_there_is_not_are_refused() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    start(&fixture, "SchedulerJob", "one", clock::now()).await;
    assert_eq!(job::list(operations, &ListRequest::default()).await.unwrap().len(), 1);
    let of_dag = ListRequest { dag_id: Some("none".to_owned()), ..ListRequest::default() };
    let error = job::list(operations, &of_dag).await.unwrap_err();
    assert!(matches!(error, OperationError::NotFound(_)), "{error:?}");
}
