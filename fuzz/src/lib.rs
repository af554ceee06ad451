//! What a fuzzer asks of any text. The ordinary tests ask the same of the kept corpus.

use ferroflow_model::dag::Dag;
use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{Restriction, RunInfo, Timetable};
use jiff::Timestamp;
use jiff::civil::DateTime;

/// A document is a DAG, or a list of problems of which each has a place.
pub fn decode_dag(text: &str) {
    match Dag::decode(text) {
        Ok(dag) => {
            assert!(dag.tasks().iter().all(|task| dag.find(&task.task_id).is_some()));
        }
        Err(problems) => {
            assert!(!problems.list().is_empty());
            assert!(
                problems.list().iter().all(|problem| !problem.place.is_empty() && !problem.what.is_empty())
            );
        }
    }
}

/// A timetable can be asked everything, at any time, and a backfill does not stand still.
pub fn timetable(text: &str) {
    let Ok(timetable) = Timetable::decode(text) else { return };
    let now = Timestamp::constant(1_710_053_999, 123_456_000);
    let _ = (timetable.facts(), timetable.validate(now), timetable.manual_interval(now));
    let _ = timetable.partition_date("2024-03-10T02:30:00");
    for catchup in [false, true] {
        for earliest in [None, Some(Timestamp::constant(1_700_000_000, 0))] {
            let restriction = Restriction { earliest, latest: None, catchup };
            let mut last: Option<RunInfo> = None;
            for _ in 0..3 {
                let Ok(Some(run)) = timetable.next_run(last.as_ref(), &restriction, now) else { break };
                last = Some(run);
            }
        }
    }
    let runs = timetable.runs_between(Timestamp::constant(1_700_000_000, 0), now, now);
    let runs: Vec<RunInfo> = runs.take(5).map_while(Result::ok).collect();
    assert!(runs.windows(2).all(|pair| pair[0] != pair[1]), "a backfill makes a run twice");
}

/// An expression goes forward and backward by the same times.
pub fn cron(text: &str) {
    let Ok(cron) = Cron::parse(text) else { return };
    for start in [DateTime::MIN, DateTime::MAX, DateTime::constant(2024, 2, 29, 23, 59, 59, 999_999_000)] {
        let next = cron.next(start);
        assert!(next.is_none_or(|next| next > start));
        assert!(cron.previous(start).is_none_or(|previous| previous < start));
        if let Some(previous) = next.and_then(|next| cron.previous(next)) {
            assert!(previous <= start);
        }
    }
}
