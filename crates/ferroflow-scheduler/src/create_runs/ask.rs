//! Timetables that somebody wrote in Python are asked before the transaction, which may not wait for them.

use ferroflow_model::state::RunType;
use ferroflow_model::timetable::RunInfo;
use ferroflow_python::timetables::{TimetableError, custom, serialized};
use ferroflow_telemetry::chain;

use crate::Context;
use crate::run::Definition;

/// What Python said of a run that is due, or that is there already.
pub(super) struct Asked {
    /// The run that it was asked about,
    pub(super) about: RunInfo,
    /// the name of the run
    pub(super) run_id: Result<String, String>,
    /// and the run that follows.
    pub(super) next: Result<Option<RunInfo>, String>,
}

/// Asks about a run, if that takes Python. Of one that is there already the name is not asked for.
pub(super) async fn ask(
    cx: &Context,
    definition: &Definition,
    about: Option<RunInfo>,
    is_there: bool,
) -> Option<Asked> {
    let (dag, about) = (definition.dag(), about?);
    let document = serialized(custom(&dag.timetable)?);
    let Some(timetables) = &cx.timetables else {
        let nobody = || "the DAG has a timetable of its own, and there is no Python to ask it".to_owned();
        return Some(Asked { about, run_id: Err(nobody()), next: Err(nobody()) });
    };
    let said = |error: TimetableError| chain(&error);
    let run_id = if is_there {
        Ok(String::new())
    } else {
        timetables.run_id(&document, RunType::Scheduled.as_str(), &about).await.map_err(said)
    };
    let next = timetables.next_run(&document, Some(&about), &dag.restriction()).await.map_err(said);
    Some(Asked { about, run_id, next })
}
