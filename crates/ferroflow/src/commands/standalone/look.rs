//! Asks the database what goes on, in one small transaction.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ferroflow_config::Settings;
use ferroflow_db::monitoring::live_view::{self, AtWork, RunStanding, StateCount};
use ferroflow_db::task_instance::lookup::Filter;
use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag_run, import_error};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_scheduler::LogPaths;
use jiff::Timestamp;

use super::snapshot::{SeenRun, SeenTask, Snapshot};

/// Bounds of what is read at a time, however much there is.
const MAX_RUNS: u32 = 50;
const MAX_TASKS: u32 = 500;
const MAX_UPCOMING: u32 = 3;
const MAX_BROKEN: i64 = 50;
const MAX_FAILED: usize = 3;

/// Looks, and remembers which runs to follow.
pub(super) struct Looker {
    /// Runs after this one are new.
    newest: i64,
    /// Runs that had not ended at the last look.
    followed: BTreeSet<i64>,
    good: usize,
    bad: usize,
    paths: LogPaths,
    log_folder: PathBuf,
}

/// The rows behind a snapshot.
struct Rows {
    runs: Vec<RunStanding>,
    newest: i64,
    at_work: Vec<AtWork>,
    counts: Vec<StateCount>,
    failures: Vec<Failures>,
    upcoming: Vec<(String, Timestamp)>,
    dags: i64,
    paused: Vec<String>,
    broken: Vec<(String, String)>,
}

/// What failed in a run.
struct Failures {
    run: i64,
    names: Vec<String>,
    /// The log of the first.
    log: Option<String>,
}

impl Looker {
    /// What has ended before is not told.
    pub(super) async fn start(db: &Db, settings: &Settings) -> anyhow::Result<Self> {
        let newest = db.read(|tx| live_view::newest_run(tx).scope_boxed()).await?;
        let paths = LogPaths::new(&settings.logging.log_filename_template)?;
        let log_folder = settings.logging.base_log_folder.clone();
        Ok(Self { newest, followed: BTreeSet::new(), good: 0, bad: 0, paths, log_folder })
    }

    /// How many runs have ended well and badly since the start.
    pub(super) fn ended(&self) -> (usize, usize) {
        (self.good, self.bad)
    }

    /// What goes on. Each end of a run is seen in one snapshot.
    pub(super) async fn look(&mut self, db: &Db, now: Timestamp) -> Result<Snapshot, Error> {
        let this = &*self;
        let rows = db.read(|tx| this.read(tx).scope_boxed()).await?;
        self.newest = rows.newest;
        for run in &rows.runs {
            if run.state.is_finished() {
                self.followed.remove(&run.id);
                *(if run.state == RunState::Failed { &mut self.bad } else { &mut self.good }) += 1;
            } else {
                self.followed.insert(run.id);
            }
        }
        // One that was deleted does not come back.
        self.followed.retain(|id| rows.runs.iter().any(|run| run.id == *id));
        Ok(snapshot(rows, now))
    }

    async fn read(&self, tx: &mut Tx) -> Result<Rows, Error> {
        let followed: Vec<i64> = self.followed.iter().copied().collect();
        let limit = MAX_RUNS.saturating_add(u32::try_from(followed.len()).unwrap_or(u32::MAX));
        let mut runs = live_view::followed(tx, self.newest, &followed, limit).await?;
        let newest = runs.last().map_or(self.newest, |run| run.id.max(self.newest));
        for run in live_view::unfinished(tx, MAX_RUNS).await? {
            if !runs.iter().any(|other| other.id == run.id) {
                runs.push(run);
            }
        }
        runs.sort_by_key(|run| run.id);
        let mut failures = Vec::new();
        for run in runs.iter().filter(|run| run.state == RunState::Failed) {
            failures.push(self.failures(tx, run).await?);
        }
        let counted: Vec<&RunStanding> = runs.iter().collect();
        let broken: i64 = import_error::count_by_bundle(tx).await?.iter().map(|(_, count)| count).sum();
        Ok(Rows {
            at_work: live_view::at_work(tx, MAX_TASKS).await?,
            counts: live_view::count_by_state(tx, &counted).await?,
            failures,
            upcoming: live_view::upcoming(tx, MAX_UPCOMING).await?,
            dags: live_view::count_dags(tx).await?,
            paused: live_view::paused(tx).await?,
            broken: if (1..=MAX_BROKEN).contains(&broken) { broken_files(tx).await? } else { Vec::new() },
            runs,
            newest,
        })
    }

