//! Which run of a schedule comes next.

use jiff::Timestamp;

use crate::dag::Dag;
use crate::timetable::{NoRun, RunInfo, Timetable};

/// Why a DAG has no next run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNextRun {
    /// Its schedule is over, or it has none.
    #[error("the schedule has no further run")]
    Over,
    /// Its schedule cannot be computed.
    #[error(transparent)]
    Failed(NoRun),
    /// Python must be asked; until then the row stays as it is.
    #[error("{0} is a timetable of its own, evaluated by the Python bridge")]
    AskPython(String),
}

/// The run that follows `last`: the run just created, or the one that was found to exist. The DAG's row takes
/// over its six columns. [`NoNextRun::Over`] and [`NoNextRun::Failed`] clear all six.
pub fn next_run_after(dag: &Dag, last: Option<&RunInfo>, now: Timestamp) -> Result<RunInfo, NoNextRun> {
    match dag.timetable.next_run(last, &dag.restriction(), now) {
        Ok(Some(next)) => Ok(next),
        Ok(None) => Err(NoNextRun::Over),
        Err(NoRun::Custom(class)) => Err(NoNextRun::AskPython(class)),
        Err(reason) => Err(NoNextRun::Failed(reason)),
    }
}

/// The run that takes the place of one that was missed. A DAG without catchup gets the latest of the runs that are due,
/// and none for the times before: its row may still name one of those after its scheduler was down, or after it was
/// paused. `None` if the run is the latest, or if no other can take its place.
pub fn latest_instead_of(dag: &Dag, missed: &RunInfo, now: Timestamp) -> Option<RunInfo> {
    if dag.catchup || !has_times_of_its_own(&dag.timetable) {
        return None;
    }
    let later = next_run_after(dag, Some(missed), now).ok()?;
    (later.run_after > missed.run_after && later.run_after <= now).then_some(later)
}

/// Whether a later run stands for another time. That of `@continuous` begins whenever the one before has ended.
fn has_times_of_its_own(timetable: &Timetable) -> bool {
    match timetable {
        Timetable::AssetOrTime { time, .. } => has_times_of_its_own(time),
        Timetable::Continuous | Timetable::Custom(_) => false,
        _ => true,
    }
}
