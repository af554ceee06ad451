//! With catchup, one run follows the other without end.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ferroflow_model::timetable::{NoRun, Restriction, RunInfo, Timetable};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::timetable_properties::generate::{
    expression, instant, relative_delta, timedelta_micros, zone_name,
};
use crate::timetable_properties::latest_delta::decoded;
use crate::timetable_properties::tally::Tally;

const CLASSES: [&str; 6] = [
    "interval.CronDataInterval",
    "trigger.CronTrigger",
    "trigger.MultipleCronTrigger",
    "interval.DeltaDataInterval",
    "trigger.DeltaTrigger",
    "trigger.CronPartition",
];
const LENGTH: u32 = 20;
const CASES: u32 = 1000;

#[test]
fn a_chain_of_next_runs_increases() {
    let tallies: RefCell<BTreeMap<&str, Tally>> = RefCell::default();
    let property = |(class, fields, start, bounded): (&'static str, Value, Timestamp, bool)| {
        let timetable = decoded(class, &fields);
        let mut tallies = tallies.borrow_mut();
        check_chain(&timetable, start, bounded, tallies.entry(class).or_default())
    };
    let mut runner =
        TestRunner::new(ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() });
    let case = (prop::sample::select(&CLASSES[..]), fields(), instant(), prop::bool::ANY);
    runner.run(&case, property).unwrap();
    for class in CLASSES {
        // Years run out, or lie more than 50 years ahead; 31 April never comes. Deltas have no such limits.
        let expression_ends = if class.contains("Delta") { 0 } else { 150 };
        // In one of tens of thousands of cases, data intervals of an expression with a free hour drift over a
        // change of the clocks, as Airflow's do, and the next one would not be later.
        let drifts = if class == "interval.CronDataInterval" { 2 } else { 0 };
        let limits = [
            ("NeverAgain", expression_ends),
            ("NeverBefore", expression_ends),
            ("DoesNotAdvance", drifts),
            ("no start", 50),
        ];
        tallies.borrow()[class].check(CASES / 6 * LENGTH / 2, &limits);
    }
}

fn check_chain(
    timetable: &Timetable,
    start: Timestamp,
    bounded: bool,
    tally: &Tally,
) -> Result<(), TestCaseError> {
    let restriction = Restriction { earliest: bounded.then_some(start), latest: None, catchup: true };
    let mut last: Option<RunInfo> = None;
    for _ in 0..LENGTH {
        let run = match timetable.next_run(last.as_ref(), &restriction, start) {
            Ok(Some(run)) => run,
            Ok(None) => {
                let has_intervals =
                    matches!(timetable, Timetable::CronDataInterval(_) | Timetable::DeltaDataInterval(_));
                prop_assert!(
                    has_intervals && !bounded && last.is_none(),
                    "{timetable:?} ends after {last:?}"
                );
                // Without a start date there is nothing to count from. It is tried with one instead.
                tally.passed_over("no start");
                return check_chain(timetable, start, true, tally);
            }
            Err(reason @ (NoRun::NeverAgain | NoRun::NeverBefore | NoRun::DoesNotAdvance)) => {
                tally.passed_over(&format!("{reason:?}"));
                return Ok(());
            }
            Err(reason) => {
                return Err(TestCaseError::fail(format!("{timetable:?} after {last:?}: {reason}")));
            }
        };
        if let Some(last) = &last {
            prop_assert!(run.run_after > last.run_after, "{run:?} after {last:?}");
            prop_assert!(run.logical_date().is_none() || run.logical_date() > last.logical_date(), "{run:?}");
        } else if bounded {
            prop_assert!(run.run_after >= start, "{run:?} from {start} on");
        }
        match timetable {
            Timetable::CronPartition(partition) => {
                let side = run.partition_date.unwrap().cmp(&run.run_after);
                // Backwards, a change of the clocks may be in the way.
                prop_assert!(partition.run_offset < 0 || side == partition.run_offset.cmp(&0), "{run:?}");
            }
            _ => prop_assert!(
                run.data_interval.is_some_and(|interval| interval.end == run.run_after),
                "{run:?}"
            ),
        }
        tally.checked();
        last = Some(run);
    }
    Ok(())
}

/// The fields of every class at once; each takes its own.
fn fields() -> impl Strategy<Value = Value> {
    let timedelta =
        timedelta_micros().prop_map(|micros| json!(SignedDuration::from_micros(micros).as_secs_f64()));
    let delta = prop_oneof![timedelta, relative_delta()];
    let interval = prop_oneof![Just(0.0), 0.0..1e6];
    let expressions = prop::collection::vec(expression(), 1..4);
    (expressions, zone_name(), delta, interval, prop::bool::ANY, -5..=5).prop_map(
        |(expressions, zone, delta, interval, run_immediately, offset)| {
            json!({
                "expression": expressions[0], "expressions": expressions, "timezone": zone, "delta": delta,
                "interval": interval, "run_immediately": run_immediately, "run_offset": offset,
                "key_format": "%Y-%m-%dT%H:%M:%S",
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn events_follow_each_other_once(
        mut dates in prop::collection::vec(instant(), 0..12), now in instant(),
        earliest in prop::option::of(instant()), latest in prop::option::of(instant()), catchup in prop::bool::ANY,
    ) {
        dates.sort_unstable();
        let texts: Vec<String> = dates.iter().map(ToString::to_string).collect();
        let timetable = decoded("events.Events", &json!({"event_dates": texts, "restrict_to_events": false,
            "description": null, "_summary": "events"}));
        let restriction = Restriction { earliest, latest, catchup };
        let mut last = None;
        let runs = std::iter::from_fn(|| {
            last = timetable.next_run(last.as_ref(), &restriction, now).unwrap();
            last.as_ref().map(|run| run.run_after)
        });
        let runs: Vec<_> = runs.take(20).collect();
        // Without catchup those that have passed are over.
        dates.dedup();
        dates.retain(|date| catchup || *date >= now);
        dates.retain(|date| earliest.is_none_or(|earliest| *date >= earliest));
        dates.retain(|date| latest.is_none_or(|latest| *date <= latest));
        prop_assert_eq!(runs, dates);
    }
}
