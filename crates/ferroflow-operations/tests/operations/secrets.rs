use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_operations::connection::{self, Entry, ImportRequest};
use ferroflow_operations::connection_text::from_uri;
use ferroflow_operations::variable::{self, NewVariable, SetRequest, Variable};
use ferroflow_operations::{OperationError, Operations, fernet_key};
use serde_json::json;
use std::sync::Arc;

use crate::fixture::{Fixture, object};

#[tokio::test]
async fn what_is_encrypted_is_encrypted_anew() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    let variable = NewVariable { key: "k".to_owned(), value: "v".to_owned(), description: None };
    variable::set(operations, SetRequest { variable, as_json: false }).await.unwrap();
    let entries: Vec<Entry> = connection::entries(object(json!({"c": "x://:pw@h/?a=b"}))).unwrap();
    let request = ImportRequest { entries, overwrite: false };
    connection::import(operations, &request, |_, _| {}).await.unwrap();
    let stored = "SELECT val AS answer FROM variable UNION SELECT password FROM connection";
    let before = fixture.texts(stored).await;
    assert!(before.iter().all(|text| text.starts_with("gAAAA")), "{before:?}");

    let rotated = fernet_key::rotate(operations).await.unwrap();
    let counts: Vec<u64> = rotated.iter().map(|kind| kind.count).collect();
    assert_eq!(counts, [1, 1, 1, 0, 0, 0], "{rotated:?}");
    let after = fixture.texts(stored).await;
    assert!(before.iter().all(|text| !after.contains(text)), "{after:?}");
    let all: Vec<Variable> = variable::list(operations).await.unwrap();
    assert_eq!(all[0].val, "v");
    let found = connection::get(operations, "c").await.unwrap();
    assert!(found.connection == from_uri("c", "x://:pw@h/?a=b").unwrap());
    assert_eq!(found.is_encrypted, Some(true));
}

#[tokio::test]
async fn without_a_key_nothing_is_encrypted_anew() {
    let fixture = Fixture::new().await;
    let mut operations: Operations = fixture.operations.clone();
    operations.secrets.fernet = Arc::new(Fernet::new("").unwrap());
    let error = fernet_key::rotate(&operations).await.unwrap_err();
    assert!(matches!(error, OperationError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("[core] fernet_key is empty"), "{error}");
}
