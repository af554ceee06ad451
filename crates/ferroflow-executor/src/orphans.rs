//! Task instances that an executor of this host had, which is gone.
//!
//! Tasks do not outlive the process that supervises them: the kernel ends Python's fork server and its children with
//! it. So there is nothing to take over, but much to account for: what ran has ended without a word, and what was only
//! queued has not begun.

use std::path::Path;
use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock::Stopwatch;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

use crate::supervise::Supervision;

/// What a task is told that lost its supervisor.
const REASON: &str = "The process that supervised the task has ended, and the task with it.";

/// What Python's fork server calls its process, and so its children before they have a task.
const FORK_SERVER: &str = "ferroflow-fork";

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
            end(pid, orphan.id).await;
        }
        self.service.ended_without_a_word(orphan.id, orphan.try_number, REASON).await?;
        Ok(Adopted::Settled)
    }
}

impl Supervision {
    /// Ends what runs something of this identity, should it still run on this host, and waits for that.
    pub async fn end_process(&self, (pid, host): &(i32, String), id: Uuid) {
        if *host == self.host.name {
            end(*pid, id).await;
        }
    }
}

/// Ends the process of a try, should it still be there, and waits for that.
async fn end(pid: i32, id: Uuid) {
    const PAUSE: Duration = Duration::from_millis(5);
    const PATIENCE: Duration = Duration::from_secs(10);
    let Some(pid) = Pid::from_raw(pid) else { return };
    // A descriptor means the same process for good; whether it is the right one is looked at through the number.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let since = Stopwatch::start();
    while is_process_of(pid, id) && since.elapsed() < PATIENCE {
        let _ = pidfd_send_signal(&process, Signal::KILL);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Airflow's task runner gives its process a title with the id of the try. Until a child of the fork server was told
/// what to run, it has the fork server's name: a scheduler that stands still just then would tell it later.
fn is_process_of(pid: Pid, id: Uuid) -> bool {
    let folder = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    let read = |file: &str| std::fs::read(folder.join(file)).unwrap_or_default();
    let title = read("cmdline");
    // One that has ended and was not waited for has a name still, and no title.
    String::from_utf8_lossy(&title).contains(&id.to_string())
        || (!title.is_empty() && read("comm").trim_ascii() == FORK_SERVER.as_bytes())
}
