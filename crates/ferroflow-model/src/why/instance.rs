//! Why a task instance does not run.

use jiff::{SignedDuration, Timestamp};

use super::dag::of_the_dag_itself;
use super::limit::Slots;
use super::reason::{Component, Holder, Kind, Reason, without_scheduler};
use super::run::RunSituation;
use crate::admission::{Candidate, Executors};
use crate::dag::Dag;
use crate::readiness::{Unmet, Waiting};
use crate::state::{RunState, TaskState};

/// How a task instance stands.
#[derive(Clone, Debug)]
pub struct InstanceSituation<'a> {
    /// Its run.
    pub run: &'a RunSituation<'a>,
    /// The DAG that its task is of.
    pub dag: &'a Dag,
    /// Where it stands.
    pub state: Option<TaskState>,
    /// What the examination of its run says; nothing if it is finished.
    pub waiting: Option<Waiting>,
    /// Whether its task makes as many instances as there is something for.
    pub is_mapped: bool,
    /// What is directly upstream and has not succeeded.
    pub upstream: Vec<Holder>,
    /// It, as one that waits to be queued, if it does.
    pub candidate: Option<Candidate>,
    /// What there is of everything, and who has it.
    pub slots: &'a Slots,
    /// The executors of each scheduler that lives, with what they have.
    pub executors: &'a [Executors],
    /// Where it is at work.
    pub place: Place,
    /// When it became what it is.
    pub since: Option<Timestamp>,
}

/// Where a task instance is at work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The scheduler that queued it.
    pub queued_by: Option<Component>,
    /// The executor that it asks for.
    pub executor: Option<String>,
    /// How long it may stay queued.
    pub queued_timeout: SignedDuration,
    /// The host and process that run it.
    pub process: Option<(String, Option<i32>)>,
    /// When its process last showed that it lives.
    pub heartbeat: Option<Timestamp>,
    /// After how long without that it is given up.
    pub heartbeat_timeout: SignedDuration,
    /// What it waits for outside any process.
    pub parked: Option<Parked>,
}

/// What a task instance waits for that is neither queued nor running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parked {
    /// The trigger.
    pub trigger_id: Option<i64>,
    /// Who runs the trigger.
    pub triggerer: Option<Component>,
    /// Whether any triggerer lives.
    pub has_triggerer: bool,
    /// Until when it waits.
    pub until: Option<Timestamp>,
}

/// Why a task instance does not run, or what it is at.
pub fn of_instance(instance: &InstanceSituation<'_>, now: Timestamp) -> Vec<Reason> {
    let state = match (instance.state, &instance.waiting) {
        (Some(state), None) => return vec![is_finished(instance, state)],
        (Some(TaskState::Queued), _) => return vec![is_queued(instance)],
        (Some(TaskState::Running | TaskState::Restarting), _) => return vec![is_running(instance, now)],
        (Some(TaskState::Deferred), _) => return vec![is_deferred(instance)],
        (Some(TaskState::AwaitingInput), _) => return vec![awaits_input(instance)],
        (state, _) => state,
    };
    let mut reasons: Vec<Reason> = without_scheduler(instance.run.dag.schedulers).into_iter().collect();
    reasons.extend(of_the_dag_itself(instance.run.dag));
    if instance.run.state != RunState::Running {
        let text = format!("its run '{}' is {}", instance.run.run_id, instance.run.state);
        reasons.push(Reason::new(Kind::RunNotRunning, text));
    }
    if state == Some(TaskState::Scheduled) {
        reasons.extend(of_slots(instance, now));
    } else if let Some(Waiting::For(unmet)) = &instance.waiting {
        reasons.extend(unmet.iter().map(|one| of_unmet(instance, one)));
    }
    if reasons.is_empty() {
        let next = if state == Some(TaskState::Scheduled) { "queued" } else { "scheduled" };
        let text = format!("nothing is in its way: it is {next} next");
        reasons.push(Reason::new(Kind::Next, text).since(instance.since));
    }
    reasons
}

