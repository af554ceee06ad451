use ferroflow_operations::OperationError;
use ferroflow_operations::cleaning::{self, CleanProgress, CleanRequest, Old, Purpose, Table};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

fn tables(fixture: &Fixture, names: &[&str]) -> Vec<Table> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    cleaning::tables(&fixture.configuration, Some(&names)).unwrap().tables
}

/// A fixture with three entries of the audit log, the first two of which are old.
async fn with_log() -> (Fixture, CleanRequest) {
    let fixture = Fixture::new().await;
    let entry = |event, day| {
        format!("INSERT INTO log (dttm, event) VALUES ('2026-01-0{day} 00:00:00.000000', '{event}')")
    };
    for (event, day) in [("a", 1), ("b", 2), ("c", 3)] {
        fixture.database.execute(entry(event, day)).await;
    }
    let before: Timestamp = "2026-01-03T00:00:00Z".parse().unwrap();
    let request = CleanRequest {
        tables: tables(&fixture, &["log"]),
        old: Old { before, dag_ids: Vec::new(), exclude_dag_ids: Vec::new() },
        is_dry_run: false,
        keeps_rows: true,
        batch_size: 1,
    };
    (fixture, request)
}

#[tokio::test]
async fn old_rows_go_batch_by_batch_and_are_kept() {
    let (fixture, request) = with_log().await;
    let operations = &fixture.operations;
    let mut told = Vec::new();
    let report = |step: CleanProgress<'_>| {
        told.push(match step {
            CleanProgress::Table(name) => name.to_owned(),
            CleanProgress::Counted(rows) => format!("counted {rows}"),
            CleanProgress::Deleting => "deleting".to_owned(),
            CleanProgress::Archive(name) => name.split("__").nth(1).unwrap_or_default().to_owned(),
            CleanProgress::Batch { batch, .. } => format!("batch of {}", batch.deleted),
            CleanProgress::Deleted(rows) => format!("deleted {rows}"),
            CleanProgress::Failed { error, .. } => panic!("{error}"),
        });
    };
    let cleaning = cleaning::clean(operations, request).await;
    let cleaned = cleaning.apply(&CancellationToken::new(), report).await.unwrap();
    assert_eq!((cleaned.held, cleaned.failed.len(), cleaned.is_stopped), (0, 0, false));
    let expected =
        ["log", "counted 2", "deleting", "log", "batch of 1", "batch of 1", "batch of 0", "deleted 2"];
    assert_eq!(told, expected);
    assert_eq!(fixture.events().await, ["c", "cli_cleanup_tables"]);

    let archives =
        cleaning::archives(operations, &tables(&fixture, &["log"]), Purpose::Export).await.unwrap();
    let [name] = archives.names.as_slice() else { panic!("{:?}", archives.names) };
    let at = archives.columns(name).await.unwrap().iter().position(|column| column == "event").unwrap();
    let mut events = Vec::new();
    let see = |row: Vec<Option<String>>| {
        events.push(row[at].clone().unwrap_or_default());
        true
    };
    archives.each_row(name, see).await.unwrap();
    assert_eq!(events, ["a", "b"]);
    let mut seen = 0;
    let see_one = |_| {
        seen += 1;
        false
    };
    archives.each_row(name, see_one).await.unwrap();
    assert_eq!(seen, 1);
    archives.drop(name).await.unwrap();
    let left = cleaning::archives(operations, &tables(&fixture, &["log"]), Purpose::Drop).await.unwrap();
    assert!(left.names.is_empty(), "{:?}", left.names);
    let expected = ["c", "cli_cleanup_tables", "cli_export_archived", "cli_drop_archived"];
    assert_eq!(fixture.events().await, expected);
}

#[tokio::test]
async fn a_dry_run_only_counts_and_a_stop_is_heeded_after_a_batch() {
    let (fixture, request) = with_log().await;
    let operations = &fixture.operations;
    let stop = CancellationToken::new();
    let dry = CleanRequest {
        is_dry_run: true,
        tables: request.tables.clone(),
        old: request.old.clone(),
        ..request
    };
    let mut steps = 0;
    cleaning::clean(operations, dry).await.apply(&stop, |_| steps += 1).await.unwrap();
    assert_eq!((steps, fixture.events().await.len()), (2, 4));
    stop.cancel();
    let (_, request) = with_log().await;
    let cleaned = cleaning::clean(operations, request).await.apply(&stop, |_| {}).await.unwrap();
    assert!(cleaned.is_stopped);
    assert_eq!(fixture.events().await, ["b", "c", "cli_cleanup_tables", "cli_cleanup_tables"]);
}

#[tokio::test]
async fn names_of_no_table_are_told_and_refused_where_none_is_right() {
    let fixture = Fixture::with(&[("AIRFLOW__CORE__AUTH_MANAGER", "a.b.FabAuthManager")]).await;
    let names = ["logs", "session"].map(str::to_owned);
    let found = cleaning::tables(&fixture.configuration, Some(&names)).unwrap();
    assert_eq!(found.tables.iter().map(|table| table.name).collect::<Vec<_>>(), ["session"]);
    assert_eq!(
        (found.unknown[0].name.as_str(), found.unknown[0].help.as_str()),
        ("logs", "did you mean log?")
    );
    let fixture = Fixture::new().await;
    let error = cleaning::tables(&fixture.configuration, Some(&names)).unwrap_err();
    assert!(matches!(error, OperationError::Invalid(_)), "{error:?}");
    assert!(
        error.to_string().starts_with("\"logs\" is no table that is cleaned; did you mean log?"),
        "{error}"
    );
}
