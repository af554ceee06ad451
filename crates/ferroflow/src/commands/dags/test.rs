//! `ferroflow dags test`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use ferroflow_executor::Executor as _;
use ferroflow_model::state::{RunState, TriggeredBy};
use ferroflow_scheduler::foreground_run::{Drive, End};
use ferroflow_scheduler::manual_run::{ManualRun, make};
use ferroflow_scheduler::manual_run_id;
use ferroflow_scheduler::run::ActiveRun;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use regex::Regex;
use serde_json::{Map, Value};

use super::VerboseArgs;
use super::bundles::BundleArgs;
use crate::commands::ReportedFailure;
use crate::commands::foreground::{Stage, Terminal, Wanted, logical_date, on_stage, store, summary, tell};
use crate::output::{OutputArgs, note};
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// The DAG
    dag_id: String,
    /// The date that the run stands for; now if not given
    logical_date: Option<String>,
    /// What the run is given: a JSON object
    #[arg(short, long, value_name = "JSON")]
    conf: Option<String>,
    /// The file of the DAG, if it is not the one that is known
    #[arg(short = 'f', long, value_name = "PATH")]
    dagfile_path: Option<PathBuf>,
    /// Tasks whose ids match count as successful without being run; may be given more than once
    #[arg(long, value_name = "REGEX")]
    mark_success_pattern: Vec<String>,
    /// Accepted for compatibility: tasks always run as an executor runs them, each in a process of its own
    #[arg(long)]
    use_executor: bool,
    #[command(flatten)]
    bundles: BundleArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

/// What was asked for, understood.
struct Asked {
    date: Timestamp,
    conf: Option<Map<String, Value>>,
    patterns: Vec<Regex>,
}

pub(super) fn run(args: &TestArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    let date = args.logical_date.as_deref().map(|text| logical_date(text, &session.configuration));
    let asked = Asked {
        date: date.transpose()?.unwrap_or_else(clock::now),
        conf: args.conf.as_deref().map(|text| object("--conf", text)).transpose()?,
        patterns: args.mark_success_pattern.iter().map(|text| pattern(text)).collect::<Result<_>>()?,
    };
    let (run, end) = on_stage(session, Vec::new(), async |stage| test(args, stage, asked).await)?;
    summary(&run).print(args.output.output, out)?;
    match (end, run.row.state) {
        (End::Finished(verdict), RunState::Success) => Ok(note(&verdict)?),
        (End::Finished(verdict), _) => {
            note(&verdict)?;
            Err(ReportedFailure.into())
        }
        (End::Stopped, _) => {
            note(&"the run was stopped, and has failed with that")?;
            Err(ReportedFailure.into())
        }
        (End::TakenAway(state), _) => Err(anyhow!("somebody else has made the run {}", state.as_str())),
    }
}

async fn test(args: &TestArgs, stage: &Stage<'_>, asked: Asked) -> Result<(ActiveRun, End)> {
    let dag_id = args.dag_id.as_str();
    let wanted = Wanted { dag_id, bundles: &args.bundles.bundle_name, file: args.dagfile_path.as_deref() };
    tokio::select! {
        stored = store(stage, &wanted) => stored?,
        () = stage.stop.cancelled() => return Err(anyhow!("interrupted")),
    }
    let definition = stage.definition(dag_id).await?;
    let run_after = clock::now();
    let run_id = manual_run_id(run_after);
    let wanted = ManualRun {
        run_id: run_id.clone(),
        logical_date: Some(asked.date),
        data_interval: Some(stage.data_interval(&definition, asked.date).await?),
        run_after,
        conf: asked.conf,
        partition_key: None,
        triggered_by: TriggeredBy::Test,
        triggering_user_name: Some("dag_test".to_owned()),
        unixname: stage.run_settings.unixname.clone(),
    };
    let replaced = make(stage.db, &stage.run_settings, &definition, wanted).await?;
    if let Some(replaced) = replaced {
        tell(&format!("run {replaced}, of the same logical date, is replaced"));
    }
    tell(&format!("run {run_id} of DAG {dag_id}"));
    let mut run = stage.load(dag_id, &run_id).await?;
    let (executor, mut events) = stage.executor()?;
    let is_marked = |task_id: &str| asked.patterns.iter().any(|pattern| pattern.is_match(task_id));
    let drive = Drive {
        db: stage.db,
        run_settings: &stage.run_settings,
        service: stage.service(),
        executor: &executor,
        events: &mut events,
        paths: &stage.paths,
        is_marked: &is_marked,
        watcher: &mut Terminal,
        stop: stage.stop,
    };
    let end = Box::pin(drive.to_the_end(&mut run)).await;
    executor.shut_down().await;
    let end = end?;
    stage.run_callbacks(&run).await?;
    Ok((run, end))
}

/// A JSON object that an option gives.
pub(crate) fn object(option: &str, text: &str) -> Result<Map<String, Value>> {
    match serde_json::from_str(text).with_context(|| format!("{option} is not JSON"))? {
        Value::Object(object) => Ok(object),
        _ => Err(anyhow!("{option} must be a JSON object, such as {{\"key\": 1}}")),
    }
}

/// The whole of a task's id must match, as with Airflow.
fn pattern(text: &str) -> Result<Regex> {
    Regex::new(&format!("^(?:{text})$")).with_context(|| format!("--mark-success-pattern {text:?}"))
}
