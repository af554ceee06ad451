//! `ferroflow dag-processor`

use anyhow::Result;
use clap::Args;
use ferroflow_component::{JobType, run_component};
use ferroflow_config::Environment;
use ferroflow_dagproc::Options;

use crate::daemon::DaemonOptions;

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
    let options = Options {
        bundles: command.bundle_name.clone(),
        num_runs: u32::try_from(command.num_runs).ok().filter(|runs| *runs > 0),
    };
    run_component(&session, JobType::DagProcessor, async |runtime, shutdown| {
        Ok(ferroflow_dagproc::run(runtime, &options, shutdown).await?)
    })
}
