//! `ferroflow tasks test`

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_db::{ScopedFutureExt as _, dag_run};
use ferroflow_executor::{EventKind, Executor, ExecutorEvents, LocalExecutor, Workload};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::readiness::InstanceRef;
use ferroflow_model::state::{TaskState, TriggeredBy};
use ferroflow_scheduler::manual_run::{ManualRun, make};
use ferroflow_scheduler::run::{ActiveRun, Definition};
use ferroflow_scheduler::single::queue_one;
use ferroflow_scheduler::{DagFile, workload};
use ferroflow_telemetry::clock;
use serde_json::Value;

use crate::commands::ReportedFailure;
use crate::commands::dags::bundles::BundleArgs;
use crate::commands::dags::test::object;
use crate::commands::foreground::{Stage, Wanted, logical_date, on_stage, store, tell_waiting};
use crate::output::note;
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// The DAG
    dag_id: String,
    /// The task
    task_id: String,
    /// The run, by its name or its logical date; one is made if there is none
    logical_date_or_run_id: Option<String>,
    /// Which of the instances of a mapped task
    #[arg(long, default_value_t = NOT_MAPPED, allow_negative_numbers = true, value_name = "NUMBER")]
    map_index: i32,
    /// Params for the task: a JSON object. Only for a run that is made: they are what it is given
    #[arg(short, long, value_name = "JSON")]
    task_params: Option<String>,
    /// Environment variables for the DAG file and the task: a JSON object
    #[arg(long, value_name = "JSON")]
    env_vars: Option<String>,
    #[command(flatten)]
    bundles: BundleArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

/// How often a task that waits elsewhere is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn run(args: &TestArgs, session: &Session, _: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    let variables = variables(args.env_vars.as_deref())?;
    let state = on_stage(session, variables, async |stage| test(args, session, stage).await)?;
    let word = state.map_or("none", TaskState::as_str);
    note(&format!("task {}: {word}", args.task_id))?;
    match state {
        Some(TaskState::Success | TaskState::Skipped) => Ok(()),
        _ => Err(ReportedFailure.into()),
    }
}

async fn test(args: &TestArgs, session: &Session, stage: &Stage<'_>) -> Result<Option<TaskState>> {
    let wanted = Wanted { dag_id: &args.dag_id, bundles: &args.bundles.bundle_name, file: None };
    tokio::select! {
        stored = store(stage, &wanted) => stored?,
        () = stage.stop.cancelled() => bail!("interrupted"),
    }
    let definition = stage.definition(&args.dag_id).await?;
    check(args, &definition)?;
    let (run_id, is_made) = find_or_make(args, session, stage, &definition).await?;
    let mut run = stage.load(&args.dag_id, &run_id).await?;
    let (executor, mut events) = stage.executor()?;
    let outcome = Box::pin(to_its_end(args, stage, &mut run, (&executor, &mut events))).await;
    executor.shut_down().await;
    if is_made {
        let id = run.row.id;
        stage.db.transact(|tx| async move { dag_run::delete(tx, id).await }.scope_boxed()).await?;
    }
    outcome
}

/// Runs the task, again and again where it waits for a trigger in between.
async fn to_its_end(
    args: &TestArgs,
    stage: &Stage<'_>,
    run: &mut ActiveRun,
    (executor, events): (&LocalExecutor, &mut ExecutorEvents),
) -> Result<Option<TaskState>> {
    let (task_id, map_index) = (args.task_id.as_str(), args.map_index);
    loop {
        let queued = queue_one(stage.db, &stage.run_settings, run, task_id, map_index, clock::now()).await?;
        let row = queued.ok_or_else(|| anyhow!("task {task_id:?} could not be queued"))?;
        let file = DagFile::from(&*run.definition);
        let workload = workload(&run.row, file, &row, &stage.paths)?;
        executor.submit(vec![Workload::ExecuteTask(workload)]);
        let reference = run.find(task_id, map_index).ok_or_else(|| anyhow!("task {task_id:?} is gone"))?;
        wait_for_end(stage, executor, events).await?;
        run.refresh(stage.db, &stage.run_settings, &[reference], clock::now()).await?;
        let reached = state(run, reference);
        match reached {
            Some(TaskState::Deferred | TaskState::AwaitingInput) => {
                tell_waiting(task_id, reached);
                if !wait_elsewhere(stage, run, reference).await? {
                    return Ok(reached);
                }
            }
            _ => return Ok(reached),
        }
    }
}

