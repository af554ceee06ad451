//! Why a DAG gets no run, a run does not start, or a task does not run: reads, and asks the model.
//!
//! Writes nothing, so that it can be asked at any time, wherever the database can be reached. Of one run that is asked about
//! the next step is tried, and undone at once: whether the database takes it only the database knows.

mod dag;
mod instances;
mod obstacle;
mod surroundings;

use ferroflow_config::{Settings, nearest};
use ferroflow_db::dag::Dag as DagRow;
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::task_instance::blockers::{self, UnfinishedRun};
use ferroflow_db::{BadRow, Db, Error as DbError, ScopedFutureExt as _, Tx, backfill};
use ferroflow_model::runs::start::BackfillFacts;
use ferroflow_model::state::RunState;
use ferroflow_model::why::{
    self, ActiveRun as UnfinishedSituation, DagSituation, Kind, Reason, RunSituation,
};
use jiff::Timestamp;

use crate::Error;
use surroundings::Surroundings;

/// How many runs of a DAG are told of, if no run is asked about.
const MAX_RUNS: usize = 20;

/// Among how many runs near names are looked for.
const NEAR_RUNS: i64 = 1000;

/// What is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The DAG.
    pub dag_id: &'a str,
    /// One of its runs.
    pub run_id: Option<&'a str>,
    /// One of the tasks of the run.
    pub task_id: Option<&'a str>,
}

/// The answer: about one thing, and about its parts.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What this is about.
    pub subject: String,
    /// Where it stands.
    pub state: String,
    /// Why.
    pub reasons: Vec<Reason>,
    /// Its parts that are not finished: the runs of a DAG, the task instances of a run.
    pub parts: Vec<Answer>,
    /// How many more parts there are.
    pub left_out: usize,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The database has no such DAG.
    #[error("DAG {0:?} is not in the database")]
    NoDag(String),
    /// The DAG has no such run.
    #[error("DAG {dag_id:?} has no run {run_id:?}{}", did_you_mean(near))]
    NoRun {
        /// The DAG.
        dag_id: String,
        /// The run.
        run_id: String,
        /// Runs with names like that.
        near: Vec<String>,
    },
    /// The run has no such task.
    #[error("run {run_id:?} of DAG {dag_id:?} has no task {task_id:?}{}", did_you_mean(near))]
    NoTask {
        /// The DAG.
        dag_id: String,
        /// The run.
        run_id: String,
        /// The task.
        task_id: String,
        /// Tasks with names like that.
        near: Vec<String>,
    },
    /// It could not be read.
    #[error(transparent)]
    Unreadable(#[from] Error),
}

/// Answers, in one look at the database.
pub async fn why(db: &Db, settings: &Settings, asked: Asked<'_>, now: Timestamp) -> Result<Answer, NoAnswer> {
    let read = db.read(|tx| {
        async move {
            match answer(tx, settings, asked, now).await {
                Err(NoAnswer::Unreadable(Error::Db(error))) => Err(error),
                other => Ok(other),
            }
        }
        .scope_boxed()
    });
    let mut answer = match read.await {
        // Nothing more can be told of it.
        Err(DbError::Column(bad)) => unreadable(asked, &bad),
        other => other.map_err(Error::from)??,
    };
    let left_out = db.unreadable().take().into_iter();
    answer.reasons.extend(left_out.map(|bad| Reason::new(Kind::UnreadableRow, bad.to_string())));
    if let Some(run_id) = asked.run_id {
        let run = (asked.dag_id, run_id);
        if answer.state == RunState::Running.as_str() {
            answer.reasons.extend(obstacle::of_running(db, settings, run, now).await);
        } else if answer.state == RunState::Queued.as_str() {
            answer.reasons.extend(obstacle::of_queued(db, run, now).await);
        }
    } else {
        answer.reasons.extend(obstacle::of_dag(db, settings, asked.dag_id, now).await);
    }
    Ok(answer)
}

/// The answer about what cannot be read.
fn unreadable(asked: Asked<'_>, bad: &BadRow) -> Answer {
    let of_dag = format!("DAG '{}'", asked.dag_id);
    Answer {
        subject: asked.run_id.map_or(of_dag.clone(), |run_id| format!("run '{run_id}' of {of_dag}")),
        state: "unknown".to_owned(),
        reasons: vec![Reason::new(Kind::UnreadableRow, bad.to_string())],
        parts: Vec::new(),
        left_out: 0,
    }
}

