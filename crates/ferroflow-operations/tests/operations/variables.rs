use ferroflow_operations::OperationError;
use ferroflow_operations::variable::{
    self, GetRequest, ImportRequest, NewVariable, OnExisting, SetRequest, VariableValue,
};
use serde_json::{Value, json};

use crate::fixture::{Fixture, object};

fn new(key: &str, value: &str) -> SetRequest {
    let (key, value) = (key.to_owned(), value.to_owned());
    SetRequest { variable: NewVariable { key, value, description: None }, as_json: false }
}

fn asked(key: &str) -> GetRequest {
    GetRequest { key: key.to_owned(), default: None, is_json: false }
}

#[tokio::test]
async fn a_value_is_read_as_text_or_as_json_or_is_the_default() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    variable::set(operations, SetRequest { as_json: true, ..new("text", "a\"b") }).await.unwrap();
    variable::set(operations, new("list", "[1, 2]")).await.unwrap();
    let text = |text: &str| VariableValue::Text(text.to_owned());
    assert_eq!(variable::get(operations, asked("text")).await.unwrap(), text("\"a\\\"b\""));
    let as_json = |key: &str| GetRequest { is_json: true, default: Some("x".to_owned()), ..asked(key) };
    assert_eq!(variable::get(operations, as_json("text")).await.unwrap(), VariableValue::Json("a\"b".into()));
    assert_eq!(variable::get(operations, as_json("list")).await.unwrap(), VariableValue::Json(json!([1, 2])));
    assert_eq!(variable::get(operations, as_json("missing")).await.unwrap(), text("x"));
    variable::set(operations, new("list", "no JSON")).await.unwrap();
    let error = variable::get(operations, as_json("list")).await.unwrap_err();
    assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
    let error = variable::get(operations, asked("lisp")).await.unwrap_err();
    assert!(matches!(error, OperationError::NotFound(_)), "{error:?}");
    assert!(error.to_string().ends_with("did you mean list?"), "{error}");
    let error = variable::set(operations, new("", "x")).await.unwrap_err();
    assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
}

#[tokio::test]
async fn an_import_overwrites_skips_or_fails_where_there_is_one() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    variable::set(operations, new("a", "old")).await.unwrap();
    let import = |on_existing, value: &str| ImportRequest {
        variables: object(json!({"a": value, "b": {"value": [value], "description": "listed"}})),
        on_existing,
    };
    let value_of = async |key| match variable::get(operations, asked(key)).await {
        Ok(VariableValue::Text(text)) => text,
        other => format!("{other:?}"),
    };
    let error = variable::import(operations, &import(OnExisting::Fail, "1"), |_| {}).await.unwrap_err();
    assert!(matches!(error, OperationError::Conflict(_)), "{error:?}");
    assert_eq!(error.to_string(), "Failed. These keys: ['a'] already exists.");
    assert_eq!(variable::names(operations).await.unwrap(), ["a"], "nothing is written");

    let mut steps = Vec::new();
    let skipping = import(OnExisting::Skip, "2");
    let imported = variable::import(operations, &skipping, |done| steps.push(done)).await.unwrap();
    assert_eq!((imported.updated, imported.failed.len(), steps), (1, 0, vec![0, 1]));
    assert_eq!(imported.skipped.into_iter().collect::<Vec<_>>(), ["a"]);
    assert_eq!((value_of("a").await, value_of("b").await), ("old".to_owned(), "[\n  \"2\"\n]".to_owned()));

    let imported = variable::import(operations, &import(OnExisting::Overwrite, "3"), |_| {}).await.unwrap();
    assert_eq!((imported.updated, imported.skipped.len()), (2, 0));
    assert_eq!(value_of("a").await, "3");
    let exported = variable::export(operations).await.unwrap();
    assert_eq!(Value::Object(exported), json!({"a": 3, "b": {"value": ["3"], "description": "listed"}}));
    let no_name = ImportRequest { variables: object(json!({"": 1})), on_existing: OnExisting::Skip };
    let imported = variable::import(operations, &no_name, |_| {}).await.unwrap();
    assert_eq!((imported.updated, imported.failed.len()), (0, 1));
}
