//! One DAG that cannot be stored does not keep its siblings back.

use ferroflow_dagproc::store::{StoreSettings, Stored, store_failure};
use ferroflow_db::{Dialect, Json};
use ferroflow_python::{DagWarning, ImportError};
use ferroflow_testkit::Server;
use jiff::ToSpan as _;

use crate::store::given::{NOW, Place, file, settings};

ferroflow_testkit::on_every_database!(
    a_dag_that_does_not_fit_is_refused_beside_its_siblings,
    a_dag_that_no_longer_fits_is_taken_out_of_service_and_comes_back,
    messages_are_told_whatever_is_in_them,
    many_dags_beside_few_bad_ones_are_stored,
    a_dag_that_a_trigger_keeps_back_is_told_and_its_siblings_are_stored,
    what_cannot_be_changed_beside_a_file_does_not_keep_it_from_being_stored,
);

/// Which databases refuse a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    AllButSqlite,
    Postgres,
    MySql,
    All,
}

impl By {
    fn refuses(self, dialect: Dialect) -> bool {
        match self {
            Self::All => true,
            Self::AllButSqlite => dialect != Dialect::Sqlite,
            Self::Postgres => dialect == Dialect::Postgres,
            Self::MySql => dialect == Dialect::MariaDb,
        }
    }
}

