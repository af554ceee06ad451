//! Ferroflow: Apache Airflow's control plane.
//!
//! One binary. Each command is a file in `commands`; what they do is in the libraries.

mod commands;
mod daemon;
mod output;
mod session;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use ferroflow_config::Environment;
use ferroflow_python::descriptors;
use mimalloc::MiMalloc;

use commands::{
    ReportedFailure, assets, backfill, completion, config, connections, dag_processor, dags, db, doctor,
    info, jobs, pools, python, rotate_fernet_key, scheduler, standalone, tasks, timetable, variables,
    version, why,
};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Apache Airflow's control plane, in Rust: works on the metadata database, DAG files and configuration of
/// Airflow 3.3.2, in place of the official components or beside them.
///
/// Configuration is Airflow's own: airflow.cfg in AIRFLOW_HOME (default ~/airflow) and AIRFLOW__SECTION__KEY.
/// With nothing configured, the database is SQLite, at ~/airflow/airflow.db.
#[derive(Parser)]
#[command(name = "ferroflow", version = version::NUMBERS, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show assets and what refers to them; have one updated
    #[command(subcommand)]
    Assets(assets::AssetsCommand),
    /// Run stretches of the past
    #[command(subcommand)]
    Backfill(backfill::BackfillCommand),
    /// Print a script that lets a shell complete commands and options
    Completion(completion::CompletionArgs),
    /// Show the configuration that is in effect, and where each value comes from
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Show and change connections, by which tasks reach other systems
    #[command(subcommand)]
    Connections(connections::ConnectionsCommand),
    /// Parse DAG files and store what is in them, until it is stopped
    ///
    /// Stands in for `airflow dag-processor`, or works beside it. DAG files are imported in short-lived processes of
    /// the Python that `ferroflow python show` names; a file that was changed is parsed at once.
    DagProcessor(dag_processor::DagProcessorCommand),
    /// Show DAGs and their runs; make runs, pause, delete; find out which files cannot be imported
    #[command(subcommand)]
    Dags(dags::DagsCommand),
    /// Create, check and reset the metadata database
    #[command(subcommand)]
    Db(db::DbCommand),
    /// Check a site before ferroflow takes the place of official components
    ///
    /// Looks at the configuration, executors, Python, database, plugins, DAGs and DAG files, and says of each whether
    /// ferroflow serves it, and if not what to do. Writes nothing.
    Doctor(doctor::DoctorCommand),
    /// Show what this installation is and uses: versions, paths, database
    Info,
    /// Show whether components are alive
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Limit how many tasks of a kind run at once
    #[command(subcommand)]
    Pools(pools::PoolsCommand),
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
    /// Run everything in one process, on this machine: make what is missing, parse DAG files, schedule, run tasks
    ///
    /// With nothing configured it needs nothing: it makes AIRFLOW_HOME, a Python with Airflow, a SQLite database, and
    /// example DAGs that run at once. Your own DAG files go into the folder dags in it. Ctrl-C ends it.
    Standalone(standalone::StandaloneCommand),
    /// Show tasks and where they stand; clear them; run one by itself
    #[command(subcommand)]
    Tasks(tasks::TasksCommand),
    /// Show what a schedule does
    #[command(subcommand)]
    Timetable(timetable::TimetableCommand),
    /// Show and set variables, which tasks read
    #[command(subcommand)]
    Variables(variables::VariablesCommand),
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
    descriptors::raise_limit();
    let environment = Environment::from_process();
    let mut out = io::stdout().lock();
    let outcome = match cli.command {
        Command::Assets(command) => assets::run(&command, &environment, &mut out),
        Command::Backfill(command) => backfill::run(&command, &environment, &mut out),
        Command::Completion(args) => completion::run(&args, Cli::command(), &mut out),
        Command::Config(command) => config::run(&command, &environment, &mut out),
        Command::Connections(command) => connections::run(&command, &environment, &mut out),
        Command::DagProcessor(command) => dag_processor::run(&command, &environment),
        Command::Dags(command) => dags::run(&command, &environment, &mut out),
        Command::Db(command) => db::run(&command, &environment, &mut out),
        Command::Doctor(command) => doctor::run(&command, &environment, &mut out),
        Command::Info => info::run(&environment, &mut out),
        Command::Jobs(command) => jobs::run(&command, &environment, &mut out),
        Command::Pools(command) => pools::run(&command, &environment, &mut out),
        Command::Python(command) => python::run(&command, &environment, &mut out),
        Command::RotateFernetKey => rotate_fernet_key::run(&environment, &mut out),
        Command::Scheduler(command) => scheduler::run(&command, &environment),
        Command::Standalone(command) => standalone::run(&command, &environment, &mut out),
        Command::Tasks(command) => tasks::run(&command, &environment, &mut out),
        Command::Timetable(command) => timetable::run(&command, &environment, &mut out),
        Command::Variables(command) => variables::run(&command, &environment, &mut out),
        Command::Why(command) => why::run(&command, &environment, &mut out),
        Command::Version => version::run(&mut out),
    };
    match outcome.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<ReportedFailure>() => ExitCode::FAILURE,
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
