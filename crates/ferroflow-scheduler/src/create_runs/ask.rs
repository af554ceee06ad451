//! Timetables that somebody wrote in Python are asked before the transaction, which may not wait for them.

use std::sync::Arc;

use ferroflow_model::state::RunType;
use ferroflow_model::timetable::{RunInfo, Timetable};
use ferroflow_python::timetables::{TimetableError, serialized};
use ferroflow_telemetry::chain;

use super::report::{CreatedRuns, NotCreated};
use crate::Context;
use crate::run::Definition;

const NOBODY: &str = "the DAG has a timetable of its own, and there is no Python to ask it";

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
    let document = serialized(dag.timetable.custom()?);
    let Some(timetables) = &cx.timetables else {
        return Some(Asked { about, run_id: Err(NOBODY.to_owned()), next: Err(NOBODY.to_owned()) });
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

/// Whether only Python knows which assets a DAG waits for, and was not asked yet.
pub(super) fn is_undescribed(definition: &Definition) -> bool {
    matches!(definition.dag().timetable, Timetable::Custom(_)) && definition.described.get().is_none()
}

/// Asks Python about timetables for which assets or partitions wait. One that has no answer is refused. Returns whether
/// any has one, with which everything is to be looked at again.
pub(super) async fn describe(
    cx: &Context,
    undescribed: &[Arc<Definition>],
    report: &mut CreatedRuns,
) -> bool {
    let mut is_any_known = false;
    for definition in undescribed {
        let dag = definition.dag();
        let Timetable::Custom(custom) = &dag.timetable else { continue };
        let described = match &cx.timetables {
            Some(timetables) => timetables.describe(&serialized(custom)).await.map_err(|error| chain(&error)),
            None => Err(NOBODY.to_owned()),
        };
        match described {
            Ok(described) => {
                definition.described.get_or_init(|| described);
                is_any_known = true;
            }
            Err(reason) => report.refuse(&dag.dag_id, NotCreated::Timetable(reason)),
        }
    }
    is_any_known
}
