use ferroflow_operations::OperationError;
use ferroflow_operations::connection::{
    self, AddRequest, Answering, Connection, Hooks, ImportRequest, Imported, Tested, UsualConnection,
};
use ferroflow_operations::connection_text::from_uri;
use serde_json::json;

use crate::fixture::{Fixture, object};

/// Providers that have two types, and whose systems answer by the name of the connection.
struct TwoTypes;

impl Hooks for TwoTypes {
    fn types(&self) -> Answering<'_, Vec<String>> {
        Box::pin(async { Ok(vec!["smtp".to_owned(), "http".to_owned()]) })
    }

    fn usual(&self) -> Answering<'_, Vec<UsualConnection>> {
        let usual = |conn_id: &str| UsualConnection {
            conn_id: conn_id.to_owned(),
            fields: object(json!({"conn_type": "http", "host": "usual"})),
        };
        Box::pin(async move { Ok(vec![usual("http_default"), usual("other_default")]) })
    }

    fn test<'a>(&'a self, conn_id: &'a str) -> Answering<'a, Tested> {
        Box::pin(async move { Ok(Tested { works: conn_id == "good", message: format!("tried {conn_id}") }) })
    }
}

fn wanted(conn_id: &str, uri: &str) -> AddRequest {
    AddRequest { connection: from_uri(conn_id, uri).unwrap(), checks_type: true }
}

#[tokio::test]
async fn a_connection_is_added_once_and_of_a_type_that_there_is() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    let added = connection::add(operations, wanted("mail", "smpt://me:pw@h"), &TwoTypes).await.unwrap();
    assert_eq!(added.connection.conn_type, "generic");
    assert!(added.replaced_type.unwrap().ends_with("did you mean smtp?"));
    let error = connection::add(operations, wanted("mail", "http://h"), &TwoTypes).await.err().unwrap();
    assert!(matches!(error, OperationError::Conflict(_)), "{error:?}");
    for conn_id in ["", "a b", "../a", &"x".repeat(201)] {
        let error = connection::add(operations, wanted(conn_id, "http://h"), &TwoTypes).await.err().unwrap();
        assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
    }
    let extra = Connection { extra: Some("[]".to_owned()), ..from_uri("c", "http://h").unwrap() };
    let request = AddRequest { connection: extra, checks_type: false };
    let error = connection::add(operations, request, &TwoTypes).await.err().unwrap();
    assert_eq!(error.to_string(), "connection c: its extra is not a JSON dict");
    let names = connection::names(operations).await.unwrap();
    assert_eq!(names, [("mail".to_owned(), "generic".to_owned())]);
    connection::delete(operations, "mail").await.unwrap();
    let error = connection::delete(operations, "mail").await.unwrap_err();
    assert!(matches!(error, OperationError::NotFound(_)), "{error:?}");
    let mut expected = vec!["cli_connections_add"; 7];
    expected.extend(["cli_connections_delete"; 2]);
    assert_eq!(fixture.events().await, expected);
}

#[tokio::test]
async fn an_import_tells_what_becomes_of_each_and_keeps_what_a_file_does_not_say() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    let first = from_uri("there", "http://me:old@h/?__extra__=%7B%22a%22%3A+1%7D").unwrap();
    let request = AddRequest { connection: first, checks_type: false };
    connection::add(operations, request, &TwoTypes).await.unwrap();
    let file = json!({
        "there": "http://you@other",
        "bad name": {"conn_type": "http"},
        "new": ["{\"conn_type\": \"http\", \"port\": \"5\"}"],
        "none": [],
    });
    let import = async |overwrite| {
        let entries = connection::entries(object(file.clone())).unwrap();
        let mut told = Vec::new();
        let report = |connection: &Connection, imported: Imported| {
            told.push(format!("{}: {imported:?}", connection.conn_id));
        };
        connection::import(operations, &ImportRequest { entries, overwrite }, report).await.unwrap();
        told.sort();
        told
    };
    let told = import(false).await;
    assert!(told[0].starts_with("bad name: BadName"), "{told:?}");
    assert_eq!(told[1..], ["new: Stored", "there: Exists"]);
    let told = import(true).await;
    assert_eq!(told[1..], ["new: Stored", "there: Stored"]);
    let found = connection::get(operations, "there").await.unwrap();
    let Connection { host, login, password, extra, .. } = found.connection;
    let texts = [host, login, password, extra].map(Option::unwrap_or_default);
    assert_eq!(texts, ["other", "you", "old", "{\"a\": 1}"].map(str::to_owned));
    for (file, told) in [
        (json!({"a": ["x://", "y://"]}), "connection a: there are several values for it"),
        (json!({"a": 5}), "connection a: it is neither a URI nor an object"),
    ] {
        let error = connection::entries(object(file)).err().unwrap();
        assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
        assert_eq!(error.to_string(), told);
    }
}

#[tokio::test]
async fn usual_connections_are_added_but_for_those_that_are_there() {
    let fixture = Fixture::new().await;
    let operations = &fixture.operations;
    connection::add(operations, wanted("http_default", "http://own"), &TwoTypes).await.unwrap();
    connection::create_defaults(operations, &TwoTypes).await.unwrap();
    let exported = connection::export(operations).await.unwrap();
    let hosts: Vec<_> = exported.iter().map(|each| (each.conn_id.as_str(), each.host.as_deref())).collect();
    assert_eq!(hosts, [("http_default", Some("own")), ("other_default", Some("usual"))]);
}

#[tokio::test]
async fn a_connection_is_tried_only_where_the_site_allows_it() {
    let fixture = Fixture::new().await;
    let error = connection::test(&fixture.operations, "good").await.unwrap_err();
    assert!(matches!(error, OperationError::Refused(_)), "{error:?}");
    let fixture = Fixture::with(&[("AIRFLOW__CORE__TEST_CONNECTION", " enabled ")]).await;
    let operations = &fixture.operations;
    let error = connection::test(operations, "good").await.unwrap_err();
    assert!(matches!(error, OperationError::NotFound(_)), "{error:?}");
    connection::add(operations, wanted("good", "http://h"), &TwoTypes).await.unwrap();
    let tested = connection::test(operations, "good").await.unwrap().run(&TwoTypes).await.unwrap();
    assert_eq!((tested.works, tested.message.as_str()), (true, "tried good"));
}

#[tokio::test]
async fn what_the_environment_has_stands_before_the_database() {
    let fixture = Fixture::with(&[("AIRFLOW_CONN_MAIL", "smtp://outside")]).await;
    let operations = &fixture.operations;
    connection::add(operations, wanted("mail", "smtp://:pw@inside"), &TwoTypes).await.unwrap();
    let found = connection::get(operations, "mail").await.unwrap();
    assert_eq!((found.id, found.is_encrypted), (None, None));
    assert_eq!(found.connection.host.as_deref(), Some("outside"));
}
