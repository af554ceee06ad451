//! Workloads that an executor of this host had, which is gone.
//!
//! They do not outlive the process that supervises them: the kernel ends Python's fork server and its children with it. So
//! there is nothing to take over, but much to account for: what ran has ended without telling, and what was only queued has
//! not begun.

use std::os::fd::OwnedFd;
use std::time::Duration;

use ferroflow_python::{Entry, processes};
use jiff::{SignedDuration, Timestamp};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

use crate::{Adopted, Orphan, WorkloadKey};

/// Why a task has ended that lost its supervisor.
const REASON: &str = "The process that supervised the task has ended, and the task with it.";

/// So much later than its row says a process may seem to have started: the kernel tells it by its own clock.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(2);

/// So long it is waited for processes that were killed. The loop of the scheduler waits, too.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Ends what runs on this host. Afterwards none of it does anything any more.
pub(super) async fn adopt(host: &str, orphans: &[Orphan]) -> Vec<Adopted> {
    let is_here = |orphan: &&Orphan| orphan.has_begun && orphan.hostname.as_deref() == Some(host);
    end_all(orphans.iter().filter(is_here).filter_map(Sought::of), PATIENCE).await;
    let fate = |orphan: &Orphan| {
        if is_here(&orphan) { Adopted::Ended(REASON.to_owned()) } else { Adopted::NotFound }
    };
    orphans.iter().map(fate).collect()
}

/// A process by what it was for: its number may be another's by now.
struct Sought {
    pid: i32,
    id: Uuid,
    entry: Entry,
    /// When it was last known under its number.
    last_seen: Timestamp,
}

/// Ends processes, should they still be there, and waits for that: for all of them together, and not for long. One that
/// waits in the kernel was killed, and does nothing any more.
async fn end_all(sought: impl Iterator<Item = Sought>, patience: Duration) {
    let opened = sought.filter_map(|sought| {
        // A descriptor means the same process for good; whether it is the right one is looked at through the number.
        let process = pidfd_open(Pid::from_raw(sought.pid)?, PidfdFlags::empty()).ok()?;
        Some((process, sought))
    });
    let mut left: Vec<(OwnedFd, Sought)> = opened.collect();
    let ending = async {
        loop {
            left.retain(|(process, sought)| sought.is_process() && sought.kill(process));
            if left.is_empty() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    if tokio::time::timeout(patience, ending).await.is_err() {
        for (_, Sought { pid, id, .. }) in &left {
            tracing::warn!(pid, %id, "a process of an executor that is gone was killed and does not end");
        }
    }
}

impl Sought {
    /// What is known of the process of an orphan, which runs on this host.
    fn of(orphan: &Orphan) -> Option<Self> {
        let entry = match orphan.workload {
            WorkloadKey::Task(_) => Entry::Task,
            WorkloadKey::Callback(_) => Entry::Callback,
            WorkloadKey::ConnectionTest(_) => Entry::ConnectionTest,
        };
        let last_seen = orphan.last_seen.unwrap_or(Timestamp::MIN);
        Some(Self { pid: orphan.pid?, id: orphan.workload.id(), entry, last_seen })
    }

    /// Airflow's task runner gives its process a title with the id of the try. A child of the fork server that was not
    /// told yet what to run has none; a scheduler that stands still just then would tell it later. One that has started
    /// after the other was last seen has its number from it. What this process or a descendant has started is never it.
    fn is_process(&self) -> bool {
        // One that has ended and was not waited for has a number still, and no title.
        let title = processes::title(self.pid);
        let is_named = title.contains(&self.id.to_string());
        (is_named || (title == processes::untold_title(self.entry) && self.may_be_old_enough()))
            && !processes::is_own(self.pid)
    }

    /// Kills it. False if that is not to be: it runs as another user.
    fn kill(&self, process: &OwnedFd) -> bool {
        let is_forbidden = pidfd_send_signal(process, Signal::KILL) == Err(Errno::PERM);
        if is_forbidden {
            let Self { pid, id, .. } = self;
            tracing::error!(
                pid, %id,
                "a process of an executor that is gone belongs to another user, and cannot be killed: it may run on"
            );
        }
        !is_forbidden
    }

    fn may_be_old_enough(&self) -> bool {
        let later = |started: Timestamp| started.duration_since(self.last_seen);
        processes::started(self.pid).is_some_and(|started| later(started) <= CLOCKS_DIFFER)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use ferroflow_testkit::Held;

    use ferroflow_telemetry::clock;

    use super::*;

    /// A process whose parent is gone, under the title that Airflow's task runner gives to that of a try; and what holds it
    /// when it is killed.
    fn left_behind(id: Uuid, is_held: bool) -> (Sought, Option<Held>) {
        let title = format!("airflow worker -- {id}");
        let script = "(exec -a \"$0\" sleep 600) > /dev/null 2>&1 & echo $!; read";
        let mut parent = Command::new("bash")
            .args(["-c", script, &title])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap();
        // It has its title only a moment after it was started.
        while processes::title(pid) != title {
            std::thread::yield_now();
        }
        // That is allowed as long as it is a descendant.
        let held = is_held.then(|| Held::new(pid));
        drop(parent.stdin.take());
        parent.wait().unwrap();
        (Sought { pid, id, entry: Entry::Task, last_seen: clock::now() }, held)
    }

    fn is_there(pid: i32) -> bool {
        !processes::title(pid).is_empty()
    }

    #[tokio::test]
    async fn all_are_killed_before_any_is_waited_for() {
        let (sought, held): (Vec<Sought>, Vec<Option<Held>>) =
            (1..=3).map(|number| left_behind(Uuid::from_u128(number), number < 3)).unzip();
        let pids: Vec<i32> = sought.iter().map(|one| one.pid).collect();
        let ending = tokio::spawn(end_all(sought.into_iter(), Duration::from_hours(1)));
        while is_there(pids[2]) {
            tokio::time::sleep(PAUSE).await;
        }
        assert!(!ending.is_finished() && pids[..2].iter().all(|pid| is_there(*pid)));
        drop(held);
        ending.await.unwrap();
        assert!(!pids.iter().any(|pid| is_there(*pid)));
    }

    #[tokio::test]
    async fn one_that_does_not_end_is_not_waited_for_for_good() {
        let (sought, held) = left_behind(Uuid::from_u128(4), true);
        let pid = sought.pid;
        end_all(std::iter::once(sought), PAUSE).await;
        assert!(is_there(pid));
        drop(held);
        while is_there(pid) {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
