//! `docs/states.md` says what the state machine does.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use ferroflow_model::state::{RunState, TaskState};
use ferroflow_model::state_machine::{RunEvent, States, TaskEvent, next_run_state, next_task_state};

const INTRODUCTION: &str = "\
# States

Which state follows on which. Every change of a state in the database is one of these events; what is not in a table is
refused, with the reason. The tables are made from `crates/ferroflow-model/src/state_machine`, and a test compares them.

A task instance that nobody has looked at yet has no state: NULL in the database, `none` here.
";

/// The ordinary life of a task instance; the tables have the rest.
const ORDINARY: &[(Option<TaskState>, TaskEvent)] = &[
    (None, TaskEvent::DependenciesMet),
    (None, TaskEvent::UpstreamFailed),
    (None, TaskEvent::UpstreamSkipped),
    (Some(TaskState::Scheduled), TaskEvent::Admitted),
    (Some(TaskState::Queued), TaskEvent::Started),
    (Some(TaskState::Running), TaskEvent::Succeeded),
    (Some(TaskState::Running), TaskEvent::FailedForGood),
    (Some(TaskState::Running), TaskEvent::SkippedItself),
    (Some(TaskState::Running), TaskEvent::FailedWithTriesLeft),
    (Some(TaskState::UpForRetry), TaskEvent::DependenciesMet),
    (Some(TaskState::Running), TaskEvent::Rescheduled),
    (Some(TaskState::UpForReschedule), TaskEvent::DependenciesMet),
    (Some(TaskState::Running), TaskEvent::PutOff),
    (Some(TaskState::Deferred), TaskEvent::TriggerFired),
    (Some(TaskState::Running), TaskEvent::AsksForInput),
    (Some(TaskState::AwaitingInput), TaskEvent::Answered),
    (Some(TaskState::Running), TaskEvent::ClearedWhileRunning),
    (Some(TaskState::Restarting), TaskEvent::GoneAndRestarted),
];

#[test]
fn the_page_shows_the_state_machine() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/states.md");
    let expected = document();
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    if found != expected {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("states.md");
        std::fs::write(&made, &expected).unwrap();
        panic!("docs/states.md is not what the code says; if the code is right: cp {} docs/", made.display());
    }
}

fn document() -> String {
    let sections = [
        INTRODUCTION.to_owned(),
        diagram(),
        "## Task instances, by event\n".to_owned(),
        task_events(),
        "## Task instances, by state\n".to_owned(),
        task_states(),
        "## DAG runs\n".to_owned(),
        runs(),
    ];
    sections.join("\n")
}

fn name(state: Option<TaskState>) -> &'static str {
    state.map_or("none", TaskState::as_str)
}

fn diagram() -> String {
    let mut text = "The ordinary life of one:\n\n```mermaid\nstateDiagram-v2\n    [*] --> none\n".to_owned();
    for (from, event) in ORDINARY {
        let next = next_task_state(*from, *event).unwrap();
        writeln!(text, "    {} --> {}: {}", name(*from), name(next), event.what()).unwrap();
    }
    text.push_str("```\n");
    text
}

fn task_events() -> String {
    let mut text = "| who | what happens | from | to |\n|---|---|---|---|\n".to_owned();
    for event in TaskEvent::ALL {
        let (who, to) = (event.actor().as_str(), name(event.leads_to()));
        writeln!(text, "| {who} | {} | {} | {to} |", event.what(), listed(event.leaves())).unwrap();
    }
    text
}

/// The states, or those that are missing if these are fewer.
fn listed(states: States) -> String {
    let names = |states: Vec<_>| states.into_iter().map(name).collect::<Vec<_>>().join(", ");
    let others: Vec<_> = States::EVERY.iter().filter(|state| !states.contains(*state)).collect();
    if others.len() < 5 { format!("all but {}", names(others)) } else { names(states.iter().collect()) }
}

fn task_states() -> String {
    let mut text = "| from | to |\n|---|---|\n".to_owned();
    for from in States::EVERY.iter() {
        let is_next = |next: &Option<TaskState>| {
            *next != from && TaskEvent::ALL.iter().any(|event| next_task_state(from, *event) == Ok(*next))
        };
        let next: Vec<&str> = States::EVERY.iter().filter(is_next).map(name).collect();
        writeln!(text, "| {} | {} |", name(from), next.join(", ")).unwrap();
    }
    text
}

fn runs() -> String {
    let mut text = "| what happens |".to_owned();
    for from in RunState::ALL {
        write!(text, " {from} |").unwrap();
    }
    text.push_str("\n|---|---|---|---|---|\n");
    for event in RunEvent::ALL {
        write!(text, "| {event} |").unwrap();
        for from in RunState::ALL {
            let next = next_run_state(*from, *event).map_or("", RunState::as_str);
            write!(text, " {next} |").unwrap();
        }
        text.push('\n');
    }
    text
}
