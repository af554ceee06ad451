//! `ferroflow dags`
//!
//! All but `report`, `reserialize`, `test` and what is asked with `--local` reads the database and runs no Python; these
//! parse files, in `parsing`.

pub(crate) mod bundles;
mod detail;
mod details;
mod file_token;
mod list;
mod list_import_errors;
mod next_execution;
mod parsing;
mod report;
mod reserialize;
mod show;
pub(crate) mod stored;
pub(crate) mod test;

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use ferroflow_config::Environment;

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum DagsCommand {
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
    /// Show when a DAG runs next
    ///
    /// What is printed is the logical date of the next run, or its partition key if the DAG has partitions.
    NextExecution(next_execution::NextExecutionArgs),
    /// Parse the DAG files, and show how long each takes and what is in it
    Report(report::ReportArgs),
    /// Parse the DAG files, and write their DAGs to the database anew
    Reserialize(reserialize::ReserializeArgs),
    /// Draw a DAG: its tasks, groups and what depends on what
    Show(show::ShowArgs),
    /// Run a DAG here and now, without a scheduler
    ///
    /// Its file is parsed first. What tasks log is shown on standard error, what became of each on standard output. The
    /// exit code is 1 if the run failed. A run of the same logical date is replaced.
    Test(test::TestArgs),
}

pub(crate) fn run(command: &DagsCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    match command {
        DagsCommand::Details(args) => details::run(args, &session, out),
        DagsCommand::List(args) => list::run(args, &session, out),
        DagsCommand::ListImportErrors(args) => list_import_errors::run(args, &session, out),
        DagsCommand::NextExecution(args) => next_execution::run(args, &session, out),
        DagsCommand::Report(args) => report::run(args, &session, out),
        DagsCommand::Reserialize(args) => reserialize::run(args, &session, out),
        DagsCommand::Show(args) => show::run(args, &session, out),
        DagsCommand::Test(args) => test::run(args, &session, out),
    }
}

/// Accepted since scripts pass it: logs go to standard error, and `[logging] logging_level` says which.
#[derive(Args, Debug)]
struct VerboseArgs {
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long = "verbose")]
    verbose: bool,
}
