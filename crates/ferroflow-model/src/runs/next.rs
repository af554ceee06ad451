//! Which run of a schedule comes next.

use jiff::Timestamp;

use crate::dag::Dag;
use crate::timetable::{NoRun, Restriction, RunInfo};

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
    let restriction =
        Restriction { earliest: dag.earliest_start(), latest: dag.latest_end(), catchup: dag.catchup };
    match dag.timetable.next_run(last, &restriction, now) {
        Ok(Some(next)) => Ok(next),
        Ok(None) => Err(NoNextRun::Over),
        Err(NoRun::Custom(class)) => Err(NoNextRun::AskPython(class)),
        Err(reason) => Err(NoNextRun::Failed(reason)),
    }
}
