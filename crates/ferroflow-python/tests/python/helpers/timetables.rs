//! Custom timetables, evaluated by the real Airflow.

use std::sync::Arc;
use std::time::Duration;

use crate::helpers::home::Home;
use ferroflow_model::Json;
use ferroflow_model::timetable::{Custom, DataInterval, Restriction, RunInfo};
use ferroflow_python::timetables::{TimetableError, Timetables, serialized};
use jiff::Timestamp;
use tokio::task::JoinSet;

/// More than anything here takes.
const LIMIT: Duration = Duration::from_mins(2);

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn interval(start: &str, end: &str) -> DataInterval {
    DataInterval { start: at(start), end: at(end) }
}

fn custom(class: &str) -> Json {
    serialized(&Custom { class: class.to_owned(), data: Json::from_text("{}".to_owned()).unwrap() })
}

fn from(earliest: &str) -> Restriction {
    Restriction { earliest: Some(at(earliest)), latest: None, catchup: true }
}

/// The plugin of Astronomer's guide to scheduling, as it stands there.
#[tokio::test]
async fn the_timetable_of_a_guide_answers_as_its_text_says() {
    let home = Home::shared().await;
    let timetables = Timetables::new(home.server.clone(), LIMIT);
    let uneven = custom("uneven_intervals_timetable.UnevenIntervalsTimetable");
    let described = timetables.describe(&uneven).await.unwrap();
    assert_eq!(described.type_name, "uneven_intervals_timetable.UnevenIntervalsTimetable");
    assert_eq!(described.summary.as_deref(), Some("UnevenIntervalsTimetable"));
    assert_eq!(described.description.as_deref(), Some(""));
    assert!(described.periodic && described.can_be_scheduled && !described.partitioned);
    assert_eq!(described.run_ordering, ["data_interval_end", "logical_date"]);
    assert_eq!((described.active_runs_limit, &described.assets), (None, &None));
    assert_eq!(described.partition_mapper_info.text(), "[]");

    let restriction =
        Restriction { latest: Some(at("2021-10-10T06:00:00Z")), ..from("2021-10-09T00:00:00Z") };
    let mut last: Option<RunInfo> = None;
    let mut intervals = Vec::new();
    while let Some(next) = timetables.next_run(&uneven, last.as_ref(), &restriction).await.unwrap() {
        assert_eq!(next.run_after, next.data_interval.unwrap().end);
        intervals.push(next.data_interval.unwrap());
        last = Some(next);
    }
    let expected = [
        interval("2021-10-09T06:00:00Z", "2021-10-09T16:30:00Z"),
        interval("2021-10-09T16:30:00Z", "2021-10-10T06:00:00Z"),
        interval("2021-10-10T06:00:00Z", "2021-10-10T16:30:00Z"),
    ];
    assert_eq!(intervals, expected);
    let runs =
        timetables.runs_between(&uneven, at("2021-10-09T00:00:00Z"), at("2021-10-10T06:00:00Z"), 9).await;
    let runs = runs.unwrap();
    let backfilled: Vec<_> = runs.runs.iter().filter_map(|run| run.data_interval).collect();
    assert_eq!((backfilled.as_slice(), runs.truncated), (&expected[..], false));

    let manual = timetables.manual_interval(&uneven, at("2021-10-12T17:00:00.5Z")).await.unwrap();
    assert_eq!(manual.start, at("2021-10-12T06:00:00.5Z"), "it sets no microseconds");
    let run_id = timetables.run_id(&uneven, "scheduled", last.as_ref().unwrap()).await.unwrap();
    assert_eq!(run_id, "scheduled__2021-10-10T16:30:00+00:00");
    assert_eq!(timetables.partition_date(&uneven, "2021-10-12").await.unwrap(), None);
}

