//! `ferroflow jobs check`

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use ferroflow_config::{Environment, Settings};
use ferroflow_db::job::{self, Job};
use ferroflow_db::{Db, Error as DbError, ScopedFutureExt as _, schema};
use ferroflow_execution::tell_unreadable;
use ferroflow_telemetry::clock;
use jiff::Timestamp;

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

/// Components that are asked about.
pub(crate) struct Asked {
    pub(crate) job_type: Option<String>,
    pub(crate) hostname: Option<String>,
    /// Only the one with this row.
    pub(crate) id: Option<i64>,
    /// Zero for all.
    pub(crate) limit: u32,
    pub(crate) settings: Arc<Settings>,
}

pub(crate) fn run(command: &JobsCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let JobsCommand::Check(args) = command;
    if args.allow_multiple && args.limit == 1 {
        bail!("--allow-multiple needs a --limit greater than 1, or 0 for all");
    }
    let session = Session::start_with(environment, args.verbose)?;
    let hostname = if args.local { Some(session.host_of_rows()?.name) } else { args.hostname.clone() };
    let asked = Asked {
        job_type: args.job_type.clone(),
        hostname,
        id: None,
        limit: args.limit,
        settings: Arc::clone(&session.settings),
    };
    let count = block_on(async {
        let db = session.connect().await?;
        schema::check(&db).await?;
        let count = alive(&db, &asked, clock::now()).await?;
        tell_unreadable(&db);
        Ok(count)
    })?;
    match count {
        0 => bail!("no component lives that was asked about"),
        1 => writeln!(out, "Found one alive job.")?,
        more if args.allow_multiple => writeln!(out, "Found {more} alive jobs.")?,
        more => {
            bail!("{more} components live, where one was expected; say --allow-multiple if that is right")
        }
    }
    Ok(())
}

/// How many of those that are asked about live.
pub(crate) async fn alive(db: &Db, asked: &Asked, now: Timestamp) -> Result<usize, DbError> {
    let (job_type, hostname) = (asked.job_type.as_deref(), asked.hostname.as_deref());
    let limit = if asked.limit == 0 { i64::MAX } else { i64::from(asked.limit) };
    let running =
        db.read(|tx| async move { job::running(tx, job_type, hostname, limit).await }.scope_boxed());
    let running = running.await?;
    let asked_about = running.iter().filter(|job| asked.id.is_none_or(|id| id == job.id));
    Ok(asked_about.filter(|job| is_alive(job, &asked.settings, now)).count())
}

fn is_alive(job: &Job, settings: &Settings, now: Timestamp) -> bool {
    let threshold = settings.health_threshold(job.job_type.as_deref());
    let since = |heartbeat: Timestamp| Duration::try_from(now.duration_since(heartbeat)).unwrap_or_default();
    job.latest_heartbeat.is_some_and(|heartbeat| since(heartbeat) < threshold)
}