/// Why no scheduler can queue it. One that could is enough.
fn of_slots(instance: &InstanceSituation<'_>, now: Timestamp) -> Option<Reason> {
    let candidate = instance.candidate.as_ref()?;
    let refusals: Option<Vec<Reason>> = instance
        .executors
        .iter()
        .map(|executors| instance.slots.refusal(candidate, executors, now))
        .collect();
    refusals?.into_iter().next().map(|reason| reason.since(instance.since))
}

fn of_unmet(instance: &InstanceSituation<'_>, unmet: &Unmet) -> Reason {
    let text = unmet.describe(instance.dag);
    match unmet {
        Unmet::RetryDue(at) | Unmet::RescheduleDue(at) => Reason::new(Kind::Delay, text).until(Some(*at)),
        Unmet::RunNotBefore(at) => Reason::new(Kind::NotDue, text).until(Some(*at)),
        Unmet::TriggerRule { .. } => Reason::new(Kind::Dependencies, text).held_by(instance.upstream.clone()),
        _ => Reason::new(Kind::Dependencies, text),
    }
}

fn is_finished(instance: &InstanceSituation<'_>, state: TaskState) -> Reason {
    let why = match state {
        TaskState::UpstreamFailed if instance.upstream.is_empty() && instance.is_mapped => {
            ": all before it have succeeded, and how many instances it is to have is not known, or too many"
        }
        _ => "",
    };
    let held_by = if state == TaskState::UpstreamFailed { instance.upstream.clone() } else { Vec::new() };
    Reason::new(Kind::Finished, format!("it is finished: {state}{why}"))
        .since(instance.since)
        .held_by(held_by)
}

fn is_queued(instance: &InstanceSituation<'_>) -> Reason {
    let place = &instance.place;
    let executor = place.executor.as_deref().unwrap_or("the default executor");
    let by = place.queued_by.as_ref().map_or_else(
        || "by a scheduler that is not known any more".to_owned(),
        |by| format!("by {}{}", by.in_words("scheduler"), dead(by)),
    );
    let until = instance.since.and_then(|since| since.checked_add(place.queued_timeout).ok());
    let text =
        format!("it was handed to {executor} {by}, and has not started; it is taken back when it stays so");
    Reason::new(Kind::Queued, text).since(instance.since).until(until)
}

fn is_running(instance: &InstanceSituation<'_>, now: Timestamp) -> Reason {
    let place = &instance.place;
    let process = match &place.process {
        Some((host, Some(pid))) => format!("it runs on {host} as process {pid}"),
        Some((host, None)) => format!("it runs on {host}"),
        None => "it runs".to_owned(),
    };
    let heartbeat = match place.heartbeat {
        None => "it has shown no heartbeat yet".to_owned(),
        Some(heartbeat) if now.duration_since(heartbeat) > place.heartbeat_timeout => {
            format!("its last heartbeat is of {heartbeat}: it is taken for dead")
        }
        Some(heartbeat) => format!("its last heartbeat is of {heartbeat}"),
    };
    Reason::new(Kind::Running, format!("{process}; {heartbeat}")).since(instance.since)
}

fn is_deferred(instance: &InstanceSituation<'_>) -> Reason {
    let parked = instance.place.parked.clone().unwrap_or_default();
    let trigger = parked.trigger_id.map_or_else(
        || "it is deferred, and has no trigger: nothing but its time-out ends that".to_owned(),
        |id| format!("it waits for trigger {id}"),
    );
    let by = match (parked.trigger_id, &parked.triggerer) {
        (None, _) => String::new(),
        (_, Some(triggerer)) => {
            format!(", which {}{} runs", triggerer.in_words("triggerer"), dead(triggerer))
        }
        (_, None) if parked.has_triggerer => ", which no triggerer has taken yet".to_owned(),
        (_, None) => ", and no triggerer lives that would run it".to_owned(),
    };
    Reason::new(Kind::Deferred, format!("{trigger}{by}")).since(instance.since).until(parked.until)
}

fn awaits_input(instance: &InstanceSituation<'_>) -> Reason {
    let until = instance.place.parked.as_ref().and_then(|parked| parked.until);
    Reason::new(Kind::AwaitsInput, "it waits for the answer of a person").since(instance.since).until(until)
}

fn dead(component: &Component) -> &'static str {
    if component.is_alive { "" } else { " (which does not live any more)" }
}
