//! The first runs of a timetable, and why there are no more.

use ferroflow_model::timetable::{NoRun, Restriction, RunInfo, Timetable};
use jiff::Timestamp;

use super::without_assets;

/// Some runs in their order, and in a sentence why there are fewer than were asked for.
pub(super) fn first_runs(
    timetable: &Timetable,
    restriction: &Restriction,
    now: Timestamp,
    count: u32,
) -> (Vec<RunInfo>, Option<String>) {
    let mut runs: Vec<RunInfo> = Vec::new();
    for _ in 0..count {
        let last = runs.last();
        match timetable.next_run(last, restriction, now) {
            Ok(Some(run)) if last.is_none_or(|last| run.run_after > last.run_after) => runs.push(run),
            Ok(Some(_)) => return with_reason(runs, |none| why_not(timetable, &NoRun::DoesNotAdvance, none)),
            Err(reason) => return with_reason(runs, |none| why_not(timetable, &reason, none)),
            Ok(None) => {
                let unbounded = Restriction { latest: None, ..*restriction };
                let is_bounded = matches!(timetable.next_run(last, &unbounded, now), Ok(Some(_)));
                return with_reason(runs, |none| format!("{none}: {}.", why_over(timetable, is_bounded)));
            }
        }
    }
    (runs, None)
}

fn with_reason(
    runs: Vec<RunInfo>,
    sentence: impl FnOnce(&'static str) -> String,
) -> (Vec<RunInfo>, Option<String>) {
    let none = if runs.is_empty() { "There are no runs" } else { "There are no more runs" };
    (runs, Some(sentence(none)))
}

fn why_not(timetable: &Timetable, reason: &NoRun, none: &str) -> String {
    match reason {
        NoRun::Custom(class) => format!(
            "{none} to show: {class} is a timetable of somebody's own, and only Python can evaluate it, which \
             ferroflow does not run yet."
        ),
        NoRun::DoesNotAdvance if *without_assets(timetable) == Timetable::Continuous => {
            "Each further run starts when the one before it is over, so its time cannot be told.".to_owned()
        }
        NoRun::NeverBefore => {
            format!("{none}: {reason}, and Airflow, which looks back to find its place, then makes none.")
        }
        reason => format!("{none}: {reason}."),
    }
}

fn why_over(timetable: &Timetable, is_bounded: bool) -> &'static str {
    match without_assets(timetable) {
        _ if is_bounded => "the next one would stand for a time after --until",
        Timetable::Null => "the schedule makes none by itself, somebody has to trigger them",
        Timetable::PartitionedAtRuntime => {
            "the schedule makes none by itself, somebody has to trigger them and name the partition"
        }
        Timetable::AssetTriggered(_) | Timetable::PartitionedAsset(_) => {
            "they come when assets are updated, not at times"
        }
        Timetable::Once => "the schedule asks for one",
        Timetable::Events(_) => "the list of events ends here",
        _ => "the schedule has come to its end",
    }
}
