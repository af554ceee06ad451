//! Each reason and boundary of looking at running runs, and what holds whatever the rows.

use ferroflow_model::runs::examine::{Failures, NotExamined, Pace, RunningRun, Verdict, decide};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::runs::given::{NOW, at, running_run};

const PATIENCE: i64 = 30;

fn pace(limit: usize) -> Pace {
    Pace { limit, patience: SignedDuration::from_secs(PATIENCE) }
}

fn examined(runs: &[RunningRun<'_>], limit: usize) -> Vec<String> {
    let decisions = decide(runs, at(NOW), pace(limit));
    let examined = decisions.iter().filter(|decision| decision.verdict == Verdict::Examine);
    examined.map(|decision| decision.run_id.to_owned()).collect()
}

fn reason(run: RunningRun<'_>) -> Option<NotExamined> {
    match decide(&[run], at(NOW), pace(1))[0].verdict {
        Verdict::Refused(reason) => Some(reason),
        _ => None,
    }
}

fn seen(run_id: &str, last_examined: i64) -> RunningRun<'_> {
    RunningRun { last_examined: Some(at(last_examined)), ..running_run("d", run_id, 0) }
}

#[test]
fn every_reason_can_be_read() {
    let run = running_run("d", "r", 0);
    let told = |run| reason(run).unwrap().to_string();
    assert_eq!(reason(run), None);
    assert_eq!(told(RunningRun { dag_is_paused: true, ..run }), "the DAG is paused");
    assert_eq!(told(RunningRun { dag_is_stale: true, ..run }), "the DAG is stale: its file is gone");
    assert_eq!(told(RunningRun { run_after: at(NOW + 1), ..run }), "it may start at 1970-01-12T13:46:41Z");
    assert_eq!(
        told(RunningRun { logical_date: Some(at(NOW + 1)), ..run }),
        "its logical date lies ahead, at 1970-01-12T13:46:41Z"
    );
    let failures = Some(Failures { count: 2, last: at(NOW - 1) });
    assert_eq!(
        told(RunningRun { failures, ..run }),
        "it could not be looked at 2 times in a row, and is tried again at 1970-01-12T13:46:41Z"
    );
}

#[test]
fn times_are_met_when_they_come() {
    let run = running_run("d", "r", 0);
    assert_eq!(reason(RunningRun { run_after: at(NOW), ..run }), None);
    assert_eq!(reason(RunningRun { logical_date: Some(at(NOW)), ..run }), None);
}

#[test]
fn a_run_whose_time_is_out_is_looked_at_although_its_date_lies_ahead() {
    let ahead = RunningRun { logical_date: Some(at(NOW + 9)), ..running_run("d", "r", NOW - 9) };
    assert!(reason(RunningRun { times_out: Some(at(NOW)), ..ahead }).is_some());
    assert_eq!(reason(RunningRun { times_out: Some(at(NOW - 1)), ..ahead }), None);
    let fresh = RunningRun { times_out: Some(at(NOW - 1)), ..seen("late", NOW) };
    assert_eq!(examined(&[seen("a", NOW - 5), fresh], 1), ["late"]);
}

#[test]
fn failures_are_left_alone_for_longer_and_longer() {
    let until = |count, last| {
        let failures = Some(Failures { count, last });
        match reason(RunningRun { failures, is_dirty: true, ..running_run("d", "r", 0) }) {
            Some(NotExamined::BackingOff { until, .. }) => until.as_second() - NOW,
            _ => 0,
        }
    };
    let waits: Vec<i64> = (0..12).map(|count| until(count, at(NOW))).collect();
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(until(u32::MAX, at(NOW)), 300);
    assert_eq!(until(1, at(NOW - 1)), 0);
    assert!(until(1, Timestamp::MAX) > 0);
}

#[test]
fn the_changed_come_first_then_who_waits_longest() {
    let dirty = |run_id, last| RunningRun { is_dirty: true, ..seen(run_id, last) };
    let runs = [seen("b", NOW - 8), dirty("d", NOW - 1), seen("a", NOW - 9), dirty("c", NOW - 2)];
    assert_eq!(examined(&runs, 9), ["c", "d", "a", "b"]);
    assert_eq!(examined(&runs, 3), ["c", "d", "a"]);
    // Who was passed over for long enough counts as changed.
    let (waited, not_yet) = (seen("w", NOW - PATIENCE), seen("n", NOW - PATIENCE + 1));
    assert_eq!(examined(&[runs[1], runs[3], not_yet, waited], 9), ["w", "c", "d", "n"]);
}

