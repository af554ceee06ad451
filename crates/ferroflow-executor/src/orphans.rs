//! Task instances that an executor of this host had, which is gone.
//!
//! Tasks do not outlive the process that supervises them: the kernel ends Python's fork server and its children with
//! it. So there is nothing to take over, but much to account for: what ran has ended without a word, and what was only
//! queued has not begun.

use std::os::fd::OwnedFd;
use std::time::Duration;

use ferroflow_db::callback::due::HolderProcess;
use ferroflow_execution::Refusal;
use ferroflow_model::state::TaskState;
use ferroflow_python::{Entry, processes};
use ferroflow_supervisor::Supervision;
use jiff::{SignedDuration, Timestamp};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

/// What a task is told that lost its supervisor.
const REASON: &str = "The process that supervised the task has ended, and the task with it.";

/// So much later than its row says a process may seem to have started: the kernel tells it by its own clock.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(2);

/// So long it is waited for processes that were killed. The loop of the scheduler waits, too.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// A task instance whose executor is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The identity of its try.
    pub id: Uuid,
    /// Which try it is.
    pub try_number: i32,
    /// Where it stands.
    pub state: TaskState,
    /// The host that it runs on.
    pub hostname: Option<String>,
    /// Its process.
    pub pid: Option<i32>,
    /// When that was last known to be its process.
    pub last_seen: Option<Timestamp>,
}

/// What became of an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// It ran here and runs no more; its row tells what became of it.
    Settled,
    /// It had not begun: it can be handed out again.
    NotBegun,
    /// It runs on another host, whose executor has to say what became of it.
    Elsewhere,
}

/// Ends what runs task instances whose executor is gone, should it still run on this host. Afterwards none of them does
/// anything any more.
pub async fn end_tasks(supervision: &Supervision, orphans: &[Orphan]) {
    let of_orphan = |orphan: &Orphan| {
        let is_here = orphan.has_begun() && orphan.hostname.as_deref() == Some(&supervision.host.name);
        let last_seen = orphan.last_seen.unwrap_or(Timestamp::MIN);
        let pid = orphan.pid.filter(|_| is_here)?;
        Some(Sought { pid, id: orphan.id, entry: Entry::Task, last_seen })
    };
    end_all(orphans.iter().filter_map(of_orphan), PATIENCE).await;
}

/// The same for callbacks, each with its process and the host of that.
pub async fn end_callbacks(
    supervision: &Supervision,
    callbacks: impl Iterator<Item = (Uuid, &HolderProcess)>,
) {
    let here = callbacks.filter(|(_, process)| process.hostname == supervision.host.name);
    let of_callback = |(id, process): (Uuid, &HolderProcess)| Sought {
        pid: process.pid,
        id,
        entry: Entry::Callback,
        last_seen: process.seen.unwrap_or(Timestamp::MIN),
    };
    end_all(here.map(of_callback), PATIENCE).await;
}

/// Accounts for a task instance whose executor is gone, and whose process was [ended](end_tasks).
pub async fn adopt(supervision: &Supervision, orphan: &Orphan) -> Result<Adopted, Refusal> {
    if !orphan.has_begun() {
        return Ok(Adopted::NotBegun);
    }
    if orphan.hostname.as_deref() != Some(&supervision.host.name) {
        return Ok(Adopted::Elsewhere);
    }
    supervision.service.fail_unreported(orphan.id, orphan.try_number, REASON).await?;
    Ok(Adopted::Settled)
}

impl Orphan {
    fn has_begun(&self) -> bool {
        matches!(self.state, TaskState::Running | TaskState::Restarting)
    }
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

    use ferroflow_telemetry::clock;
    use ferroflow_testkit::Held;

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
