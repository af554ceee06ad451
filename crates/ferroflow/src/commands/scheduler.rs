//! `ferroflow scheduler`

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_component::{JobType, Session, run_component};
use ferroflow_config::Environment;
use ferroflow_scheduler::Options;
use ferroflow_scheduler::scheduler::Loops;

use crate::daemon::DaemonOptions;

/// How it schedules.
#[derive(Args)]
pub(crate) struct SchedulerCommand {
    /// Log everything
    #[arg(short, long)]
    verbose: bool,
    /// Do not serve the logs of tasks
    #[arg(short, long)]
    skip_serve_logs: bool,
    /// Stop after so many loops; -1 for never. What the configuration says if not given
    #[arg(short = 'n', long, value_name = "NUMBER", allow_negative_numbers = true)]
    num_runs: Option<i64>,
    /// Of --num-runs, count only loops one after the other in which nothing was to be done
    #[arg(short = 'i', long)]
    only_idle: bool,
    #[command(flatten)]
    daemon: DaemonOptions,
}

pub(crate) fn run(command: &SchedulerCommand, environment: &Environment) -> Result<()> {
    let started = command.daemon.start_session("scheduler", environment, command.verbose)?;
    let Some((session, _daemon)) = started else { return Ok(()) };
    let options = Options { loops: command.loops(&session)?, serves_logs: !command.skip_serve_logs };
    run_component(&session, JobType::Scheduler, async |runtime, shutdown| {
        Ok(ferroflow_scheduler::run(runtime, options, shutdown).await?)
    })
}

impl SchedulerCommand {
    fn loops(&self, session: &Session) -> Result<Loops> {
        let settings = &session.settings.scheduler;
        let most = match self.num_runs {
            Some(number) => u32::try_from(number).ok().filter(|number| *number > 0),
            None => settings.num_runs,
        };
        if self.only_idle && most.is_none() {
            bail!("--only-idle needs a positive --num-runs");
        }
        Ok(Loops::new(most, self.only_idle || settings.only_idle))
    }
}
