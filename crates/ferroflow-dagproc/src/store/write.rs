//! The transaction that stores a file: gather, decide, apply.

use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Error, Tx, dag, dag_run, dag_version};
use jiff::Timestamp;

use super::prepare::{PreparedDag, RefusedDag};
use super::rows::{Schedule, parsed_columns, schedule, write_labels};
use super::timetables::{Answers, TimetableFailure};
use super::{FileResult, StoreSettings, Stored, StoredDag, assets, errors, versions, warnings};
use ferroflow_model::stored_assets::DagAssets;
use ferroflow_model::stored_dag::VersionChange;

/// What is stored.
#[derive(Clone)]
pub(super) struct Job<'a> {
    pub(super) file: &'a FileResult,
    /// By their ids.
    pub(super) dags: Vec<&'a PreparedDag>,
    pub(super) refused: Vec<RefusedDag>,
    /// Those of which something stored cannot be read.
    pub(super) unreadable: Vec<RefusedDag>,
    /// Those whose rows cannot be written, and are left alone.
    pub(super) kept_back: Vec<RefusedDag>,
    /// Whether DAGs are taken out of service that an import error is about: rows of them may be in the way.
    pub(super) takes_out_of_service: bool,
    pub(super) answers: &'a Answers,
    pub(super) settings: &'a StoreSettings,
    pub(super) now: Timestamp,
}

/// What became of it.
pub(super) enum Written {
    Stored(Stored),
    /// Nothing was written: Python was asked what follows a run that is not the latest any more.
    RunWasMade {
        dag_id: String,
    },
}

impl Job<'_> {
    pub(super) fn dag_ids(&self) -> Vec<String> {
        self.dags.iter().map(|dag| dag.id().to_owned()).collect()
    }
}

/// Writes all rows of a file.
pub(super) async fn write(tx: &mut Tx, job: &Job<'_>) -> Result<Written, Error> {
    let dag_ids = job.dag_ids();
    let existing = if dag_ids.is_empty() { Vec::new() } else { dag::lock(tx, &dag_ids).await? };
    let schedules = match gather_schedules(tx, job).await? {
        Ok(schedules) => schedules,
        Err(dag_id) => return Ok(Written::RunWasMade { dag_id }),
    };
    let refused = job.refused.iter().chain(&job.unreadable).chain(&job.kept_back).cloned().collect();
    let kept_back: Vec<String> = job.kept_back.iter().filter_map(|dag| dag.dag_id.clone()).collect();
    let mut stored = Stored { refused, kept_back: kept_back.clone(), ..Stored::default() };
    if !dag_ids.is_empty() {
        write_dags(tx, job, &existing, &schedules).await?;
        write_labels(tx, job, &dag_ids).await?;
        let used: Vec<DagAssets<'_>> = job
            .dags
            .iter()
            .zip(&schedules)
            .map(|(dag, schedule)| DagAssets { condition: schedule.assets, ..DagAssets::of(&dag.parsed.dag) })
            .collect();
        let asset_settings = assets::Settings {
            fernet: &job.settings.fernet,
            team_of_bundle: job.settings.multi_team.then_some(job.file.bundle_name.as_str()),
        };
        assets::sync(tx, &used, &asset_settings, job.now).await?;
        let latest = dag_version::latest_of(tx, &dag_ids).await?;
        for dag in &job.dags {
            let latest = latest.iter().find(|version| version.dag_id == dag.id());
            let is_new = !existing.iter().any(|id| id == dag.id());
            stored.dags.push(versions::write(tx, job, dag, latest, is_new).await?);
        }
    }
    stored.timetable_failures = timetable_failures(job);
    let unreadable: Vec<String> = job.unreadable.iter().filter_map(|dag| dag.dag_id.clone()).collect();
    if !unreadable.is_empty() {
        // The file has them, or they would be taken for gone.
        dag::set_found(tx, &unreadable, job.now).await?;
    }
    let delivered = [dag_ids.clone(), unreadable, kept_back].concat();
    stored.import_errors = errors::write_all(tx, job, &stored.timetable_failures, &delivered).await?;
    if !dag_ids.is_empty() {
        warnings::write(tx, job, &dag_ids).await?;
    }
    let is_as_it_was = |dag: &StoredDag| !dag.is_new && dag.change == VersionChange::Unchanged;
    if !stored.dags.iter().all(is_as_it_was) {
        notifications::notify(tx, Notification::Dags).await?;
    }
    Ok(Written::Stored(stored))
}

/// The schedule of each DAG, or the DAG whose latest run is not the one that Python was asked about.
async fn gather_schedules<'a>(
    tx: &mut Tx,
    job: &Job<'a>,
) -> Result<Result<Vec<Schedule<'a>>, String>, Error> {
    let mut schedules: Vec<Schedule<'a>> = Vec::with_capacity(job.dags.len());
    let mut schedulable = Vec::new();
    for dag in &job.dags {
        let answer = job.answers.get(dag.id());
        let mut schedule = schedule(dag, answer);
        if schedule.columns.can_be_scheduled {
            schedule.latest = dag_run::latest_automated(tx, dag.id(), schedule.columns.partitioned).await?;
            schedulable.push(dag.id().to_owned());
        }
        if let Some(answer) = answer
            && answer.failure().is_none()
            && schedule.latest != answer.asked_after
        {
            return Ok(Err(dag.id().to_owned()));
        }
        schedules.push(schedule);
    }
    if !schedulable.is_empty() {
        let active = dag_run::count_active(tx, &schedulable).await?;
        for (dag, schedule) in job.dags.iter().zip(&mut schedules) {
            schedule.active_runs = active.get(dag.id()).copied().unwrap_or(0);
        }
    }
    Ok(Ok(schedules))
}

async fn write_dags(
    tx: &mut Tx,
    job: &Job<'_>,
    existing: &[String],
    schedules: &[Schedule<'_>],
) -> Result<(), Error> {
    for (dag, schedule) in job.dags.iter().zip(schedules) {
        if !existing.iter().any(|id| id == dag.id()) {
            let paused = dag.parsed.dag.is_paused_upon_creation;
            let paused = paused.unwrap_or(job.settings.dags_are_paused_at_creation);
            dag::insert_if_missing(tx, dag.id(), &job.file.bundle_name, paused).await?;
        }
        dag::update_parsed(tx, &parsed_columns(job, dag, schedule), job.now).await?;
    }
    Ok(())
}

fn timetable_failures(job: &Job<'_>) -> Vec<TimetableFailure> {
    let failure = |dag_id: &str| {
        let reason = job.answers.get(dag_id)?.failure()?.to_owned();
        Some(TimetableFailure { dag_id: dag_id.to_owned(), reason })
    };
    job.dags.iter().filter_map(|dag| failure(dag.id())).collect()
}
