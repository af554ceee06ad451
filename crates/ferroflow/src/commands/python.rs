//! `ferroflow python`

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use clap::Subcommand;
use ferroflow_config::Environment;
use ferroflow_python::managed::{Installation, Progress, Requirements, Step, install};
use tokio::signal::unix::{SignalKind, signal};

use crate::session::Session;

#[derive(Subcommand)]
pub(crate) enum PythonCommand {
    /// Install a Python with Airflow 3.3.2 into AIRFLOW_HOME/ferroflow-python, for DAG files and tasks
    ///
    /// Needs Python 3.10 or newer on PATH, and changes nothing of it. Packages come from where pip is configured to
    /// get them. An installation that was cut short goes on where it was.
    Install,
    /// Show which Python runs DAG files and tasks, and why
    Show,
}

pub(crate) fn run(command: &PythonCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start(environment)?;
    match command {
        PythonCommand::Install => install_managed(&session, environment, out),
        PythonCommand::Show => show(&session, out),
    }
}

fn show(session: &Session, out: &mut dyn Write) -> Result<()> {
    let interpreter = session.interpreter()?;
    let lines = [
        ("python", interpreter.path.display().to_string()),
        ("version", interpreter.python.clone()),
        ("airflow", interpreter.airflow.clone()),
        ("found by", interpreter.origin.to_string()),
    ];
    for (name, value) in lines {
        writeln!(out, "{name:<10}{value}")?;
    }
    Ok(())
}

/// Installs an interpreter, and tells how far that is.
pub(crate) fn install_managed(
    session: &Session,
    environment: &Environment,
    out: &mut dyn Write,
) -> Result<()> {
    let requirements = Requirements::for_database(session.settings.database.sql_alchemy_conn.expose());
    let installation = Installation {
        airflow_home: Path::new(session.configuration.airflow_home()),
        environment,
        requirements: &requirements,
    };
    let is_terminal = io::stderr().is_terminal();
    let cancelled = cancelled_by_signals()?;
    let python = install(installation, &cancelled, &mut |progress| tell(&progress, is_terminal));
    if is_terminal {
        drop(write!(io::stderr(), "\r\x1b[K"));
    }
    writeln!(out, "installed: {}", python?.display())?;
    Ok(())
}

/// Becomes true when somebody wants this to end. The runtime lives as long as the process.
fn cancelled_by_signals() -> Result<Arc<AtomicBool>> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = runtime.block_on(async {
        io::Result::Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    })?;
    let flag = Arc::clone(&cancelled);
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        });
        flag.store(true, Ordering::Relaxed);
    });
    Ok(cancelled)
}

/// One line that changes on a terminal; elsewhere a line per step.
fn tell(progress: &Progress, is_terminal: bool) {
    let text = match progress {
        Progress::Waiting => "waiting for another installation in the same place".to_owned(),
        Progress::Begun(step) => format!("{}: {step}", place(*step)),
        Progress::Kept(step) => format!("{}: {step}: done before", place(*step)),
        Progress::Package { done, total, name } if is_terminal => {
            format!("{}: {}, {done} of {total}: {name}", place(Step::Fetch), Step::Fetch)
        }
        Progress::Package { .. } => return,
    };
    let mut stderr = io::stderr().lock();
    drop(if is_terminal { write!(stderr, "\r\x1b[K{text}") } else { writeln!(stderr, "{text}") });
    drop(stderr.flush());
}

/// `step 2 of 4`
fn place(step: Step) -> String {
    let number = Step::ALL.iter().position(|other| *other == step).unwrap_or_default() + 1;
    format!("step {number} of {}", Step::ALL.len())
}
