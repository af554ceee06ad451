//! Without catchup a cron schedule asks for its latest complete interval, or for the latest time that has passed;
//! for a later one only if the last run or the start date says so.

use ferroflow_model::timetable::{
    CronPartition, CronTrigger, DataInterval, Delta, MultipleCronTrigger, NoRun, Restriction, RunImmediately,
    RunInfo, Timetable, ZonedCron,
};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::timetable_properties::clocks::{Change, for_every_change, skips_or_repeats};
use crate::timetable_properties::grid::Grid;
use crate::timetable_properties::scenario::{Question, Scenario, scenario};
use crate::timetable_properties::tally::Tally;

const DRIFTS: &str = "an expression for every hour drifts";
const TWICE_OR_NEVER: &str = "the clocks skip a time of the schedule or show it twice";
const CLOCKS_CHANGE: &str = "the clocks change about now";
/// In thousandths of the cases.
const LIMITS: [(&str, u32); 3] = [(DRIFTS, 90), (TWICE_OR_NEVER, 20), (CLOCKS_CHANGE, 5)];

#[test]
fn without_catchup_a_cron_runs_for_the_latest_complete_interval_or_time_only() {
    let (intervals, triggers) = (Tally::default(), Tally::default());
    let (mut circumstances, mut changes) = (circumstances(), 0);
    for_every_change(|cron, change| {
        let Circumstances { scenario, run_immediately, hours, offset } = circumstances.next().unwrap();
        let now = change.at + scenario.minutes.minutes();
        let grid = Grid::around(cron, now, now, change);
        let question = scenario.on(&grid, now);
        let case = Case { cron, grid: &grid, question: &question };
        compare(&Timetable::CronDataInterval(cron.clone()), &[case], case.interval_run(), &intervals);

        let interval = SignedDuration::from_hours(hours);
        let expected = case.trigger_time(run_immediately);
        let trigger = CronTrigger { cron: cron.clone(), interval: Delta::Fixed(interval), run_immediately };
        changes += 1;
        if changes % 2 == 0 {
            let partition = CronPartition { trigger, run_offset: offset, key_format: "%Y".into() };
            let partition = Timetable::CronPartition(partition);
            return compare(&partition, &[case], expected.map(DataInterval::exact), &triggers);
        }
        let with_interval = expected.map(|end| DataInterval { start: end - interval, end });
        compare(&Timetable::CronTrigger(trigger), &[case], with_interval, &triggers);
    });
    intervals.check(16_000, &LIMITS);
    triggers.check(16_000, &LIMITS);
}

#[test]
fn without_catchup_several_triggers_run_for_the_latest_time_of_any_of_them_only() {
    let tally = Tally::default();
    let mut circumstances = circumstances();
    let (mut other, mut changes) = ("0 0 * * *".to_owned(), 0);
    for_every_change(|cron, change| {
        let expression = std::mem::replace(&mut other, cron.expression().to_owned());
        changes += 1;
        if changes % 20 == 0 {
            let other = ZonedCron::new(&expression, cron.zone().clone()).unwrap();
            compare_two([cron, &other], change, &circumstances.next().unwrap(), &tally);
        }
    });
    tally.check(750, &LIMITS);
}

fn compare_two(crons: [&ZonedCron; 2], change: &Change, circumstances: &Circumstances, tally: &Tally) {
    let Circumstances { scenario, run_immediately, .. } = circumstances;
    let now = change.at + scenario.minutes.minutes();
    let grid = Grid::around(crons[0], now, now, change);
    let mut question = scenario.on(&grid, now);
    // The times of the other expression are walked as far, and should not be too many.
    let is_near = |at: &Timestamp| at.duration_since(now).abs() < SignedDuration::from_hours(240);
    let Restriction { earliest, .. } = &mut question.restriction;
    *earliest = earliest.filter(is_near);
    question.last = question.last.filter(|last| is_near(&last.end));
    let asked = [Some(question.now), *earliest, question.last.map(|last| last.end)];
    let (low, high) = (asked.iter().flatten().min().unwrap(), asked.iter().flatten().max().unwrap());
    let grids = [grid, Grid::around(crons[1], *low, *high, change)];

    let cases = [0, 1].map(|n| Case { cron: crons[n], grid: &grids[n], question: &question });
    let times = cases.each_ref().map(|case| case.trigger_time(*run_immediately));
    let due = times.iter().flatten().filter(|time| **time <= question.now).max();
    let expected = due.or_else(|| times.iter().flatten().min()).copied().map(DataInterval::exact);
    let interval = Delta::Fixed(SignedDuration::ZERO);
    let triggers = crons.map(|cron| CronTrigger {
        cron: cron.clone(),
        interval: interval.clone(),
        run_immediately: *run_immediately,
    });
    let timetable = Timetable::MultipleCronTrigger(MultipleCronTrigger::new(triggers.into()).unwrap());
    compare(&timetable, &cases, expected, tally);
}

