//! One suite over every database.

use ferroflow_dagproc::store::{StoreSettings, Stored, store_failure};
use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_version::{self, serialized_dag};
use ferroflow_model::stored_dag::VersionChange;
use ferroflow_python::{DagWarning, ImportError};
use ferroflow_testkit::Server;
use jiff::ToSpan as _;

use crate::store::given::{NOW, Place, file, settings};

ferroflow_testkit::on_every_database!(
    a_dag_is_stored_again_and_again,
    a_dag_that_is_delivered_stays_in_service_beside_a_broken_one,
    a_crash_is_told_and_takes_no_dag_out_of_service,
    a_changed_file_is_not_kept_back,
    a_failing_timetable_is_told_and_its_dag_has_no_next_run,
);

fn changes(stored: &Stored) -> Vec<VersionChange> {
    stored.dags.iter().map(|dag| dag.change).collect()
}

async fn a_dag_is_stored_again_and_again(server: Server) {
    let place = Place::new(server).await;
    let deadline = r#""deadline": [{"name": "n", "reference": {"reference_type": "DagRunQueuedAtDeadline"},
        "interval": 300.0, "callback": {"path": "x"}}], "tags": ["a", "b"], "owner_links": {"ann": "https://a"},"#;
    let mut parsed = file("file.py", vec![place.plain("d", deadline)]);
    parsed.parsed.warnings = vec![DagWarning {
        dag_id: "d".to_owned(),
        warning_type: "runtime varying value".to_owned(),
        message: "é".to_owned(),
    }];
    let first = place.store(parsed.clone(), &settings(), NOW).await;
    assert_eq!(changes(&first), [VersionChange::First]);
    assert!(first.dags[0].is_new);
    let again = place.store(parsed, &settings(), NOW + 1.second()).await;
    assert_eq!(changes(&again), [VersionChange::Unchanged]);
    assert!(!again.dags[0].is_new && !again.dags[0].has_new_source);
    let row = place.row("d").await;
    assert!(row.is_paused && !row.is_stale);
    assert_eq!(row.last_parsed_time, Some(NOW + 1.second()));
    assert!(row.deadline.unwrap().text().contains("DagRunQueuedAtDeadline"));
    let other = file("file.py", vec![place.plain("d", r#""tags": ["A", "c"], "description": "other","#)]);
    let rewritten = place.store(other, &settings(), NOW + 2.seconds()).await;
    assert_eq!(changes(&rewritten), [VersionChange::RewriteInPlace]);
    let stored = place.db.read(|tx| {
        async move {
            let version = dag_version::latest(tx, "d").await?.unwrap();
            Ok((version.version_number, serialized_dag::find(tx, version.id).await?.unwrap()))
        }
        .scope_boxed()
    });
    let (number, document) = stored.await.unwrap();
    assert_eq!(number, 1);
    assert!(document.data.text().contains("other"));
}

async fn a_dag_that_is_delivered_stays_in_service_beside_a_broken_one(server: Server) {
    let place = Place::new(server).await;
    let all = file("file.py", ["good", "bad", "gone"].map(|id| place.plain(id, "")).to_vec());
    place.store(all, &settings(), NOW).await;
    let mut broken =
        file("file.py", vec![place.plain("good", ""), place.plain("bad", r#""catchup": "perhaps","#)]);
    broken.parsed.import_errors =
        vec![ImportError { filename: "file.py".to_owned(), stacktrace: "boom".to_owned() }];
    let stored = place.store(broken, &settings(), NOW + 1.second()).await;
    assert_eq!(stored.refused[0].dag_id.as_deref(), Some("bad"));
    assert!(stored.import_errors[0].is_new);
    let text = &stored.import_errors[0].error.stacktrace;
    assert!(text.starts_with("boom\n\nDAG bad cannot be stored") && text.contains("catchup"), "{text}");
    for (dag_id, is_out) in [("good", false), ("bad", true), ("gone", true)] {
        let row = place.row(dag_id).await;
        assert_eq!((row.is_stale, row.has_import_errors), (is_out, Some(is_out)), "{dag_id}");
    }
    let fixed = file("file.py", ["good", "bad"].map(|id| place.plain(id, "")).to_vec());
    place.store(fixed, &settings(), NOW + 2.seconds()).await;
    assert!(!place.has_error().await);
    assert!(!place.row("bad").await.is_stale);
}

async fn a_crash_is_told_and_takes_no_dag_out_of_service(server: Server) {
    let place = Place::new(server).await;
    place.store(file("file.py", vec![place.plain("d", "")]), &settings(), NOW).await;
    let before = place.row("d").await;
    let told = store_failure(&place.db, "dags-folder", "file.py", "killed", NOW).await.unwrap();
    assert!(told.is_new);
    let told = store_failure(&place.db, "dags-folder", "file.py", "killed again", NOW).await.unwrap();
    assert!(!told.is_new);
    assert!(place.has_error().await);
    assert_eq!(place.row("d").await, before);
    place.store(file("file.py", vec![place.plain("d", "")]), &settings(), NOW).await;
    assert!(!place.has_error().await);
}

async fn a_changed_file_is_not_kept_back(server: Server) {
    let place = Place::new(server).await;
    let slow = StoreSettings {
        min_serialized_dag_update_interval: std::time::Duration::from_secs(30),
        ..settings()
    };
    place.store(file("file.py", vec![place.plain("d", "")]), &slow, NOW).await;
    let changed = file("file.py", vec![place.plain("d", r#""description": "other","#)]);
    let kept = place.store(changed.clone(), &slow, NOW + 1.second()).await;
    assert_eq!(changes(&kept), [VersionChange::Throttled]);
    place.edit("# another text");
    let stored = place.store(changed, &slow, NOW + 2.seconds()).await;
    assert_eq!(changes(&stored), [VersionChange::RewriteInPlace]);
    assert!(stored.dags[0].has_new_source);
}

async fn a_failing_timetable_is_told_and_its_dag_has_no_next_run(server: Server) {
    let place = Place::new(server).await;
    let custom = place.dag("d", "", r#"{"__type": "mine.Timetable", "__var": {}}"#);
    let stored = place.store(file("file.py", vec![custom]), &settings(), NOW).await;
    assert_eq!(stored.timetable_failures[0].dag_id, "d");
    let row = place.row("d").await;
    assert_eq!((row.is_stale, row.has_import_errors), (false, Some(false)));
    assert_eq!((row.next_dagrun_create_after, row.timetable_type.as_str()), (None, "mine.Timetable"));
    assert!(place.has_error().await);
}