async fn answer(
    tx: &mut Tx,
    settings: &Settings,
    asked: Asked<'_>,
    now: Timestamp,
) -> Result<Answer, NoAnswer> {
    let dag_id = asked.dag_id;
    let row = ferroflow_db::dag::find(tx, dag_id).await.map_err(Error::from)?;
    let row = row.ok_or_else(|| NoAnswer::NoDag(dag_id.to_owned()))?;
    let around = Surroundings::load(tx, settings, now).await.map_err(Error::from)?;
    let unfinished = blockers::unfinished_runs(tx, dag_id).await.map_err(Error::from)?;
    let active: Vec<UnfinishedSituation> = unfinished.iter().map(unfinished_situation).collect();
    let backfills = backfills(tx, &unfinished).await.map_err(Error::from)?;
    let of_dag = dag::situation(tx, &row, &active, &around).await?;
    let view = View { settings, around: &around, row: &row, dag: &of_dag, backfills: &backfills, now };
    let Some(run_id) = asked.run_id else {
        let mut parts = Vec::new();
        for run in unfinished.iter().take(MAX_RUNS) {
            let found = dag_run::find(tx, dag_id, &run.run_id).await.map_err(Error::from)?;
            if let Some(run) = found {
                parts.push(view.run(tx, &run, None).await?.0);
            }
        }
        // Each of them has an answer of its own.
        for part in &mut parts {
            let of_tasks = std::mem::take(&mut part.parts).into_iter().flat_map(|task| task.reasons);
            // What no time mends is told here, too.
            for reason in of_tasks.filter(|reason| reason.kind == Kind::NoPool) {
                if !part.reasons.iter().any(|known| known.text == reason.text) {
                    part.reasons.push(reason);
                }
            }
            part.left_out = 0;
        }
        return Ok(Answer {
            subject: format!("DAG '{dag_id}'"),
            state: dag_state(&row).to_owned(),
            reasons: why::of_dag(&of_dag, now),
            left_out: unfinished.len().saturating_sub(MAX_RUNS),
            parts,
        });
    };
    let Some(run) = dag_run::find(tx, dag_id, run_id).await.map_err(Error::from)? else {
        let names = blockers::newest_runs(tx, dag_id, NEAR_RUNS).await.map_err(Error::from)?;
        let near = near(run_id, names.iter().map(String::as_str));
        return Err(NoAnswer::NoRun { dag_id: dag_id.to_owned(), run_id: run_id.to_owned(), near });
    };
    let (answer, tasks) = view.run(tx, &run, asked.task_id).await?;
    match asked.task_id {
        Some(task_id) if answer.parts.is_empty() => Err(NoAnswer::NoTask {
            dag_id: dag_id.to_owned(),
            run_id: run_id.to_owned(),
            task_id: task_id.to_owned(),
            near: near(task_id, tasks.iter().map(String::as_str)),
        }),
        _ => Ok(answer),
    }
}

/// All that an answer about a run depends on.
struct View<'a> {
    settings: &'a Settings,
    around: &'a Surroundings,
    row: &'a DagRow,
    dag: &'a DagSituation<'a>,
    backfills: &'a [BackfillFacts],
    now: Timestamp,
}

impl View<'_> {
    /// The answer about a run, and the names of its tasks.
    async fn run(
        &self,
        tx: &mut Tx,
        run: &DagRun,
        task_id: Option<&str>,
    ) -> Result<(Answer, Vec<String>), Error> {
        let examined_by = match run.scheduled_by_job_id {
            Some(id) => self.around.scheduler(tx, id, self.now).await?,
            None => None,
        };
        let mut situation = RunSituation {
            dag: self.dag,
            run_id: &run.run_id,
            state: run.state,
            run_after: run.run_after,
            is_due: dag_run::lookup::is_due(tx, &run.dag_id, &run.run_id, self.now).await?,
            started_at: run.start_date,
            ended_at: run.end_date,
            examined_at: run.last_scheduling_decision,
            examined_by,
            unfinished: 0,
            backfills: self.backfills,
        };
        let found = instances::answers(tx, self, &mut situation, run, task_id).await?;
        let answer = Answer {
            subject: format!("run '{}' of DAG '{}'", run.run_id, run.dag_id),
            state: run.state.to_string(),
            reasons: why::of_run(&situation, self.now),
            parts: found.parts,
            left_out: found.left_out,
        };
        Ok((answer, found.tasks))
    }
}

async fn backfills(tx: &mut Tx, runs: &[UnfinishedRun]) -> Result<Vec<BackfillFacts>, DbError> {
    let mut ids: Vec<i32> = runs.iter().filter_map(|run| run.backfill_id).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(backfill::find(tx, &ids).await?.iter().map(crate::start_runs::backfill_facts).collect())
}

fn unfinished_situation(run: &UnfinishedRun) -> UnfinishedSituation {
    UnfinishedSituation {
        run_id: run.run_id.clone(),
        state: run.state,
        backfill_id: run.backfill_id,
        sort_ordinal: run.sort_ordinal,
        run_after: run.run_after,
        queued_at: run.queued_at,
        started_at: run.start_date.filter(|_| run.state == RunState::Running),
    }
}

fn dag_state(row: &DagRow) -> &'static str {
    match (row.is_stale, row.is_paused) {
        (true, _) => "stale",
        (_, true) => "paused",
        _ => "active",
    }
}

fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    nearest(wanted, names.collect()).map(str::to_owned).collect()
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}
