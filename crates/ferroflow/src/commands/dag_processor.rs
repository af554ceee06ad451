//! `ferroflow dag-processor`

use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Args;
use ferroflow_config::Environment;
use ferroflow_dagproc::{Context, Options};
use ferroflow_db::{Db, schema};
use tokio_util::sync::CancellationToken;

use crate::daemon::DaemonOptions;
use crate::session::{self, Session, block_on_threads, stop_on_signals};

/// What is parsed, and how often.
#[derive(Args)]
pub(crate) struct DagProcessorCommand {
    /// Parse only this bundle; may be given more than once
    #[arg(short = 'B', long = "bundle-name", value_name = "BUNDLE")]
    bundle_name: Vec<String>,
    /// Stop when every file was parsed this many times; -1 for never
    #[arg(short = 'n', long = "num-runs", default_value_t = -1, allow_negative_numbers = true)]
    num_runs: i64,
    /// Log everything
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    daemon: DaemonOptions,
}

pub(crate) fn run(command: &DagProcessorCommand, environment: &Environment) -> Result<()> {
    let started = command.daemon.start_session("dag-processor", environment, command.verbose)?;
    let Some((session, _daemon)) = started else { return Ok(()) };
    block_on_threads(serve(command, &session))
}

async fn serve(command: &DagProcessorCommand, session: &Session) -> Result<()> {
    let stop = CancellationToken::new();
    stop_on_signals(&stop)?;
    let metrics = session.send_metrics(false)?;
    let started = tokio::select! {
        started = start(session) => started,
        () = stop.cancelled() => return Ok(()),
    };
    let (db, cx) = started?;
    let options = Options {
        bundles: command.bundle_name.clone(),
        num_runs: u32::try_from(command.num_runs).ok().filter(|runs| *runs > 0),
    };
    ferroflow_dagproc::run(Arc::new(cx), &options, &stop).await?;
    session::close(&db).await;
    metrics.flush();
    Ok(())
}

async fn start(session: &Session) -> Result<(Db, Context)> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    let cx = Context::start(session.parts(&db, session.host_of_rows()?)?)
        .await
        .context("the DAG processor could not be started")?;
    Ok((db, cx.of_a_processor()))
}
