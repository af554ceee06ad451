//! Task instances that an executor of this host had, which is gone.
//!
//! Tasks do not outlive the process that supervises them: the kernel ends Python's fork server and its children with
//! it. So there is nothing to take over, but much to account for: what ran has ended without a word, and what was only
//! queued has not begun.

use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_model::state::TaskState;
use ferroflow_python::{Entry, processes};
use ferroflow_telemetry::clock::Stopwatch;
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

use crate::supervise::Supervision;

/// What a task is told that lost its supervisor.
const REASON: &str = "The process that supervised the task has ended, and the task with it.";

/// So much later than its row says a process may seem to have started: the kernel tells it by its own clock.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(2);

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

impl Supervision {
    /// Looks after a task instance whose executor is gone. Its process does not run any more afterwards.
    pub async fn adopt(&self, orphan: &Orphan) -> Result<Adopted, Refusal> {
        match orphan.state {
            TaskState::Running | TaskState::Restarting => {}
            _ => return Ok(Adopted::NotBegun),
        }
        if orphan.hostname.as_deref() != Some(&self.host.name) {
            return Ok(Adopted::Elsewhere);
        }
        if let Some(pid) = orphan.pid {
            let last_seen = orphan.last_seen.unwrap_or(Timestamp::MIN);
            let sought = Sought { id: orphan.id, entry: Entry::Task, last_seen: Some(last_seen) };
            end(pid, &sought).await;
        }
        self.service.ended_without_a_word(orphan.id, orphan.try_number, REASON).await?;
        Ok(Adopted::Settled)
    }
}

impl Supervision {
    /// Ends what runs a callback, should it still run on this host, and waits for that.
    pub async fn end_callback(&self, (pid, host): &(i32, String), id: Uuid) {
        if *host == self.host.name {
            end(*pid, &Sought { id, entry: Entry::Callback, last_seen: None }).await;
        }
    }
}

/// A process by what it was for: its number may be another's by now.
struct Sought {
    id: Uuid,
    entry: Entry,
    /// When it was last known under its number, if that was put down.
    last_seen: Option<Timestamp>,
}

/// Ends a process, should it still be there, and waits for that.
async fn end(pid: i32, sought: &Sought) {
    const PAUSE: Duration = Duration::from_millis(5);
    const PATIENCE: Duration = Duration::from_secs(10);
    let Some(number) = Pid::from_raw(pid) else { return };
    // A descriptor means the same process for good; whether it is the right one is looked at through the number.
    let Ok(process) = pidfd_open(number, PidfdFlags::empty()) else { return };
    let since = Stopwatch::start();
    while sought.is_process(pid) {
        if since.elapsed() >= PATIENCE {
            // It was killed, and does nothing any more.
            tracing::warn!(pid, id = %sought.id, "a process of an executor that is gone cannot be killed");
            return;
        }
        let _ = pidfd_send_signal(&process, Signal::KILL);
        tokio::time::sleep(PAUSE).await;
    }
}

impl Sought {
    /// Airflow's task runner gives its process a title with the id of the try. A child of the fork server that was not
    /// told yet what to run has none; a scheduler that stands still just then would tell it later. One that has started
    /// after the other was last seen has its number from it. What this process or a descendant has started is never it.
    fn is_process(&self, pid: i32) -> bool {
        // One that has ended and was not waited for has a number still, and no title.
        let title = processes::title(pid);
        let is_named = title.contains(&self.id.to_string());
        (is_named || (title == processes::untold_title(self.entry) && self.may_be(pid)))
            && !processes::is_own(pid)
    }

    fn may_be(&self, pid: i32) -> bool {
        let Some(last_seen) = self.last_seen else { return true };
        processes::started(pid).is_some_and(|started| started.duration_since(last_seen) <= CLOCKS_DIFFER)
    }
}
