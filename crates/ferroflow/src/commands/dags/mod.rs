//! `ferroflow dags`
//!
//! All but `report`, `reserialize`, `test` and what is asked with `--local` reads the database and runs no Python; these
//! parse files, in `parsing`.

pub(crate) mod bundles;
mod delete;
mod detail;
mod details;
mod file_token;
mod list;
mod list_import_errors;
mod list_jobs;
mod list_runs;
mod next_execution;
pub(crate) mod parsing;
mod pause;
mod report;
mod reserialize;
mod runs;
mod show;
mod state;
pub(crate) mod test;
mod trigger;

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use ferroflow_config::Environment;

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum DagsCommand {
    /// Delete all that the database has about a DAG
    Delete(delete::DeleteArgs),
    /// Show all that the database has about a DAG
    Details(details::DetailsArgs),
    /// List the DAGs
    ///
    /// They are those that have a serialized form in the database, stale ones too. With --local the files are
    /// parsed here and now instead.
    List(list::ListArgs),
    /// List the files that could not be imported, with the reason
    ///
    /// The exit code is 1 if there are any.
    ListImportErrors(list_import_errors::ListImportErrorsArgs),
    /// List the jobs, those first that started last
    ListJobs(list_jobs::ListJobsArgs),
    /// List the runs of a DAG, the latest first
    ListRuns(list_runs::ListRunsArgs),
    /// Show when a DAG runs next
    ///
    /// What is printed is the logical date of the next run, or its partition key if the DAG has partitions.
    NextExecution(next_execution::NextExecutionArgs),
    /// Pause a DAG: it has no more runs but those that somebody asks for, and these wait
    Pause(pause::PauseArgs),
    /// Parse the DAG files, and show how long each takes and what is in it
    Report(report::ReportArgs),
    /// Parse the DAG files, and write their DAGs to the database anew
    Reserialize(reserialize::ReserializeArgs),
    /// Draw how runs went: a grid of the newest runs by tasks, or a Gantt chart of one run
    Runs(runs::RunsArgs),
    /// Draw a DAG: its tasks, groups and what depends on what
    Show(show::ShowArgs),
    /// Show where a run stands, and what it was given
    State(state::StateArgs),
    /// Run a DAG here and now, without a scheduler
    ///
    /// Its file is parsed first. What tasks log is shown on standard error, what became of each on standard output. The
    /// exit code is 1 if the run failed. A run of the same logical date is replaced.
    Test(test::TestArgs),
    /// Make a run of a DAG, which a scheduler starts
    Trigger(trigger::TriggerArgs),
    /// Let a paused DAG go on
    Unpause(pause::PauseArgs),
}

pub(crate) fn run(command: &DagsCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    match command {
        DagsCommand::Delete(args) => delete::run(args, &session, out),
        DagsCommand::Details(args) => details::run(args, &session, out),
        DagsCommand::List(args) => list::run(args, &session, out),
        DagsCommand::ListImportErrors(args) => list_import_errors::run(args, &session, out),
        DagsCommand::ListJobs(args) => list_jobs::run(args, &session, out),
        DagsCommand::ListRuns(args) => list_runs::run(args, &session, out),
        DagsCommand::NextExecution(args) => next_execution::run(args, &session, out),
        DagsCommand::Pause(args) => pause::run(args, true, &session, out),
        DagsCommand::Report(args) => report::run(args, &session, out),
        DagsCommand::Reserialize(args) => reserialize::run(args, &session, out),
        DagsCommand::Runs(args) => runs::run(args, &session, out),
        DagsCommand::Show(args) => show::run(args, &session, out),
        DagsCommand::State(args) => state::run(args, &session, out),
        DagsCommand::Test(args) => test::run(args, &session, out),
        DagsCommand::Trigger(args) => trigger::run(args, &session, out),
        DagsCommand::Unpause(args) => pause::run(args, false, &session, out),
    }
}

/// Accepted since scripts pass it: logs go to standard error, and `[logging] logging_level` says which.
#[derive(Args, Debug)]
struct VerboseArgs {
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long = "verbose")]
    verbose: bool,
}