#[test]
fn a_run_that_nobody_has_looked_at_waits_since_it_started() {
    let new = running_run("d", "new", NOW - 5);
    assert_eq!(examined(&[seen("a", NOW - 4), new, seen("b", NOW - 6)], 9), ["b", "new", "a"]);
    let unknown = RunningRun { started: None, run_after: at(NOW - 3), ..new };
    assert_eq!(examined(&[seen("a", NOW - 4), unknown, seen("b", NOW - 2)], 9), ["a", "new", "b"]);
}

#[test]
fn backfills_and_failures_take_turns_with_the_others() {
    let backfill = |run_id, last| RunningRun { is_backfill: true, ..seen(run_id, last) };
    let failed =
        RunningRun { failures: Some(Failures { count: 1, last: at(NOW - 1) }), ..seen("f", NOW - 20) };
    let again = RunningRun { run_id: "g", ..failed };
    let runs = [
        seen("a", NOW - 9),
        seen("b", NOW - 9),
        backfill("x", NOW - 3),
        backfill("y", NOW - 2),
        failed,
        again,
    ];
    assert_eq!(examined(&runs, 9), ["a", "x", "f", "b", "y", "g"]);
    assert_eq!(examined(&runs, 2), ["a", "x"]);
}

#[test]
fn of_two_that_wait_equally_long_the_name_decides() {
    let other = RunningRun { dag_id: "c", ..seen("z", NOW - 1) };
    assert_eq!(examined(&[seen("b", NOW - 1), seen("a", NOW - 1), other], 9), ["z", "a", "b"]);
}

const RUN_IDS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

fn rows() -> impl Strategy<Value = Vec<RunningRun<'static>>> {
    let time = || proptest::option::of(NOW - 40..NOW + 2);
    let row = (0..16_u8, any::<(bool, bool)>(), NOW - 5..NOW + 2, time(), time(), time(), time(), 0..4_u32);
    vec(row, 10).prop_map(|rows| {
        let rows = rows.into_iter().zip(RUN_IDS);
        let rows = rows.map(
            |((closed, (is_backfill, is_dirty), after, logical, start, out, last, count), run_id)| {
                RunningRun {
                    dag_is_paused: closed == 0,
                    dag_is_stale: closed == 1,
                    is_backfill,
                    is_dirty,
                    run_after: at(after),
                    logical_date: logical.map(at),
                    started: start.map(at),
                    times_out: out.map(at),
                    last_examined: last.map(at),
                    failures: (closed > 12).then_some(Failures { count, last: at(after) }),
                    ..running_run("d", run_id, 0)
                }
            },
        );
        rows.collect()
    })
}

/// Whether nothing speaks against looking at a run.
fn could_be_examined(run: &RunningRun<'_>) -> bool {
    let waits = |count: u32| [0, 1, 2, 4][usize::try_from(count).unwrap()];
    let backs_off = run.failures.is_some_and(|f| f.last.as_second() + waits(f.count) > NOW);
    let is_late = run.times_out.is_some_and(|out| out < at(NOW));
    let is_ahead = run.logical_date.is_some_and(|date| date > at(NOW)) && !is_late;
    !(run.dag_is_paused || run.dag_is_stale || run.run_after > at(NOW) || backs_off || is_ahead)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_run_is_answered_and_no_place_stays_free(
        (rows, shuffled) in rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        limit in 0..12_usize,
    ) {
        let decisions = decide(&rows, at(NOW), pace(limit));
        prop_assert_eq!(decisions.len(), rows.len());
        for run in &rows {
            let answer = decisions.iter().find(|decision| decision.run_id == run.run_id).unwrap();
            let is_refused = matches!(answer.verdict, Verdict::Refused(_));
            prop_assert_eq!(could_be_examined(run), !is_refused, "{:?}", run);
        }
        let could = rows.iter().filter(|run| could_be_examined(run)).count();
        let examined = decisions.iter().filter(|decision| decision.verdict == Verdict::Examine).count();
        prop_assert_eq!(examined, could.min(limit));
        prop_assert_eq!(decide(&shuffled, at(NOW), pace(limit)), decisions);
    }
}
