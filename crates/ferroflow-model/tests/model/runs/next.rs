//! The next run of a schedule, and which events belong to which run.

use ferroflow_model::dag::Dag;
use ferroflow_model::runs::events::{EventBounds, event_window};
use ferroflow_model::runs::next::{NoNextRun, next_run_after};
use ferroflow_model::timetable::{NoRun, Timetable};
use jiff::Timestamp;
use proptest::collection::btree_set;
use proptest::prelude::*;

use crate::runs::given::at;

const CRON: &str = r#"{"__type": "airflow.timetables.interval.CronDataIntervalTimetable",
                       "__var": {"expression": "EXPRESSION", "timezone": "UTC"}}"#;

fn dag(expression: &str) -> Dag {
    let mut dag = Dag::decode(include_str!("../../../../../testdata/serialized/tutorial.json")).unwrap();
    dag.timetable = Timetable::decode(&CRON.replace("EXPRESSION", expression)).unwrap();
    dag.catchup = true;
    dag
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn the_next_run_follows_the_one_just_created() {
    let dag = dag("0 0 * * *");
    let start = dag.earliest_start().unwrap();
    let now = time("2026-01-01T00:00:00Z");
    let first = next_run_after(&dag, None, now).unwrap();
    assert_eq!(first.logical_date(), Some(start));
    let second = next_run_after(&dag, Some(&first), now).unwrap();
    assert_eq!(second.logical_date(), Some(first.run_after));
    assert!(second.run_after > first.run_after);
}

#[test]
fn catchup_is_the_dag_s() {
    let mut dag = dag("0 0 * * *");
    dag.catchup = false;
    let first = next_run_after(&dag, None, time("2026-01-01T06:00:00Z")).unwrap();
    assert_eq!(first.logical_date(), Some(time("2025-12-31T00:00:00Z")));
}

#[test]
fn a_schedule_that_is_over_has_no_next_run() {
    let mut ended = dag("0 0 * * *");
    ended.end_date = ended.earliest_start();
    let first = next_run_after(&ended, None, time("2026-01-01T00:00:00Z")).unwrap();
    let over = next_run_after(&ended, Some(&first), time("2026-01-01T00:00:00Z"));
    assert_eq!(over, Err(NoNextRun::Over));
    assert_eq!(over.unwrap_err().to_string(), "the schedule has no further run");
}

#[test]
fn a_schedule_that_fails_says_why() {
    let never = next_run_after(&dag("0 0 30 2 *"), None, time("2026-01-01T00:00:00Z"));
    assert_eq!(never, Err(NoNextRun::Failed(NoRun::NeverAgain)));
    let mut custom = dag("0 0 * * *");
    custom.timetable = Timetable::decode(r#"{"__type": "my.Timetable", "__var": {}}"#).unwrap();
    let asked = next_run_after(&custom, None, time("2026-01-01T00:00:00Z"));
    assert_eq!(asked, Err(NoNextRun::AskPython("my.Timetable".to_owned())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_event_belongs_to_exactly_one_run(
        events in btree_set(0..100_i64, 1..20), runs in btree_set(0..100_i64, 1..10),
        catchup: bool, waits_since in proptest::option::of(0..50_i64),
    ) {
        let runs: Vec<i64> = runs.into_iter().collect();
        let windows: Vec<_> = runs.iter().enumerate().map(|(place, run)| event_window(EventBounds {
            triggered_at: at(*run),
            previous: place.checked_sub(1).map(|place| at(runs[place])),
            catchup,
            waits_since: waits_since.map(at),
        })).collect();
        for event in events {
            let consumers = windows.iter().filter(|window| window.contains(at(event))).count();
            let is_too_old = !catchup && waits_since.is_some_and(|since| event <= since) && event <= runs[0];
            let is_too_new = runs.last().is_none_or(|last| event > *last);
            prop_assert_eq!(consumers, usize::from(!is_too_old && !is_too_new), "event {}", event);
        }
    }
}