#[tokio::test]
async fn a_bad_timetable_harms_nobody_else() {
    let home = Home::shared().await;
    let timetables = Timetables::new(home.server.clone(), LIMIT);
    let bounds = from("2024-01-01T00:00:00Z");
    let next = async |name: &str| {
        timetables.next_run(&custom(&format!("bad_timetables.{name}")), None, &bounds).await
    };
    let explained = async |name: &str| next(name).await.unwrap_err().explanation();

    let printed = next("Prints").await.unwrap().unwrap();
    assert_eq!(printed.run_after, at("2024-01-01T00:00:00Z"));
    let raised = explained("Raises").await;
    assert!(raised.starts_with("the timetable bad_timetables.Raises failed:\nTraceback"), "{raised}");
    assert!(raised.ends_with("KeyError: 'no such market: XNYS'"), "{raised}");
    assert!(raised.contains("bad_timetables.py") && !raised.contains("ferroflow_bridge"), "{raised}");
    assert!(explained("Leaves").await.ends_with("SystemExit: bye"));
    assert!(explained("Naive").await.contains("2024-01-01T00:00:00, which has no time zone"));
    assert!(
        explained("Strange").await.contains("returned 'tomorrow', which is neither a DagRunInfo nor None")
    );
    let strange = timetables.describe(&custom("bad_timetables.Strange")).await.unwrap_err();
    assert!(strange.to_string().contains("expected a boolean"), "{strange}");
    let missing = next("Missing").await.unwrap_err();
    assert!(matches!(missing, TimetableError::NotRegistered { .. }), "{missing}");
    assert!(missing.to_string().contains("bad_timetables.Missing is not registered: list it"), "{missing}");
    let (from, to) = (at("2024-01-01T00:00:00Z"), at("2025-01-01T00:00:00Z"));
    let endless = timetables.runs_between(&custom("bad_timetables.Endless"), from, to, 50).await.unwrap();
    assert_eq!((endless.runs.len(), endless.truncated), (50, true));

    let exited = explained("Exits").await;
    assert!(exited.contains("ended while it was asked: exit code 3"), "{exited}");
    // Whoever crashes is left alone; the others go on in a new process.
    let refused = next("Exits").await.unwrap_err();
    assert!(matches!(refused, TimetableError::InQuarantine { .. }), "{refused}");
    assert!(next("Prints").await.unwrap().is_some());
    timetables.restart().await;
    assert!(explained("Exits").await.contains("exit code 3"), "a restart forgives");
}

#[tokio::test]
async fn a_timetable_that_hangs_is_ended() {
    let home = Home::shared().await;
    let timetables = Timetables::new(home.server.clone(), Duration::from_secs(8));
    let bounds = from("2024-01-01T00:00:00Z");
    let hung = timetables.next_run(&custom("bad_timetables.Hangs"), None, &bounds).await.unwrap_err();
    let hung = hung.explanation();
    assert!(hung.contains("gave no answer within 8s and was ended"), "{hung}");
    let again = timetables.next_run(&custom("bad_timetables.Prints"), None, &bounds).await.unwrap();
    assert!(again.is_some());
}

/// Many timetables of a class that hangs.
fn hanging(timetables: &Arc<Timetables>) -> JoinSet<Result<Option<RunInfo>, TimetableError>> {
    let mut asked = JoinSet::new();
    for number in 0..12 {
        let data = Json::from_text(format!(r#"{{"number": {number}}}"#)).unwrap();
        let document = serialized(&Custom { class: "bad_timetables.Hangs".to_owned(), data });
        let timetables = Arc::clone(timetables);
        let bounds = from("2024-01-01T00:00:00Z");
        asked.spawn(async move { timetables.next_run(&document, None, &bounds).await });
    }
    asked
}

#[tokio::test]
async fn a_class_that_hangs_keeps_no_other_waiting() {
    let home = Home::shared().await;
    let timetables = Arc::new(Timetables::new(home.server.clone(), Duration::from_hours(1)));
    let mut hanging = hanging(&timetables);
    let bounds = from("2024-01-01T00:00:00Z");
    let printed = timetables.next_run(&custom("bad_timetables.Prints"), None, &bounds).await.unwrap();
    assert!(printed.is_some());
    assert!(hanging.try_join_next().is_none(), "they still hang");
}

#[tokio::test]
async fn a_class_that_hangs_costs_one_time_out() {
    let home = Home::shared().await;
    let timetables = Arc::new(Timetables::new(home.server.clone(), Duration::from_secs(5)));
    timetables.blame_classes();
    let answers = hanging(&timetables).join_all().await;
    let errors: Vec<TimetableError> = answers.into_iter().map(Result::unwrap_err).collect();
    let failed = errors.iter().filter(|error| matches!(error, TimetableError::Failed { .. })).count();
    let left_alone = |error: &TimetableError| match error {
        TimetableError::InQuarantine { .. } => Some(error.to_string()),
        _ => None,
    };
    let mut reasons: Vec<String> = errors.iter().filter_map(left_alone).collect();
    assert_eq!((failed, reasons.len()), (1, 11), "{errors:?}");
    reasons.dedup();
    assert_eq!(reasons.len(), 1, "the reason is the same whenever it is told");
    assert!(reasons[0].contains("is asked again at") && reasons[0].contains("gave no answer within 5s"));
}
