use ferroflow_db::Json;
use ferroflow_operations::pool::{self, DescribedPool};
use ferroflow_operations::variable::{self, NewVariable, SetRequest};
use ferroflow_operations::{Caller, Operations};
use serde_json::json;

use crate::fixture::Fixture;

/// A server asks for the same with a caller of its own for each request.
#[tokio::test]
async fn rows_say_on_whose_behalf_and_nothing_that_was_set() {
    let fixture = Fixture::new().await;
    let variable = NewVariable { key: "k".to_owned(), value: "s3cret".to_owned(), description: None };
    let request = SetRequest { variable, as_json: false };
    variable::set(&fixture.operations, request.clone()).await.unwrap();
    let caller = Caller {
        user: "grace".to_owned(),
        event_prefix: "",
        audit_extra: Json::from(json!({"key": "k", "value": "***"})),
        ..fixture.operations.caller.clone()
    };
    let by_another = Operations { caller, ..fixture.operations.clone() };
    variable::set(&by_another, request).await.unwrap();
    let rows = fixture.texts("SELECT event || ' ' || owner || ' ' || extra AS answer FROM log ORDER BY id");
    let expected = [
        r#"cli_variables_set ada {"host_name": "here"}"#,
        r#"variables_set grace {"key": "k", "value": "***"}"#,
    ];
    assert_eq!(rows.await, expected);
}

/// As with Airflow's: the log has what was tried.
#[tokio::test]
async fn what_is_refused_is_in_the_log_and_what_only_reads_is_not() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    pool::delete(operations, "default_pool").await.unwrap_err();
    pool::get(operations, "default_pool").await.unwrap();
    pool::export(operations).await.unwrap();
    variable::names(operations).await.unwrap();
    assert_eq!(fixture.events().await, ["cli_pool_delete"]);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_keeps_nothing_from_being_done() {
    let fixture = Fixture::new().await;
    fixture.database.execute("DROP TABLE log").await;
    let pool = DescribedPool {
        name: "a".to_owned(),
        slots: 1,
        description: None,
        include_deferred: false,
        team_name: None,
    };
    pool::set(&fixture.operations, &pool).await.unwrap();
    assert_eq!(pool::get(&fixture.operations, "a").await.unwrap(), pool);
}
