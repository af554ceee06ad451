//! A command as a daemon: a process of its own, without a terminal, that others find by its pid file.
//!
//! The command starts its program anew, with files for its output, and ends when that process has written its pid file.
//! Nothing is forked that has threads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_python::processes;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::Mode;
use rustix::process::{Pid, chdir, getpid, setsid, test_kill_process, umask};

use crate::session::Session;

/// How often is looked whether the daemon runs.
const LOOK: Duration = Duration::from_millis(20);

/// Whether it is a daemon, and where its files are.
#[derive(Args, Clone)]
pub(crate) struct DaemonOptions {
    /// Run in the background
    #[arg(short = 'D', long)]
    daemon: bool,
    /// Where the daemon's process id is written
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    pid: Option<String>,
    /// Where the daemon's log goes
    #[arg(short, long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Where the daemon's standard output goes
    #[arg(long, value_name = "FILE")]
    stdout: Option<PathBuf>,
    /// Where the daemon's standard error goes
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// This is the process in the background
    #[arg(long, hide = true)]
    is_in_background: bool,
}

/// The process in the background. Its pid file is gone when this is.
pub(crate) struct Daemon {
    pid_file: PathBuf,
    /// Where it logs to.
    log: File,
}

/// Who goes on after this.
enum Role {
    /// The process that was started, in the foreground.
    Foreground,
    /// The process in the background.
    Background(Daemon),
    /// Nobody here: it goes on in the background.
    Done,
}

impl DaemonOptions {
    /// The session of whoever goes on here, and the daemon that it is, if it is one. Nobody does if it goes on in the
    /// background. `name` is what the daemon's files are named by.
    pub(crate) fn start_session(
        &self,
        name: &str,
        environment: &Environment,
        verbose: bool,
    ) -> Result<Option<(Session, Option<Daemon>)>> {
        let daemon = match self.enter(name, environment)? {
            Role::Done => return Ok(None),
            Role::Foreground => None,
            Role::Background(daemon) => Some(daemon),
        };
        let log = daemon.as_ref().map(|daemon| daemon.log.try_clone()).transpose()?;
        Ok(Some((Session::start_to(environment, verbose, log)?, daemon)))
    }

    /// Starts the daemon, or becomes it.
    fn enter(&self, name: &str, environment: &Environment) -> Result<Role> {
        if !self.daemon {
            return Ok(Role::Foreground);
        }
        let configuration = Configuration::load(environment)?;
        let settings = Settings::load(&configuration)?;
        let files = self.files(name, Path::new(configuration.airflow_home()), environment.current_dir());
        if self.is_in_background {
            return Ok(Role::Background(become_daemon(&files, settings.core.daemon_umask)?));
        }
        refuse_a_second_one(name, &files.pid)?;
        start(&files, environment)?;
        Ok(Role::Done)
    }

    fn files(&self, name: &str, home: &Path, current: &Path) -> Files {
        let file = |given: Option<&Path>, ending: &str| {
            given.map_or_else(|| home.join(format!("airflow-{name}.{ending}")), |given| current.join(given))
        };
        let pid = self.pid.as_deref().filter(|pid| !pid.is_empty());
        Files {
            pid: file(pid.map(Path::new), "pid"),
            log: file(self.log_file.as_deref(), "log"),
            stdout: file(self.stdout.as_deref(), "out"),
            stderr: file(self.stderr.as_deref(), "err"),
        }
    }
}

struct Files {
    pid: PathBuf,
    log: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// A pid file of a process that is gone is removed.
fn refuse_a_second_one(name: &str, pid_file: &Path) -> Result<()> {
    let text = match fs::read_to_string(pid_file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", pid_file.display())),
    };
    let pid = text.trim().parse().ok().and_then(Pid::from_raw);
    // A process of somebody else is one, too.
    let lives = |pid: &Pid| !matches!(test_kill_process(*pid), Err(rustix::io::Errno::SRCH));
    if pid.filter(lives).is_some_and(|pid| !has_its_number_from_another(pid, pid_file)) {
        bail!("the {name} is already running under PID {} ({})", text.trim(), pid_file.display());
    }
    fs::remove_file(pid_file).with_context(|| format!("{} is old and cannot be removed", pid_file.display()))
}

/// Whether a process was started after its number was written down: as happens in a container that is started anew.
fn has_its_number_from_another(pid: Pid, pid_file: &Path) -> bool {
    let written = fs::metadata(pid_file).and_then(|file| file.modified()).ok();
    let written = written.and_then(|time| Timestamp::try_from(time).ok());
    let started = processes::started(pid.as_raw_nonzero().get());
    // The kernel tells when a process was started to about a second.
    written
        .zip(started)
        .is_some_and(|(written, started)| started.duration_since(written) > SignedDuration::from_secs(2))
}

/// Starts this program anew, and waits until it has written its pid file.
fn start(files: &Files, environment: &Environment) -> Result<()> {
    let open =
        |path: &Path| File::create(path).with_context(|| format!("{} cannot be written", path.display()));
    let (program, arguments) = environment.command_line();
    let mut child = Command::new(program)
        .args(arguments)
        .arg("--is-in-background")
        .stdin(Stdio::null())
        .stdout(open(&files.stdout)?)
        .stderr(open(&files.stderr)?)
        .spawn()
        .context("the daemon cannot be started")?;
    let pid = child.id().to_string();
    loop {
        if fs::read_to_string(&files.pid).is_ok_and(|text| text.trim() == pid) {
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            bail!("the daemon has ended at once ({status}); {} tells why", files.stderr.display());
        }
        std::thread::sleep(LOOK);
    }
}

fn become_daemon(files: &Files, mask: u32) -> Result<Daemon> {
    setsid().context("the daemon cannot have a session of its own")?;
    umask(Mode::from_raw_mode(mask));
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&files.log)
        .with_context(|| format!("{} cannot be written", files.log.display()))?;
    let mut pid_file = File::create_new(&files.pid)
        .with_context(|| format!("the pid file {} cannot be made", files.pid.display()))?;
    writeln!(pid_file, "{}", getpid().as_raw_nonzero())?;
    // Whatever it was started in can be unmounted.
    chdir("/")?;
    Ok(Daemon { pid_file: files.pid.clone(), log })
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.pid_file));
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_pid_file_means_the_process_that_wrote_it_and_none_that_came_later() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("airflow-scheduler.pid");
        // This process was there when the file was written.
        fs::write(&pid_file, format!("{}\n", std::process::id())).unwrap();
        let refused = refuse_a_second_one("scheduler", &pid_file).unwrap_err().to_string();
        assert!(refused.contains("already running under PID"), "{refused}");
        // As if the file was from before this process had its number.
        File::options().write(true).open(&pid_file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        refuse_a_second_one("scheduler", &pid_file).unwrap();
        assert!(!pid_file.exists(), "it is removed");
    }
}
