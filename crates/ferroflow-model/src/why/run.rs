//! Why a run does not start, or has not ended.

use jiff::Timestamp;

use super::dag::{DagSituation, of_the_dag_itself};
use super::reason::{Component, Holder, Kind, Reason, without_scheduler};
use crate::runs::start::{self, BackfillFacts, DagFacts, NotStarted, QueuedRun, Running, Snapshot, Verdict};
use crate::state::RunState;

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveRun {
    /// Its name.
    pub run_id: String,
    /// Whether it is queued or running.
    pub state: RunState,
    /// The backfill that it belongs to,
    pub backfill_id: Option<i32>,
    /// and its place there.
    pub sort_ordinal: Option<i32>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// When it was queued.
    pub queued_at: Option<Timestamp>,
    /// When it started.
    pub started_at: Option<Timestamp>,
}

/// How a run stands.
#[derive(Clone, Debug)]
pub struct RunSituation<'a> {
    /// Its DAG.
    pub dag: &'a DagSituation<'a>,
    /// Its name.
    pub run_id: &'a str,
    /// Where it stands.
    pub state: RunState,
    /// From when on it may run,
    pub run_after: Timestamp,
    /// and whether the database compares that with now as schedulers need it: other forms of a date it does not.
    pub is_due: bool,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When a scheduler last looked at it.
    pub examined_at: Option<Timestamp>,
    /// The scheduler that did.
    pub examined_by: Option<Component>,
    /// How many of its task instances are not finished.
    pub unfinished: usize,
    /// The backfills of the runs of the DAG.
    pub backfills: &'a [BackfillFacts],
}

/// Why a run does not start, or what it is at.
pub fn of_run(run: &RunSituation<'_>, now: Timestamp) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = match run.state {
        RunState::Success | RunState::Failed => {
            let unfinished = match run.unfinished {
                0 => String::new(),
                1 => "; 1 of its task instances is not finished".to_owned(),
                number => format!("; {number} of its task instances are not finished"),
            };
            let text = format!("it has ended: {}{unfinished}", run.state);
            return vec![Reason::new(Kind::Finished, text).since(run.ended_at)];
        }
        _ => without_scheduler(run.dag.schedulers).into_iter().collect(),
    };
    if run.state == RunState::Running {
        reasons.extend(of_the_dag_itself(run.dag));
        reasons.extend(not_due(run, now));
        reasons.push(is_running(run));
        return reasons;
    }
    match verdict(run, now) {
        Some(Verdict::Refused(refusal)) => reasons.push(not_started(run, refusal)),
        _ if !run.is_due => reasons.extend(not_due(run, now)),
        _ if reasons.is_empty() => {
            reasons.push(Reason::new(Kind::Next, "nothing is in its way: it starts next"));
        }
        _ => {}
    }
    reasons
}

/// Runs as those who hold a place.
pub(super) fn holders<'a>(runs: impl Iterator<Item = &'a ActiveRun>) -> Vec<Holder> {
    let holder = |run: &ActiveRun| Holder {
        what: format!("run '{}'", run.run_id),
        state: run.state.to_string(),
        since: run.started_at.or(run.queued_at),
    };
    runs.map(holder).collect()
}

/// Why schedulers do not look at it, whatever else there is to say.
fn not_due(run: &RunSituation<'_>, now: Timestamp) -> Option<Reason> {
    let at = run.run_after;
    if run.is_due {
        return None;
    }
    Some(if at > now {
        Reason::new(Kind::NotDue, "no scheduler looks at it before its run_after").until(Some(at))
    } else {
        let text = format!(
            "its run_after, {at}, is stored in a form that the database takes for later than now: no scheduler looks at it"
        );
        Reason::new(Kind::NotDue, text)
    })
}

fn is_running(run: &RunSituation<'_>) -> Reason {
    let examined = match (&run.examined_by, run.examined_at) {
        (Some(scheduler), at) => {
            let is_dead = if scheduler.is_alive { "" } else { ", which does not live any more," };
            let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
            format!("{}{is_dead} looked at it{at}", scheduler.in_words("scheduler"))
        }
        (None, Some(at)) => format!("it was looked at at {at}"),
        (None, None) => "no scheduler has looked at it yet".to_owned(),
    };
    let (unfinished, are) = (run.unfinished, if run.unfinished == 1 { "is" } else { "are" });
    let text =
        format!("it is running, and {unfinished} of its task instances {are} not finished; {examined}");
    Reason::new(Kind::Running, text).since(run.started_at)
}

/// What the decision about queued runs says of this one.
fn verdict(run: &RunSituation<'_>, now: Timestamp) -> Option<Verdict> {
    let dag_id = run.dag.dag_id;
    let queued: Vec<QueuedRun<'_>> = of_state(run, RunState::Queued)
        .map(|queued| QueuedRun {
            dag_id,
            run_id: &queued.run_id,
            backfill_id: queued.backfill_id,
            sort_ordinal: queued.sort_ordinal,
            run_after: queued.run_after,
            has_definition: run.dag.no_definition.is_none(),
        })
        .collect();
    let running: Vec<Running<'_>> = of_state(run, RunState::Running)
        .map(|running| Running {
            dag_id,
            backfill_id: running.backfill_id,
            count: 1,
            last_started: running.started_at,
        })
        .collect();
    let DagSituation { is_paused, is_stale, max_active_runs, .. } = *run.dag;
    let dags = [DagFacts { dag_id, is_paused, is_stale, max_active_runs }];
    let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: run.backfills, running: &running };
    let decisions = start::decide(&snapshot, now, usize::MAX);
    decisions.into_iter().find(|decision| decision.run_id == run.run_id).map(|decision| decision.verdict)
}

fn of_state<'a>(run: &RunSituation<'a>, state: RunState) -> impl Iterator<Item = &'a ActiveRun> {
    run.dag.active.iter().filter(move |other| other.state == state)
}

fn not_started(run: &RunSituation<'_>, refusal: NotStarted) -> Reason {
    let kind = match refusal {
        NotStarted::UnknownDag | NotStarted::NoDefinition => Kind::NoDefinition,
        NotStarted::DagPaused => Kind::Paused,
        NotStarted::DagStale => Kind::Stale,
        NotStarted::NotBefore(_) => Kind::NotDue,
        NotStarted::UnknownBackfill(_) | NotStarted::BackfillPaused(_) | NotStarted::BackfillCancelled(_) => {
            Kind::Backfill
        }
        NotStarted::NeverStarts { .. } | NotStarted::AtMaxActiveRuns { .. } => Kind::MaxActiveRuns,
    };
    let until = if let NotStarted::NotBefore(at) = refusal { Some(at) } else { None };
    let reason = Reason::new(kind, refusal.to_string()).until(until);
    if !matches!(refusal, NotStarted::AtMaxActiveRuns { .. }) {
        return reason;
    }
    let own = run.dag.active.iter().find(|other| other.run_id == run.run_id).and_then(|own| own.backfill_id);
    reason.held_by(holders(of_state(run, RunState::Running).filter(|other| other.backfill_id == own)))
}
