//! Custom timetables are asked before the transaction, which may not wait for them.

use std::sync::Arc;

use ferroflow_db::Json;
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::{RunInfo, Timetable};
use ferroflow_python::timetables::{Described, TimetableError, Timetables, serialized};
use ferroflow_telemetry::chain;

use super::report::{CreatedRuns, NotCreated};
use crate::questions::{Due, DueQuestion};
use crate::run::Definition;
use crate::{Context, NoAnswer};

const NO_PYTHON: &str = "the DAG has a timetable of its own, and there is no Python to ask it";

/// What Python said of a run that is due, or that is there already.
pub(super) struct Asked {
    /// The run that it was asked about,
    pub(super) about: RunInfo,
    /// and its name and the run that follows.
    pub(super) said: Result<Due, NoAnswer>,
}

/// Asks about a run, if that takes Python. Of one that is there already the name is not asked for.
pub(super) async fn ask(
    cx: &Context,
    definition: &Definition,
    about: Option<RunInfo>,
    is_there: bool,
) -> Option<Asked> {
    let (dag, about) = (definition.dag(), about?);
    let custom = dag.timetable.custom()?;
    let Some(timetables) = &cx.timetables else {
        return Some(Asked { about, said: Err(NoAnswer::Failed(NO_PYTHON.to_owned())) });
    };
    let document = serialized(custom);
    let question = DueQuestion {
        timetable: document.text().to_owned(),
        about: about.clone(),
        restriction: dag.restriction(),
        is_there,
    };
    let who = format!("the timetable {}", custom.class);
    let asked = || {
        let (timetables, question) = (Arc::clone(timetables), question.clone());
        async move { says(&timetables, &document, &question).await.map_err(|error| chain(&error)) }
    };
    let said = cx.run_settings.questions.due(&dag.dag_id, question.clone(), &who, asked).await;
    Some(Asked { about, said })
}

async fn says(
    timetables: &Timetables,
    document: &Json,
    question: &DueQuestion,
) -> Result<Due, TimetableError> {
    let DueQuestion { about, restriction, is_there, .. } = question;
    let run_id = if *is_there {
        String::new()
    } else {
        timetables.run_id(document, RunType::Scheduled.as_str(), about).await?
    };
    Ok(Due { run_id, next: timetables.next_run(document, Some(about), restriction).await? })
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
        match described(cx, &custom.class, serialized(custom)).await {
            Ok(described) => {
                definition.described.get_or_init(|| described);
                is_any_known = true;
            }
            Err(no_answer) => {
                report.refuse(&dag.dag_id, NotCreated::unanswered(no_answer, NotCreated::Timetable));
            }
        }
    }
    is_any_known
}

async fn described(cx: &Context, class: &str, document: Json) -> Result<Arc<Described>, NoAnswer> {
    let Some(timetables) = &cx.timetables else { return Err(NoAnswer::Failed(NO_PYTHON.to_owned())) };
    if let Some(known) = timetables.described(&document) {
        return Ok(known);
    }
    let text = document.text().to_owned();
    let asked = || {
        let timetables = Arc::clone(timetables);
        async move { timetables.describe(&document).await.map_err(|error| chain(&error)) }
    };
    cx.run_settings.questions.described(&text, &format!("the timetable {class}"), asked).await
}
