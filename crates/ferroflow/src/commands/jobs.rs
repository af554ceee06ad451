//! `ferroflow jobs check`

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use ferroflow_config::Environment;
use ferroflow_execution::tell_unreadable;
use ferroflow_operations::job::{self, CheckRequest, JobQuery};

use super::operations;
use crate::session::{Session, block_on};

#[derive(Subcommand)]
pub(crate) enum JobsCommand {
    /// Tell whether there is a component that lives; the exit status is 1 if not
    ///
    /// Whether the scheduler of this host works: `ferroflow jobs check --job-type SchedulerJob --local`. Whether any
    /// works, of several: `ferroflow jobs check --job-type SchedulerJob --allow-multiple --limit 100`.
    Check(CheckArgs),
}

/// Which components.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Which kind: `SchedulerJob`, `TriggererJob`, `DagProcessorJob`
    #[arg(long, value_name = "TYPE")]
    job_type: Option<String>,
    /// On which host
    #[arg(long, value_name = "HOST", conflicts_with = "local")]
    hostname: Option<String>,
    /// On this host
    #[arg(long)]
    local: bool,
    /// Look only at so many, those that were heard of last; 0 for all
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    limit: u32,
    /// More than one may live
    #[arg(long)]
    allow_multiple: bool,
    /// Log everything
    #[arg(short, long)]
    verbose: bool,
}

pub(crate) fn run(command: &JobsCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let JobsCommand::Check(args) = command;
    if args.allow_multiple && args.limit == 1 {
        bail!("--allow-multiple needs a --limit greater than 1, or 0 for all");
    }
    let session = Session::start_with(environment, args.verbose)?;
    let hostname = if args.local { Some(session.host_of_rows()?.name) } else { args.hostname.clone() };
    let query = JobQuery { job_type: args.job_type.clone(), hostname, id: None, limit: args.limit };
    let request = CheckRequest { query, allows_several: args.allow_multiple };
    let count = block_on(async {
        let operations = operations::open(&session).await?;
        let count = job::check(&operations, &request).await;
        tell_unreadable(&operations.db);
        Ok(count?)
    })?;
    match count {
        1 => writeln!(out, "Found one alive job.")?,
        more => writeln!(out, "Found {more} alive jobs.")?,
    }
    Ok(())
}
