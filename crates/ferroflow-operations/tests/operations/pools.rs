//! Pools, and what is in the audit log of them.

use ferroflow_operations::OperationError;
use ferroflow_operations::pool::{self, DescribedPool};
use serde_json::json;

use crate::fixture::{Fixture, object};

fn described(name: &str, slots: i32) -> DescribedPool {
    DescribedPool {
        name: name.to_owned(),
        slots,
        description: Some("for tests".to_owned()),
        include_deferred: false,
        team_name: None,
    }
}

#[tokio::test]
async fn names_are_checked_and_the_attempt_is_in_the_audit_log() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    for (pool, told) in [
        (described("  ", 1), "Pool name shouldn't be empty"),
        (described(&"x".repeat(257), 1), "more than 256 characters"),
        (
            DescribedPool { team_name: Some("blue".to_owned()), ..described("a", 1) },
            "[core] multi_team is off",
        ),
    ] {
        let error = pool::set(operations, &pool).await.unwrap_err();
        assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
        assert!(error.to_string().contains(told), "{error}");
    }
    pool::set(operations, &described(&"é".repeat(256), -1)).await.unwrap();
    assert_eq!(fixture.events().await, ["cli_pool_set"; 4]);
    assert_eq!(pool::list(operations).await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_default_pool_stays() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    let error = pool::delete(operations, "default_pool").await.unwrap_err();
    assert!(matches!(error, OperationError::Refused(_)), "{error:?}");
    let error = pool::delete(operations, "defalt_pool").await.unwrap_err();
    assert!(matches!(error, OperationError::NotFound(_)), "{error:?}");
    assert!(error.to_string().contains("did you mean default_pool?"), "{error}");
    assert_eq!(pool::get(operations, "default_pool").await.unwrap().slots, 128);
}

#[tokio::test]
async fn what_is_exported_can_be_imported_and_what_lacks_something_is_left_out() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    pool::set(operations, &described("narrow", 2)).await.unwrap();
    let exported = pool::export(operations).await.unwrap();
    pool::delete(operations, "narrow").await.unwrap();
    let number = pool::import(operations, &exported.clone().into_iter().collect()).await.unwrap();
    assert_eq!((number, pool::export(operations).await.unwrap()), (2, exported));
    let pools = object(json!({
        "good": {"slots": " 3 ", "description": null},
        "no_slots": {"description": ""},
        "not_described": {"slots": 1},
        "too_many": {"slots": 5_000_000_000_i64, "description": ""},
        "text": "5",
    }));
    let error = pool::import(operations, &pools).await.unwrap_err();
    assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
    let failed = "Failed to update pool(s): no_slots, not_described, text, too_many; each needs";
    assert!(error.to_string().starts_with(failed), "{error}");
    assert_eq!(pool::get(operations, "good").await.unwrap().slots, 3);
    assert_eq!(
        fixture.events().await,
        ["cli_pool_set", "cli_pool_delete", "cli_pool_import", "cli_pool_import"]
    );
}
