//! Processes that were killed and are there still: they wait in the kernel, for a file system that does not answer, say.
//!
//! None of them runs user code any more, so what waited for one goes on. What it takes of this host it still has.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::executing;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use crate::{Entry, Error, Result};

/// So many helpers may be there that cannot be killed: every question that hangs would add one more.
const MAX_HELPERS: usize = 8;

/// When the system is out of descriptors, it is asked again after so long.
pub(crate) const UNTIL_ROOM: Duration = Duration::from_secs(1);

/// How many there are of each kind.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(Mutex<HashMap<&'static str, usize>>);

/// What is left of a child that cannot be killed.
#[derive(Clone, Debug)]
pub struct Remains {
    pid: i32,
    gone: watch::Receiver<bool>,
}

impl Remains {
    /// Those of this process. `gone` becomes true once it has ended.
    pub fn new(pid: i32, gone: watch::Receiver<bool>) -> Self {
        Self { pid, gone }
    }

    /// Its process number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it has ended after all.
    pub fn is_gone(&self) -> bool {
        *self.gone.borrow() || self.gone.has_changed().is_err()
    }

    /// Waits until it has ended after all.
    pub async fn gone(&self) {
        // The receiver may be gone.
        drop(self.gone.clone().wait_for(|gone| *gone).await);
    }
}

impl GivenUp {
    /// Tells and counts one more, until it has ended.
    pub(crate) fn note(self: &Arc<Self>, entry: Entry, pid: i32, process: &OwnedFd) -> Remains {
        tracing::error!(
            pid,
            kind = entry.name(),
            "a process was killed and does not end: it waits in the kernel, most likely for a file system that does \
             not answer; what it holds, and its slot, is free once it is gone"
        );
        let (telling, gone) = watch::channel(false);
        self.count(entry, 1);
        let (all, process) = (Arc::clone(self), process.try_clone());
        tokio::spawn(async move {
            match process {
                Ok(process) => until_ended(&process).await,
                Err(_) => until_ended_by_number(pid).await,
            }
            all.count(entry, -1);
            tracing::info!(pid, kind = entry.name(), "a process that could not be killed has ended");
            telling.send_replace(true);
        });
        Remains::new(pid, gone)
    }

    /// Says no to one more helper if there are too many that cannot be killed.
    pub(crate) fn admit(&self, entry: Entry) -> Result<()> {
        let number = self.lock().get(entry.name()).copied().unwrap_or_default();
        if entry == Entry::Helper && number >= MAX_HELPERS {
            return Err(Error::Refused(format!("{number} helpers are there that cannot be killed")));
        }
        Ok(())
    }

    fn count(&self, entry: Entry, change: isize) {
        let mut all = self.lock();
        let number = all.entry(entry.name()).or_default();
        *number = number.saturating_add_signed(change);
        executing::unkillable(entry.name(), *number);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<&'static str, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until a process has ended, whatever its parent is.
///
/// The runtime has no type for processes that are not its children; that for pipes is as good to wait with.
pub(crate) async fn until_ended(process: &OwnedFd) {
    loop {
        let process = process.try_clone().and_then(Receiver::from_owned_fd_unchecked);
        let ended = match process {
            Ok(process) => process.readable().await,
            Err(error) => Err(error),
        };
        match ended.map_err(Error::Io) {
            Ok(()) => return,
            Err(error) if error.is_for_now() => tokio::time::sleep(UNTIL_ROOM).await,
            Err(error) => {
                tracing::warn!("the end of a process cannot be waited for: {}", chain(&error));
                return;
            }
        }
    }
}

/// The same for a process of which there was no descriptor left to have. Its number stays its own for as long as its parent
/// has not been told of its end.
async fn until_ended_by_number(pid: i32) {
    let Some(pid) = Pid::from_raw(pid) else { return };
    loop {
        match pidfd_open(pid, PidfdFlags::empty()).map_err(Error::from) {
            Ok(process) => return until_ended(&process).await,
            Err(error) if error.is_for_now() => tokio::time::sleep(UNTIL_ROOM).await,
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};

    use super::*;

    #[tokio::test]
    async fn helpers_are_refused_while_too_many_cannot_be_killed() {
        let mut sleeping = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = sleeping.id().cast_signed();
        let process = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
        let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
        let _recorder = metrics::set_default_local_recorder(&prometheus);
        let is_shown = |number: usize| {
            let line = format!("ferroflow_processes_unkillable{{kind=\"helper\"}} {number}\n");
            prometheus.shown().text().contains(&line)
        };
        let given_up = Arc::new(GivenUp::default());
        let all: Vec<Remains> =
            (0..MAX_HELPERS).map(|_| given_up.note(Entry::Helper, pid, &process)).collect();
        assert!(given_up.admit(Entry::Helper).is_err());
        assert!(given_up.admit(Entry::Task).is_ok());
        assert!(!all.iter().any(Remains::is_gone));
        assert!(is_shown(MAX_HELPERS), "{}", prometheus.shown().text());
        sleeping.kill().unwrap();
        for remains in &all {
            remains.gone().await;
        }
        assert!(all.iter().all(Remains::is_gone));
        assert!(is_shown(0), "{}", prometheus.shown().text());
        assert!(given_up.admit(Entry::Helper).is_ok());
        sleeping.wait().unwrap();
    }
}
