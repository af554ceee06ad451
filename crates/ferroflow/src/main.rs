//! Ferroflow: Apache Airflow's control plane.
//!
//! One binary. Each command is a file in `commands`; what they do is in the libraries.

mod commands;
mod output;
mod session;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ferroflow_config::Environment;
use mimalloc::MiMalloc;

use commands::{
    BadNews, config, dag_processor, dags, db, info, jobs, python, rotate_fernet_key, scheduler, tasks,
    timetable, version, why,
};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Apache Airflow's control plane, in Rust: works on the metadata database, DAG files and configuration of
/// Airflow 3.3.2, in place of the official components or beside them.
///
/// Configuration is Airflow's own: airflow.cfg in AIRFLOW_HOME (default ~/airflow) and AIRFLOW__SECTION__KEY.
/// With nothing configured, the database is SQLite, at ~/airflow/airflow.db.
#[derive(Parser)]
#[command(name = "ferroflow", disable_version_flag = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the configuration that is in effect, and where each value comes from
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Parse DAG files and store what is in them, until it is stopped
    ///
    /// Stands in for `airflow dag-processor`, or works beside it. DAG files are imported in short-lived processes of
    /// the Python that `ferroflow python show` names; a file that was changed is parsed at once.
    DagProcessor(dag_processor::DagProcessorCommand),
    /// Show DAGs: which there are, what they look like, when they run next, which files cannot be imported; run one
    #[command(subcommand)]
    Dags(dags::DagsCommand),
    /// Create, check and reset the metadata database
    #[command(subcommand)]
    Db(db::DbCommand),
    /// Show what this installation is and uses: versions, paths, database
    Info,
    /// Show whether components are alive
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Install or show the Python that runs DAG files and tasks
    #[command(subcommand)]
    Python(python::PythonCommand),
    /// Encrypt all secrets in the database anew, with the first key of [core] fernet_key
    ///
    /// To change the key: set [core] fernet_key to the new key, a comma and the old key, run this, then drop the
    /// old key.
    RotateFernetKey,
    /// Make runs when they are due, and run their tasks, until it is stopped
    ///
    /// Stands in for `airflow scheduler`, or works beside it and beside others of its kind: any number of them share a
    /// PostgreSQL or MariaDB database. Tasks run in processes of this host.
    Scheduler(scheduler::SchedulerCommand),
    /// Run tasks by themselves
    #[command(subcommand)]
    Tasks(tasks::TasksCommand),
    /// Show what a schedule does
    #[command(subcommand)]
    Timetable(timetable::TimetableCommand),
    /// Say why a DAG gets no run, a run does not start, or a task does not run
    ///
    /// Names every reason: the limit, who holds it and since when, what is waited for and until when, and whether those
    /// live who would act on it. Only reads, and needs no scheduler.
    Why(why::WhyCommand),
    /// Show the version, and the version of Airflow it stands in for
    Version,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::from_process();
    let mut out = io::stdout().lock();
    let outcome = match cli.command {
        Command::Config(command) => config::run(&command, &environment, &mut out),
        Command::DagProcessor(command) => dag_processor::run(&command, &environment),
        Command::Dags(command) => dags::run(&command, &environment, &mut out),
        Command::Db(command) => db::run(&command, &environment, &mut out),
        Command::Info => info::run(&environment, &mut out),
        Command::Jobs(command) => jobs::run(&command, &environment, &mut out),
        Command::Python(command) => python::run(&command, &environment, &mut out),
        Command::RotateFernetKey => rotate_fernet_key::run(&environment, &mut out),
        Command::Scheduler(command) => scheduler::run(&command, &environment),
        Command::Tasks(command) => tasks::run(&command, &environment, &mut out),
        Command::Timetable(command) => timetable::run(&command, &environment, &mut out),
        Command::Why(command) => why::run(&command, &environment, &mut out),
        Command::Version => version::run(&mut out),
    };
    match outcome.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<BadNews>() => ExitCode::FAILURE,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// `ferroflow config list | head` is no failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
