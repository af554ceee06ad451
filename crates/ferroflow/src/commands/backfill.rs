//! `ferroflow backfill`

mod grid;

use std::io::Write;
use std::sync::Mutex;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use ferroflow_config::Environment;
use ferroflow_model::backfill::{Reprocess, Stretch};
use ferroflow_model::python_datetime;
use ferroflow_operations::OperationError;
use ferroflow_operations::backfill::{self, BackfillRequest, MadeBackfill};
use jiff::Timestamp;
use serde_json::Value;

use super::ReportedFailure;
use super::date_arg::DateArg;
use super::json_arg::json_object;
use super::operations;
use crate::output::{Format, Progress, note, python_repr};
use crate::session::{Session, block_on};

#[derive(Debug, Subcommand)]
pub(crate) enum BackfillCommand {
    /// Make the runs of a stretch of the past, which a scheduler starts
    Create(CreateArgs),
}

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "Examples:
  ferroflow backfill create --dag-id daily_report --from-date 2026-03-01 --to-date 2026-03-31 --dry-run
  ferroflow backfill create --dag-id daily_report --from-date 2026-03-01 --to-date 2026-03-31
  ferroflow backfill create --dag-id daily_report --from-date 2026-03-01 --to-date 2026-03-31 \\
      --reprocess-behavior failed --max-active-runs 3

They start when all of them are made: if this is interrupted, a scheduler makes the rest.")]
pub(crate) struct CreateArgs {
    /// The DAG
    #[arg(long)]
    dag_id: String,
    /// The first date; of a DAG with partitions, that of the first partition
    #[arg(long, value_name = "DATE")]
    from_date: DateArg,
    /// The last date, which belongs to it
    #[arg(long, value_name = "DATE")]
    to_date: DateArg,
    /// What the runs are given: a JSON object
    #[arg(long, value_name = "JSON")]
    dag_run_conf: Option<String>,
    /// Begin with the latest date; not for DAGs with tasks that depend on the run before
    #[arg(long)]
    run_backwards: bool,
    /// How many of its runs may run at once [default: 10]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(1..))]
    max_active_runs: Option<i32>,
    /// Which runs that are there already are run again [default: none]
    #[arg(long, value_enum, value_name = "WHICH")]
    reprocess_behavior: Option<ReprocessArg>,
    /// Runs that are run again use the newest version of the DAG; without this and the next, the DAG and
    /// `[core] rerun_with_latest_version` say so, and else they do
    #[arg(long, conflicts_with = "no_run_on_latest_version")]
    run_on_latest_version: bool,
    /// Runs that are run again use the version that they were made with
    #[arg(long)]
    no_run_on_latest_version: bool,
    /// Only show which runs there would be
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReprocessArg {
    None,
    Completed,
    Failed,
}

impl ReprocessArg {
    fn meant(self) -> Reprocess {
        match self {
            Self::None => Reprocess::None,
            Self::Completed => Reprocess::Completed,
            Self::Failed => Reprocess::Failed,
        }
    }
}

pub(crate) fn run(command: &BackfillCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let BackfillCommand::Create(args) = command;
    let session = Session::start_quietly(environment)?;
    let at = |date: &DateArg| date.at(&session.configuration);
    let (from, to) = (at(&args.from_date)?, at(&args.to_date)?);
    block_on(async {
        let operations = operations::open(&session).await?;
        let action = backfill::create_action(&args.dag_id);
        let request = operations::logged_if_failed(&operations, &action, args.request(from, to)).await?;
        let outcome = if args.dry_run {
            let is_on_latest = backfill::runs_on_latest_version(&operations, &request).await;
            describe(args, &request, is_on_latest, out)?;
            let runs = backfill::preview(&operations, &request).await;
            runs.map_err(refused).and_then(|runs| Ok(grid::print(&runs, out)?))
        } else {
            let made = backfill::create(&operations, &request, &progress()).await;
            made.map_err(refused).and_then(|made| tell(made, &request, out))
        };
        operations.close().await;
        outcome
    })
}

impl CreateArgs {
    fn request(&self, from: Timestamp, to: Timestamp) -> Result<BackfillRequest> {
        let conf = self.dag_run_conf.as_deref().filter(|conf| !conf.is_empty());
        let reprocess = self.reprocess_behavior.map_or(Reprocess::None, ReprocessArg::meant);
        let no = self.no_run_on_latest_version.then_some(false);
        Ok(BackfillRequest {
            dag_id: self.dag_id.clone(),
            stretch: Stretch { from, to, is_backwards: self.run_backwards, reprocess },
            conf: conf.map_or(Ok(None), |conf| json_object("--dag-run-conf", conf))?,
            max_active_runs: self.max_active_runs,
            run_on_latest_version: no.or(self.run_on_latest_version.then_some(true)),
        })
    }
}

/// What was asked for, in Airflow's words.
fn describe(
    args: &CreateArgs,
    request: &BackfillRequest,
    is_on_latest: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let python_bool = |is_so| if is_so { "True" } else { "False" };
    let number = request.max_active_runs.map_or_else(|| "None".to_owned(), |number| number.to_string());
    let conf = request.conf.clone().map_or(Value::Null, Value::Object);
    let reprocess = args.reprocess_behavior.map_or_else(
        || "None".to_owned(),
        |which| format!("ReprocessBehavior.{}", which.meant().as_str().to_uppercase()),
    );
    writeln!(out, "Performing dry run of backfill.\nPrinting params:")?;
    for (name, value) in [
        ("dag_id", request.dag_id.clone()),
        ("from_date", python_datetime(request.stretch.from)),
        ("to_date", python_datetime(request.stretch.to)),
        ("max_active_runs", number),
        ("reverse", python_bool(request.stretch.is_backwards).to_owned()),
        ("dag_run_conf", python_repr(&conf)),
        ("reprocess_behavior", reprocess),
        ("run_on_latest_version", python_bool(is_on_latest).to_owned()),
    ] {
        writeln!(out, "    - {name} = {value}")?;
    }
    Ok(writeln!(out, "Runs to be attempted:")?)
}

/// Tells how far it is, once it is known how many dates there are.
fn progress() -> impl Fn(usize, usize) + Send + Sync {
    let progress: Mutex<Option<Progress>> = Mutex::new(None);
    move |done, of| {
        let mut progress = progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        progress.get_or_insert_with(|| Progress::new(of, "dates written", Format::Table)).tell(done);
    }
}

fn refused(error: OperationError) -> anyhow::Error {
    operations::refused("there is no backfill", error)
}

/// What was made, for people.
fn tell(made: Option<MadeBackfill>, request: &BackfillRequest, out: &mut dyn Write) -> Result<()> {
    let Stretch { from, to, .. } = request.stretch;
    let Some(made) = made else {
        let (dag_id, from, to) = (&request.dag_id, python_datetime(from), python_datetime(to));
        writeln!(out, "Warning: No runs to create for Dag {dag_id} in the range [{from}, {to}]")?;
        return Err(ReportedFailure.into());
    };
    let MadeBackfill { id, made, cleared, skipped } = made;
    let left_alone =
        if skipped == 0 { String::new() } else { format!("; {skipped} dates keep the run that they have") };
    Ok(note(&format!("backfill {id}: {made} runs made, {cleared} begin anew{left_alone}"))?)
}