/// Waits until the process has ended. Ctrl-C ends it.
async fn wait_for_end(
    stage: &Stage<'_>,
    executor: &LocalExecutor,
    events: &mut ExecutorEvents,
) -> Result<()> {
    loop {
        tokio::select! {
            event = events.next() => match event.kind {
                EventKind::StateSet(_) | EventKind::Waits | EventKind::SlotFree => {}
                EventKind::Ended => return Ok(()),
                EventKind::NotStarted(reason) => bail!("the task could not be started: {reason}"),
            },
            () = stage.stop.cancelled() => {
                executor.shut_down().await;
                bail!("interrupted");
            }
        }
    }
}

/// Waits until somebody else has brought the task back; false if it has ended meanwhile.
async fn wait_elsewhere(stage: &Stage<'_>, run: &mut ActiveRun, reference: InstanceRef) -> Result<bool> {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            () = stage.stop.cancelled() => bail!("interrupted"),
        }
        run.refresh(stage.db, &stage.run_settings, &[reference], clock::now()).await?;
        match state(run, reference) {
            Some(TaskState::Deferred | TaskState::AwaitingInput) => {}
            Some(TaskState::Scheduled) => return Ok(true),
            _ => return Ok(false),
        }
    }
}

fn state(run: &ActiveRun, reference: InstanceRef) -> Option<TaskState> {
    run.seen(reference).and_then(|seen| seen.state)
}

/// A mapped task is run by one of its indexes, another one without.
fn check(args: &TestArgs, definition: &Definition) -> Result<()> {
    let dag = definition.dag();
    let Some(task) = dag.find(&args.task_id) else {
        let names = dag.tasks().iter().map(|task| &*task.task_id).collect();
        let near: Vec<&str> = ferroflow_config::nearest(&args.task_id, names).collect();
        let help =
            if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        bail!("DAG {:?} has no task {:?}{help}", args.dag_id, args.task_id);
    };
    match (dag.needs_expansion(task), args.map_index >= 0) {
        (true, false) => {
            bail!("task {:?} is mapped: choose one of its instances with --map-index", args.task_id)
        }
        (false, true) => bail!("task {:?} is not mapped: leave --map-index out", args.task_id),
        _ => Ok(()),
    }
}

/// The run that is asked for, and whether it was made for this.
async fn find_or_make(
    args: &TestArgs,
    session: &Session,
    stage: &Stage<'_>,
    definition: &Definition,
) -> Result<(String, bool)> {
    let (dag_id, asked) = (args.dag_id.as_str(), args.logical_date_or_run_id.as_deref());
    let date = asked.and_then(|text| logical_date(text, &session.configuration).ok());
    if asked.is_some() {
        let run_id = asked.unwrap_or_default();
        let found = stage
            .db
            .read(|tx| async move { dag_run::find_either(tx, dag_id, run_id, date).await }.scope_boxed());
        if let Some(run_id) = found.await? {
            if args.task_params.is_some() {
                bail!("--task-params is for a run that is made; {run_id} is there already");
            }
            return Ok((run_id, false));
        }
    }
    let interval = match date {
        Some(date) => Some(stage.data_interval(definition, date).await?),
        None => None,
    };
    let now = clock::now();
    let run_id = format!("__airflow_temporary_run_{}__", now.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"));
    let conf = args.task_params.as_deref().map(|text| object("--task-params", text)).transpose()?;
    let wanted = ManualRun {
        run_id: run_id.clone(),
        logical_date: date,
        data_interval: interval,
        run_after: interval.map_or(now, |interval| interval.end),
        conf,
        triggered_by: TriggeredBy::Cli,
        triggering_user_name: Some(stage.run_settings.unixname.clone()),
        unixname: stage.run_settings.unixname.clone(),
        partition_key: None,
    };
    make(stage.db, &stage.run_settings, definition, wanted).await?;
    Ok((run_id, true))
}

/// Airflow's tests run in what it calls test mode.
fn variables(text: Option<&str>) -> Result<Vec<(OsString, OsString)>> {
    let mut variables = vec![("AIRFLOW_TEST_MODE".into(), "True".into())];
    for (name, value) in text.map(|text| object("--env-vars", text)).transpose()?.unwrap_or_default() {
        let Value::String(value) = value else { bail!("--env-vars: {name} must be a text") };
        variables.push((name.into(), value.into()));
    }
    Ok(variables)
}