/// Compares what a timetable of these schedules answers with what is expected.
fn compare(timetable: &Timetable, cases: &[Case<'_>], expected: Option<DataInterval>, tally: &Tally) {
    let Question { now, restriction, .. } = cases[0].question;
    let answer = timetable.next_run(cases[0].question.last_run().as_ref(), restriction, *now);
    let interval = |run: &RunInfo| run.data_interval.unwrap_or(DataInterval::exact(run.run_after));
    if answer.as_ref().map(|run| run.as_ref().map(interval)) == Ok(expected) {
        return tally.checked();
    }
    let excuse = cases.iter().find_map(|case| case.excuse(&answer, expected));
    tally.passed_over(excuse.unwrap_or_else(|| {
        panic!("{timetable:?}, asked {:?}, answers {answer:?} and not {expected:?}", cases[0].question)
    }));
}

#[derive(Clone, Debug)]
struct Circumstances {
    scenario: Scenario,
    run_immediately: RunImmediately,
    /// The interval of a trigger.
    hours: i64,
    /// Where the partition of a run lies.
    offset: i32,
}

/// A thousand random ones, again and again: a prime number, so that they meet every expression.
fn circumstances() -> impl Iterator<Item = Circumstances> {
    let run_immediately = prop_oneof![
        Just(RunImmediately::Always),
        Just(RunImmediately::WithinATenth),
        (0..100_000_i64).prop_map(|seconds| RunImmediately::Within(SignedDuration::from_secs(seconds))),
    ];
    let circumstances = (scenario(), run_immediately, 0..3_i64, -1..=1).prop_map(
        |(scenario, run_immediately, hours, offset)| Circumstances {
            scenario,
            run_immediately,
            hours,
            offset,
        },
    );
    let mut runner = TestRunner::deterministic();
    let all: Vec<_> = (0..1009).map(|_| circumstances.new_tree(&mut runner).unwrap().current()).collect();
    all.into_iter().cycle()
}

type Answer = Result<Option<RunInfo>, NoRun>;

/// A schedule, its times, and what is asked of it.
#[derive(Clone, Copy)]
struct Case<'c> {
    cron: &'c ZonedCron,
    grid: &'c Grid,
    question: &'c Question,
}

impl Case<'_> {
    /// The latest complete interval; or the one from the start date on, or the one after the last run.
    fn interval_run(&self) -> Option<DataInterval> {
        let (grid, question) = (self.grid, self.question);
        let mut start = grid.before(grid.floor(question.now));
        if let Some(earliest) = question.restriction.earliest {
            start = start.max(grid.ceil(earliest));
        }
        if let Some(last) = question.last {
            start = start.max(grid.floor(last.end));
            if start <= last.start {
                start = grid.after(start);
            }
        }
        (!question.ends_before(start)).then(|| DataInterval { start, end: grid.after(start) })
    }

    /// The latest time that has passed; or the first from the start date on, or the one after the last run.
    fn trigger_time(&self, run_immediately: RunImmediately) -> Option<Timestamp> {
        let (grid, question) = (self.grid, self.question);
        let past = grid.floor(question.now);
        let time = match (question.last, question.restriction.earliest) {
            (Some(last), earliest) => {
                past.max(grid.after(last.end)).max(earliest.map_or(past, |earliest| grid.ceil(earliest)))
            }
            (None, Some(earliest)) => past.max(grid.ceil(earliest)),
            (None, None) => {
                let next = grid.ceil(question.now);
                let patience = match run_immediately {
                    RunImmediately::Always => SignedDuration::MAX,
                    RunImmediately::Within(patience) => patience,
                    RunImmediately::WithinATenth => {
                        (next.duration_since(past) / 10).max(SignedDuration::from_mins(5))
                    }
                };
                if question.now.duration_since(past) <= patience { past } else { next }
            }
        };
        (!question.ends_before(time)).then_some(time)
    }

    /// Why an answer need not be the expected one. Even then it must not be an older run than the latest: only
    /// the drift makes such, and only at a change of the clocks since the interval before that run.
    fn excuse(&self, answer: &Answer, expected: Option<DataInterval>) -> Option<&'static str> {
        let Self { cron, grid, question } = *self;
        let run = answer.as_ref().ok().and_then(Option::as_ref);
        let now = question.now;
        if let Some(run) = run.filter(|run| run.run_after <= now && cron.next(run.run_after).unwrap() <= now)
        {
            let start = run.data_interval.map_or(run.run_after, |interval| interval.start);
            return drifts(cron, cron.previous(start).unwrap(), now).then_some(DRIFTS);
        }
        let (expected, earliest) = (expected.map(|expected| expected.start), question.restriction.earliest);
        let asked = [Some(now), expected, earliest, question.last.map(|last| last.end)];
        let asked = || asked.iter().flatten().copied();
        let mut instants: Vec<_> = asked().flat_map(|at| grid.neighbours(at)).chain(asked()).collect();
        instants.extend(run.map(|run| run.run_after));
        // The walk that made the grid drifts too.
        if drifts(cron, grid.first(), instants.iter().copied().max().unwrap_or(now)) {
            let is_named = matches!(answer, Ok(_) | Err(NoRun::ClocksChange | NoRun::DoesNotAdvance));
            return is_named.then_some(DRIFTS);
        }
        let is_near = instants.iter().any(|at| skips_or_repeats(cron.zone(), *at));
        match answer {
            Err(NoRun::ClocksChange) if is_near => Some(CLOCKS_CHANGE),
            Ok(_) if is_near => Some(TWICE_OR_NEVER),
            _ => None,
        }
    }
}

/// Airflow counts the hours of an expression that matches every hour in absolute time. If such an expression
/// names days, or the clocks move by a part of an hour, a change of the clocks moves it off its grid by as much
/// until it finds it again. This is the one case in which an older run may be asked for.
fn drifts(cron: &ZonedCron, since: Timestamp, until: Timestamp) -> bool {
    let names_days = cron.expression().split_whitespace().skip(2).take(3).any(|column| column != "*");
    let change = cron.zone().next_change(since - 1.second()).filter(|(when, _)| *when <= until);
    let moves_grid = change.is_some_and(|(_, seconds)| names_days || seconds % 3600 != 0);
    moves_grid && cron.cron().is_every_hour()
}