    async fn failures(&self, tx: &mut Tx, run: &RunStanding) -> Result<Failures, Error> {
        let filter =
            Filter { dag_id: run.dag_id.clone(), run_ids: vec![run.run_id.clone()], ..Filter::default() };
        let mut failed = task_instance::lookup::states(tx, &filter).await?;
        failed.retain(|one| one.state.as_deref() == Some(TaskState::Failed.as_str()));
        failed.sort_by(|one, other| (&one.task_id, one.map_index).cmp(&(&other.task_id, other.map_index)));
        failed.truncate(MAX_FAILED);
        let log = match failed.first() {
            Some(first) => {
                let key = TaskInstanceKey {
                    dag_id: run.dag_id.clone(),
                    run_id: run.run_id.clone(),
                    task_id: first.task_id.clone(),
                    map_index: first.map_index,
                };
                self.log(tx, &key).await?
            }
            None => None,
        };
        let names = failed.iter().map(|one| name(&one.task_id, one.map_index)).collect();
        Ok(Failures { run: run.id, names, log })
    }

    /// Where the log of the last try is.
    async fn log(&self, tx: &mut Tx, key: &TaskInstanceKey) -> Result<Option<String>, Error> {
        let Some(id) = task_instance::current_id(tx, key).await? else { return Ok(None) };
        let instance = task_instance::find(tx, id).await?;
        let run = dag_run::find(tx, &key.dag_id, &key.run_id).await?;
        let path = run.zip(instance).and_then(|(run, instance)| self.paths.path(&run, &instance).ok());
        Ok(path.map(|path| self.log_folder.join(path).display().to_string()))
    }
}

/// The files, with the last line of what Python says of each.
async fn broken_files(tx: &mut Tx) -> Result<Vec<(String, String)>, Error> {
    let errors = import_error::list(tx).await?;
    let file = |error: import_error::ImportErrorRow| {
        let problem = error.stacktrace.unwrap_or_default();
        let last = problem.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        (error.filename.unwrap_or_default(), last.trim().to_owned())
    };
    Ok(errors.into_iter().map(file).collect())
}

fn snapshot(rows: Rows, now: Timestamp) -> Snapshot {
    let Rows { runs, at_work, counts, mut failures, upcoming, dags, paused, broken, newest: _ } = rows;
    let seen = |run: RunStanding| {
        let failed = failures.iter().position(|failed| failed.run == run.id);
        let failed = failed.map(|at| failures.swap_remove(at));
        let is_of = |dag_id: &str, run_id: &str| run.dag_id == dag_id && run.run_id == run_id;
        SeenRun {
            counts: counts
                .iter()
                .filter(|count| is_of(&count.dag_id, &count.run_id))
                .map(|count| (count.state, usize::try_from(count.total).unwrap_or_default()))
                .collect(),
            at_work: at_work.iter().filter(|one| is_of(&one.key.dag_id, &one.key.run_id)).map(task).collect(),
            log: failed.as_ref().and_then(|failed| failed.log.clone()),
            failed: failed.map(|failed| failed.names).unwrap_or_default(),
            id: run.id,
            state: run.state,
            start: run.start_date,
            end: run.end_date,
            dag_id: run.dag_id,
            run_id: run.run_id,
        }
    };
    Snapshot {
        now,
        runs: runs.into_iter().map(seen).collect(),
        running_tasks: at_work.iter().filter(|one| one.state != TaskState::Queued).count(),
        upcoming,
        dags: usize::try_from(dags).unwrap_or_default(),
        paused,
        broken,
    }
}

fn task(one: &AtWork) -> SeenTask {
    SeenTask {
        name: name(&one.key.task_id, one.key.map_index),
        state: one.state,
        try_number: one.try_number,
        start: one.start_date,
    }
}

/// `task` or `task[3]`
fn name(task_id: &str, map_index: i32) -> String {
    if map_index == NOT_MAPPED { task_id.to_owned() } else { format!("{task_id}[{map_index}]") }
}
