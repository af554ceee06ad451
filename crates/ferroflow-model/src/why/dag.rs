//! Why a DAG gets no run.

use jiff::Timestamp;

use super::reason::{Component, Holder, Kind, Reason, without_scheduler};
use super::run::{ActiveRun, holders};
use crate::runs::create::NotCreated;

/// How a DAG stands.
#[derive(Clone, Debug)]
pub struct DagSituation<'a> {
    /// Its name.
    pub dag_id: &'a str,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether its file is gone.
    pub is_stale: bool,
    /// What is wrong with its file.
    pub import_failure: Option<ImportFailure>,
    /// Why what is stored of it cannot be used, if so.
    pub no_definition: Option<String>,
    /// How many of its runs may be active.
    pub max_active_runs: Option<i32>,
    /// Its runs that have not ended.
    pub active: &'a [ActiveRun],
    /// What makes its runs.
    pub schedule: Schedule,
    /// Who is asked before a run is made, if that is user code.
    pub user_code: Option<String>,
    /// The schedulers.
    pub schedulers: &'a [Component],
}

/// A file that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFailure {
    /// The file.
    pub file: String,
    /// The last line of what Python says.
    pub message: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// What makes the runs of a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Only a user who asks for one.
    None,
    /// A timetable, which has no further run.
    Over,
    /// A timetable: from then on there is a run.
    At(Timestamp),
    /// A timetable whose run is due, of which the row of the DAG lacks this part.
    Incomplete(&'static str),
    /// Assets, of which some are missing.
    Assets {
        /// What is missing, in words.
        missing: String,
        /// How many it waits for.
        of: usize,
        /// Those that have changed.
        arrived: Vec<Holder>,
    },
    /// Assets, which are all there since then.
    AssetsThere(Timestamp),
}

/// Why a DAG gets no run, all reasons at once; the last one says when it would.
pub fn of_dag(dag: &DagSituation<'_>, now: Timestamp) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = without_scheduler(dag.schedulers).into_iter().collect();
    reasons.extend(of_the_dag_itself(dag));
    if let Some(failure) = &dag.import_failure {
        let text = format!("{}: {}: {}", NotCreated::ImportErrors, failure.file, failure.message);
        reasons.push(Reason::new(Kind::ImportError, text).since(failure.since));
    }
    let due = match &dag.schedule {
        Schedule::None => {
            reasons.push(Reason::new(Kind::NoSchedule, "it has no schedule: runs are only triggered"));
            return reasons;
        }
        Schedule::Over => {
            reasons.push(Reason::new(Kind::NoSchedule, "its schedule has no further run"));
            return reasons;
        }
        Schedule::Incomplete(part) => {
            reasons.push(Reason::new(Kind::NoSchedule, NotCreated::Incomplete(part).to_string()));
            return reasons;
        }
        Schedule::Assets { missing, of, arrived } => {
            let text = format!("{} of {of} assets have changed; it waits for {missing}", arrived.len());
            reasons.push(Reason::new(Kind::Assets, text).held_by(arrived.clone()));
            return reasons;
        }
        Schedule::At(due) if *due > now => {
            reasons.push(Reason::new(Kind::NotDue, "its next run is not due yet").until(Some(*due)));
            return reasons;
        }
        Schedule::At(due) | Schedule::AssetsThere(due) => *due,
    };
    reasons.extend(at_max_active_runs(dag));
    if reasons.is_empty() {
        let text = match &dag.user_code {
            None => "its next run is due, and made next".to_owned(),
            Some(who) => format!(
                "its next run is due, and made once Python has answered ({who}); the scheduler's log says if it fails"
            ),
        };
        reasons.push(Reason::new(Kind::Next, text).since(Some(due)));
    }
    reasons
}

/// What keeps everything of a DAG from running.
pub(super) fn of_the_dag_itself(dag: &DagSituation<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if dag.is_paused {
        let text = format!("{}: no new run or task starts until it is unpaused", NotCreated::Paused);
        reasons.push(Reason::new(Kind::Paused, text));
    }
    if dag.is_stale {
        reasons.push(Reason::new(Kind::Stale, NotCreated::Stale.to_string()));
    }
    if let Some(problem) = &dag.no_definition {
        reasons.push(Reason::new(Kind::NoDefinition, problem));
    }
    reasons
}

fn at_max_active_runs(dag: &DagSituation<'_>) -> Option<Reason> {
    let limit = u32::try_from(dag.max_active_runs.unwrap_or(0)).unwrap_or(0);
    let counted: Vec<&ActiveRun> = dag.active.iter().filter(|run| run.backfill_id.is_none()).collect();
    let active = u32::try_from(counted.len()).unwrap_or(u32::MAX);
    (active >= limit).then(|| {
        let text = NotCreated::AtMaxActiveRuns { active, limit }.to_string();
        Reason::new(Kind::MaxActiveRuns, text).held_by(holders(counted.into_iter()))
    })
}