/// What does not fit, who says so, and a word of the reason.
fn bad_fields() -> Vec<(String, By, &'static str)> {
    let asset = |name: &str| {
        format!(
            r#""timetable": {{"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var":
            {{"asset_condition": {{"__type": "asset", "name": "{name}", "uri": "{name}", "group": "asset",
            "extra": {{}}}}}}}},"#
        )
    };
    let deadline = |name: &str| {
        format!(
            r#""deadline": [{{"name": "{name}", "reference": {{"reference_type": "DagRunQueuedAtDeadline"}},
            "interval": 300.0, "callback": {{"path": "x"}}}}],"#
        )
    };
    vec![
        (format!(r#""tags": ["{}"],"#, "t".repeat(101)), By::AllButSqlite, "tag has 101 characters"),
        (
            format!(r#""dag_display_name": "{}","#, "é".repeat(2001)),
            By::AllButSqlite,
            "display name has 2001",
        ),
        (format!(r#""owner_links": {{"{}": "x"}},"#, "o".repeat(501)), By::AllButSqlite, "owner with a link"),
        (format!(r#""owner_links": {{"o": "{}"}},"#, "x".repeat(501)), By::AllButSqlite, "link of an owner"),
        (format!(r#""description": "{}","#, "é".repeat(40_000)), By::MySql, "description has 80000 bytes"),
        (r#""description": "a\u0000b","#.to_owned(), By::Postgres, "U+0000"),
        (r#""doc_md": "a\u0000b","#.to_owned(), By::Postgres, "U+0000"),
        (r#""tags": ["a", "A"],"#.to_owned(), By::MySql, "dag_tag/insert failed"),
        (deadline(&"n".repeat(251)), By::AllButSqlite, "name of a deadline"),
        (
            asset(&"a".repeat(1501)),
            By::AllButSqlite,
            "the database refuses it.\nasset/insert_if_missing failed",
        ),
        (asset("\u{65e5}"), By::MySql, "the database refuses it.\nasset/find_by_names failed"),
        (r#""catchup": "perhaps","#.to_owned(), By::All, "catchup"),
        (r#""max_active_runs": 99999999999,"#.to_owned(), By::All, "max_active_runs"),
    ]
}

/// A DAG with such a field. Its timetable is the one that it has anyway.
fn dag(place: &Place, dag_id: &str, fields: &str) -> Json {
    if fields.starts_with(r#""timetable""#) {
        let timetable = fields.trim_start_matches(r#""timetable": "#).trim_end_matches(',');
        return place.dag(dag_id, "", timetable);
    }
    place.plain(dag_id, fields)
}

fn assert_siblings(stored: &Stored, expected: &[&str], what: &str) {
    let ids: Vec<&str> = stored.dags.iter().map(|dag| dag.dag_id.as_str()).collect();
    assert_eq!(ids, expected, "{what}");
}

async fn a_dag_that_does_not_fit_is_refused_beside_its_siblings(server: Server) {
    let place = Place::new(server).await;
    for (fields, by, reason) in bad_fields() {
        let dags = vec![dag(&place, "a", ""), dag(&place, "bad", &fields), dag(&place, "z", "")];
        let stored = place.store(file("file.py", dags), &settings(), NOW).await;
        let what = fields.chars().take(80).collect::<String>();
        if by.refuses(place.db.dialect()) {
            assert_siblings(&stored, &["a", "z"], &what);
            assert_eq!(stored.refused[0].dag_id.as_deref(), Some("bad"), "{what}");
            let told = &stored.import_errors[0].error.stacktrace;
            assert!(
                told.starts_with("DAG bad cannot be stored: ") && told.contains(reason),
                "{what}: {told}"
            );
            assert!(place.has_error().await, "{what}");
        } else {
            assert_siblings(&stored, &["a", "bad", "z"], &what);
        }
    }
    let long = "d".repeat(251);
    let dags = vec![dag(&place, "a", ""), dag(&place, &long, "")];
    let stored = place.store(file("file.py", dags), &settings(), NOW).await;
    let is_refused = place.db.dialect() != Dialect::Sqlite;
    assert_eq!(stored.refused.len(), usize::from(is_refused));
    assert!(!is_refused || stored.refused[0].reason.contains("its dag_id has 251 characters"));
}

async fn a_dag_that_no_longer_fits_is_taken_out_of_service_and_comes_back(server: Server) {
    let place = Place::new(server).await;
    let one_of_each = |fields: &str| file("file.py", vec![dag(&place, "a", ""), dag(&place, "b", fields)]);
    place.store(one_of_each(""), &settings(), NOW).await;
    let bad = if place.db.dialect() == Dialect::Sqlite {
        r#""catchup": "perhaps","#.to_owned()
    } else {
        format!(r#""tags": ["{}"],"#, "t".repeat(101))
    };
    place.store(one_of_each(&bad), &settings(), NOW + 1.second()).await;
    let row = place.row("b").await;
    assert_eq!((row.is_stale, row.has_import_errors), (true, Some(true)));
    let row = place.row("a").await;
    assert_eq!((row.is_stale, row.last_parsed_time), (false, Some(NOW + 1.second())));
    place.store(one_of_each(""), &settings(), NOW + 2.seconds()).await;
    let row = place.row("b").await;
    assert_eq!((row.is_stale, row.has_import_errors), (false, Some(false)));
    assert!(!place.has_error().await);
}

/// A compressed document is bytes, so that U+0000 is no matter of the document; of the description it is.
async fn messages_are_told_whatever_is_in_them(server: Server) {
    let place = Place::new(server).await;
    let compressed = StoreSettings { compress_serialized_dags: true, ..settings() };
    let mut parsed = file("file.py", vec![dag(&place, "a", r#""doc_md": "a\u0000b","#)]);
    let message = format!("first \0 {} last", "x".repeat(70_000));
    parsed.parsed.import_errors =
        vec![ImportError { filename: "file.py".to_owned(), stacktrace: message.clone() }];
    parsed.parsed.warnings = vec![DagWarning {
        dag_id: "a".to_owned(),
        warning_type: "runtime varying value".to_owned(),
        message: message.clone(),
    }];
    for seconds in 0..2 {
        let stored = place.store(parsed.clone(), &compressed, NOW + seconds.seconds()).await;
        assert_siblings(&stored, &["a"], "a message");
        assert_eq!(stored.import_errors[0].error.stacktrace, message);
    }
    store_failure(&place.db, "dags-folder", "file.py", &message, NOW).await.unwrap();
    let described = dag(&place, "b", r#""description": "a\u0000b","#);
    let stored = place.store(file("file.py", vec![described]), &compressed, NOW).await;
    let is_refused = place.db.dialect() == Dialect::Postgres;
    assert_eq!(stored.refused.len(), usize::from(is_refused), "{stored:?}");
}

async fn many_dags_beside_few_bad_ones_are_stored(server: Server) {
    let place = Place::new(server).await;
    // Only MariaDB refuses these, and not before it is asked.
    let bad = ["d03", "d04", "d17", "d29"];
    let ids: Vec<String> = (0..30).map(|number| format!("d{number:02}")).collect();
    let dags = ids.iter().map(|id| {
        let fields = if bad.contains(&id.as_str()) { r#""tags": ["a", "A"],"# } else { "" };
        dag(&place, id, fields)
    });
    let stored = place.store(file("file.py", dags.collect()), &settings(), NOW).await;
    let refused: Vec<&str> = stored.refused.iter().filter_map(|dag| dag.dag_id.as_deref()).collect();
    let expected: &[&str] = if place.db.dialect() == Dialect::MariaDb { &bad } else { &[] };
    assert_eq!(refused, expected);
    assert_eq!(stored.dags.len(), ids.len() - expected.len());
    assert_eq!(place.row("d05").await.last_parsed_time, Some(NOW));
}

/// A trigger that refuses it.
async fn refuse(place: &Place, what: &str, when: &str) {
    let statements = match place.db.dialect() {
        Dialect::Sqlite => vec![format!(
            "CREATE TRIGGER refusal BEFORE {what} WHEN {when} \
             BEGIN SELECT RAISE(ABORT, 'the site says no'); END"
        )],
        Dialect::Postgres => vec![
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN RAISE EXCEPTION ''the site says no''; END'"
                .to_owned(),
            format!(
                "CREATE TRIGGER refusal BEFORE {what} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse()"
            ),
        ],
        _ => vec![format!(
            "CREATE TRIGGER refusal BEFORE {what} FOR EACH ROW \
             IF {when} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the site says no'; END IF"
        )],
    };
    for statement in statements {
        place.database.execute(statement).await;
    }
}

async fn a_dag_that_a_trigger_keeps_back_is_told_and_its_siblings_are_stored(server: Server) {
    let place = Place::new(server).await;
    refuse(&place, "INSERT ON dag_version", "NEW.dag_id LIKE 'b%'").await;
    let dags = ["a", "bad", "z"].map(|dag_id| dag(&place, dag_id, "")).to_vec();
    let stored = place.store(file("file.py", dags), &settings(), NOW).await;
    assert_siblings(&stored, &["a", "z"], "a trigger");
    let told = &stored.import_errors[0].error.stacktrace;
    assert!(told.starts_with("DAG bad cannot be stored: ") && told.contains("the site says no"), "{told}");

    // If it is about all of them, it is about none.
    let dags = ["b_one", "b_other"].map(|dag_id| dag(&place, dag_id, "")).to_vec();
    let stored = place.try_to_store(file("other.py", dags), &settings(), NOW).await;
    assert!(stored.unwrap_err().to_string().contains("the site says no"));
}

/// A DAG that the file has no longer is in the way, and the row of an asset that has nothing to do with it.
async fn what_cannot_be_changed_beside_a_file_does_not_keep_it_from_being_stored(server: Server) {
    let place = Place::new(server).await;
    place.store(file("file.py", vec![dag(&place, "gone", "")]), &settings(), NOW).await;
    refuse(&place, "UPDATE ON dag", "NEW.dag_id = 'gone'").await;
    let mut parsed = file("file.py", vec![dag(&place, "a", "")]);
    let stacktrace = "it cannot be imported".to_owned();
    parsed.parsed.import_errors = vec![ImportError { filename: "file.py".to_owned(), stacktrace }];
    let stored = place.store(parsed, &settings(), NOW + 1.second()).await;
    assert_eq!((stored.dags.len(), stored.import_errors.len()), (1, 1), "{stored:?}");
    assert!(place.has_error().await && !place.row("gone").await.is_stale);
}

/// An asset that nobody waits for is watched, and that cannot be ended.
#[tokio::test]
async fn a_watcher_that_cannot_be_deleted_keeps_no_file_from_being_stored() {
    let place = Place::new(Server::Sqlite).await;
    let time = "'2024-01-01 00:00:00'";
    for statement in [
        format!(
            "INSERT INTO asset (id, name, uri, \"group\", extra, created_at, updated_at) \
             VALUES (7, 'a', 'a', '', '{{}}', {time}, {time})"
        ),
        format!("INSERT INTO trigger (id, classpath, kwargs, created_date) VALUES (8, 'a.B', '', {time})"),
        "INSERT INTO asset_watcher (name, asset_id, trigger_id) VALUES ('w', 7, 8)".to_owned(),
    ] {
        place.database.execute(statement).await;
    }
    refuse(&place, "DELETE ON asset_watcher", "true").await;
    let stored = place.store(file("file.py", vec![dag(&place, "a", "")]), &settings(), NOW).await;
    assert_eq!(stored.dags.len(), 1);
}
