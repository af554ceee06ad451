//! What has to be there before anything can run. Whatever is missing is made, and told.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_executor::{LOCAL_EXECUTOR, executor_names};

use super::examples::Examples;
use super::keys;
use crate::commands::{db, python};
use crate::session::{Session, block_on};

/// All that is needed to begin.
pub(super) struct Prepared {
    pub(super) session: Arc<Session>,
    /// What Python is told besides the environment of this process.
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) log_file: PathBuf,
    /// Held as long as this process lives.
    _lock: File,
}

pub(super) fn prepare(environment: &Environment, verbose: bool, out: &mut dyn Write) -> Result<Prepared> {
    let configuration = Configuration::load(environment)?;
    let settings = Settings::load(&configuration)?;
    let home = environment.current_dir().join(configuration.airflow_home());
    fs_err::create_dir_all(&home)?;
    let lock = lock(&home)?;
    let mut tell = |label: &str, text: &str| -> Result<()> {
        writeln!(out, "{label:<9} {text}")?;
        Ok(out.flush()?)
    };
    tell("home", &format!("{} (times below are UTC)", home.display()))?;
    let dags_folder = &settings.core.dags_folder;
    fs_err::create_dir_all(dags_folder)?;
    tell("dags", &format!("{}: put your DAG files here", dags_folder.display()))?;
    let mut variables = Vec::new();
    if settings.core.load_examples {
        let examples = Examples::write(&home)?;
        let folder = examples.dags();
        tell("examples", &format!("{} ([core] load_examples = False hides them)", folder.display()))?;
        variables = examples.variables(&settings, environment);
    } else {
        tell("examples", "none: [core] load_examples is off")?;
    }
    if !runs_tasks_here(&settings)? {
        tell("executor", &format!("LocalExecutor, and not {}: tasks run here", settings.core.executor))?;
        variables.push(("AIRFLOW__CORE__EXECUTOR".into(), "LocalExecutor".into()));
    }
    let log_file = log_file(&settings)?;
    tell("log", &log_file.display().to_string())?;
    let extended = variables.iter().fold(environment.clone(), |all, (name, value)| all.with(name, value));
    let session = Session::start_with_log_file(&extended, verbose, &log_file)?;
    tell("database", &database(&session)?)?;
    if let Some((told, advice)) = session.database_open_to_all() {
        tell("warning", &format!("{told}: {advice}"))?;
    }
    let (session, keys) = keys::provide(session, &home)?;
    tell("keys", &keys)?;
    find_python(&session, environment, out)?;
    Ok(Prepared { session: Arc::new(session), variables, log_file, _lock: lock })
}

/// Two of them in one home would do everything twice.
fn lock(home: &Path) -> Result<File> {
    let path = home.join("ferroflow-standalone.lock");
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| path.display().to_string())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another `ferroflow standalone` is at work in {}; end it, or set AIRFLOW_HOME to another folder",
            home.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Whether `[core] executor` names the one that runs tasks in processes of this host, and no other.
fn runs_tasks_here(settings: &Settings) -> Result<bool> {
    let names = executor_names(&settings.core.executor, settings.core.multi_team)?;
    Ok(names.iter().all(|name| *name.module_path == *LOCAL_EXECUTOR))
}

fn log_file(settings: &Settings) -> Result<PathBuf> {
    let folder = &settings.logging.base_log_folder;
    fs_err::create_dir_all(folder)?;
    Ok(folder.join("ferroflow-standalone.log"))
}

/// Creates the tables, or finds that they are there and right.
fn database(session: &Session) -> Result<String> {
    let mut said = Vec::new();
    block_on(db::migrate(session, &mut said))?;
    Ok(String::from_utf8(said)?.trim_end().replace('\n', "; "))
}

/// The interpreter that is there, or a new one. One that somebody has named is not replaced.
fn find_python(session: &Session, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let found = match session.interpreter() {
        Ok(found) => found,
        Err(missing) if session.settings.ferroflow.python.is_some() => return Err(missing.into()),
        Err(_) => {
            writeln!(out, "python    is being made, with Airflow; this takes a few minutes, once")?;
            out.flush()?;
            python::install_managed(session, environment, out)?;
            session.interpreter()?
        }
    };
    let (path, version, airflow) = (found.path.display(), &found.python, &found.airflow);
    writeln!(out, "python    {path} (Python {version}, Airflow {airflow}; {})\n", found.origin)?;
    Ok(out.flush()?)
}
