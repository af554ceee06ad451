//! Timetables of somebody's own: what Python answers, what it does not, and what happens meanwhile.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferroflow_dagproc::store::{Description, FileResult, StoreError, Timetables, store_file};
use ferroflow_db::Json;
use ferroflow_model::stored_dag::TimetableColumns;
use ferroflow_model::timetable::{DataInterval, Restriction, RunInfo};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use serde_json::json;

use crate::store::given::{NOW, Place, file, settings};

ferroflow_testkit::on_every_database!(
    the_answer_is_stored,
    a_failure_is_told_until_the_timetable_works_again,
    a_run_that_was_made_meanwhile_repeats_the_question,
    runs_that_keep_changing_end_the_questions,
);

/// Answers one hour after the run that it is asked about, as Python would.
struct Scripted<'p> {
    place: &'p Place,
    failure: Option<&'static str>,
    /// How many questions are met by a run that a scheduler makes before the answer is stored.
    runs_made: usize,
    asked: AtomicUsize,
    told: Mutex<Vec<(Option<Timestamp>, Restriction)>>,
}

impl<'p> Scripted<'p> {
    fn new(place: &'p Place) -> Self {
        Self { place, failure: None, runs_made: 0, asked: AtomicUsize::new(0), told: Mutex::default() }
    }

    async fn store(&self) -> Result<ferroflow_dagproc::store::Stored, StoreError> {
        store_file(&self.place.db, parsed(self.place), &settings(), self, NOW).await
    }
}

impl Timetables for Scripted<'_> {
    async fn describe(&self, timetable: &Json) -> Result<Description, String> {
        assert!(timetable.text().contains("mine.Timetable"), "{timetable}");
        let columns = TimetableColumns {
            type_name: "mine.Timetable".to_owned(),
            summary: Some("now and then".to_owned()),
            description: Some("at will".to_owned()),
            partitioned: false,
            periodic: true,
            can_be_scheduled: true,
            partition_mapper_info: Json::from(json!([])),
        };
        Ok(Description { columns, assets: None })
    }

    async fn next_run(
        &self,
        _: &Json,
        last: Option<&RunInfo>,
        restriction: &Restriction,
    ) -> Result<Option<RunInfo>, String> {
        if let Some(failure) = self.failure {
            return Err(failure.to_owned());
        }
        let end = last.and_then(|last| last.data_interval).map(|interval| interval.end);
        self.told.lock().unwrap().push((end, *restriction));
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked < self.runs_made {
            make_run(&self.place.database, i64::try_from(asked).unwrap()).await;
        }
        let start = end.unwrap_or(NOW);
        Ok(Some(RunInfo {
            run_after: start + 2.hours(),
            data_interval: Some(DataInterval { start, end: start + 1.hour() }),
            partition_date: None,
            partition_key: None,
        }))
    }
}

fn parsed(place: &Place) -> FileResult {
    let timetable = r#"{"__type": "mine.Timetable", "__var": {}}"#;
    let fields = r#""start_date": 1704067200.0, "end_date": 1904067200.0, "catchup": true,"#;
    file("file.py", vec![place.dag("d", fields, timetable), place.plain("plain", "")])
}

/// As a scheduler would, in the middle of a question.
async fn make_run(database: &TestDb, number: i64) {
    let start = NOW + number.hours();
    let [start, end] =
        [start, start + 1.hour()].map(|time| time.strftime("%Y-%m-%d %H:%M:%S.000000").to_string());
    let insert = format!(
        "INSERT INTO dag_run (dag_id, run_id, state, run_type, logical_date, data_interval_start, data_interval_end, \
         run_after, clear_number) VALUES ('d', 'r{number}', 'success', 'scheduled', '{start}', '{start}', '{end}', \
         '{end}', 0)"
    );
    database.execute(insert).await;
}

async fn the_answer_is_stored(server: Server) {
    let place = Place::new(server).await;
    let python = Scripted::new(&place);
    let stored = python.store().await.unwrap();
    assert_eq!((stored.dags.len(), stored.timetable_failures.len()), (2, 0));
    let row = place.row("d").await;
    assert_eq!(row.next_dagrun, Some(NOW));
    assert_eq!(row.next_dagrun_data_interval_end, Some(NOW + 1.hour()));
    assert_eq!(row.next_dagrun_create_after, Some(NOW + 2.hours()));
    assert_eq!(row.timetable_summary.as_deref(), Some("now and then"));
    assert_eq!((row.timetable_description.as_deref(), row.timetable_periodic), (Some("at will"), true));
    make_run(&place.database, 0).await;
    python.store().await.unwrap();
    assert_eq!(place.row("d").await.next_dagrun, Some(NOW + 1.hour()));
    let told = python.told.lock().unwrap().clone();
    assert_eq!(told.iter().map(|(end, _)| *end).collect::<Vec<_>>(), [None, Some(NOW + 1.hour())]);
    let seconds = |time: Option<Timestamp>| time.map(Timestamp::as_second);
    let restriction = told[0].1;
    assert_eq!(
        (seconds(restriction.earliest), seconds(restriction.latest), restriction.catchup),
        (Some(1_704_067_200), Some(1_904_067_200), true)
    );
}

async fn a_failure_is_told_until_the_timetable_works_again(server: Server) {
    let place = Place::new(server).await;
    let mut python = Scripted::new(&place);
    python.store().await.unwrap();
    python.failure = Some("ZeroDivisionError: division by zero");
    for is_new in [true, false] {
        let stored = python.store().await.unwrap();
        assert_eq!(stored.timetable_failures[0].dag_id, "d");
        let error = &stored.import_errors[0];
        assert_eq!(error.is_new, is_new);
        let text = &error.error.stacktrace;
        assert!(text.starts_with("DAG d gets no runs") && text.ends_with("division by zero"), "{text}");
        let row = place.row("d").await;
        assert_eq!((row.next_dagrun, row.next_dagrun_create_after), (None, None));
        assert_eq!((row.next_dagrun_data_interval_start, row.next_dagrun_data_interval_end), (None, None));
        assert_eq!((row.is_stale, row.has_import_errors), (false, Some(false)));
        assert_eq!(
            row.timetable_summary.as_deref(),
            Some("now and then"),
            "it can be described all the same"
        );
        assert!(place.has_error().await);
    }
    python.failure = None;
    let stored = python.store().await.unwrap();
    assert!(stored.timetable_failures.is_empty() && stored.import_errors.is_empty());
    assert!(!place.has_error().await);
    assert_eq!(place.row("d").await.next_dagrun, Some(NOW));
}

async fn a_run_that_was_made_meanwhile_repeats_the_question(server: Server) {
    let place = Place::new(server).await;
    Scripted::new(&place).store().await.unwrap();
    let python = Scripted { runs_made: 2, ..Scripted::new(&place) };
    python.store().await.unwrap();
    assert_eq!(python.asked.load(Ordering::Relaxed), 3);
    assert_eq!(place.row("d").await.next_dagrun, Some(NOW + 2.hours()), "what follows the last of the two");
}

async fn runs_that_keep_changing_end_the_questions(server: Server) {
    let place = Place::new(server).await;
    Scripted::new(&place).store().await.unwrap();
    let before = place.row("plain").await;
    let python = Scripted { runs_made: usize::MAX, ..Scripted::new(&place) };
    let error = python.store().await.unwrap_err();
    assert!(matches!(&error, StoreError::RunsKeepChanging { dag_id } if dag_id == "d"), "{error}");
    assert_eq!(python.asked.load(Ordering::Relaxed), 5);
    assert_eq!(place.row("plain").await, before, "nothing of the file was written");
}
