//! What is left over of a fork server that was killed.
//!
//! A fork server that ends by itself leaves nothing behind. Killed, it takes its children along (the kernel sees to
//! that), but not what these had started. Each of them still shows the mark that the fork server was started with.

use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The environment variable that marks everything a fork server starts.
pub(crate) const MARK: &str = "FERROFLOW_FORK_SERVER";

/// Kills every process with this mark, until there is none. Reads files of `/proc`: not for the runtime's threads.
pub(crate) fn kill(mark: &str) {
    const ROUNDS: usize = 100;
    let entry = format!("{MARK}={mark}");
    for _ in 0..ROUNDS {
        let found = marked(&entry);
        if found.is_empty() {
            return;
        }
        for pid in found {
            kill_if_marked(pid, &entry);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    tracing::warn!(mark, "processes of a lost fork server could not be killed");
}

fn marked(entry: &str) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(|pid| has_mark(*pid, entry)).collect()
}

/// Through a descriptor that is opened first, so that the process that has the mark is the one that is killed.
fn kill_if_marked(pid: Pid, entry: &str) {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if has_mark(pid, entry) {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
}

/// Of a process that has ended, and waits for its parent to see it, nothing can be read.
fn has_mark(pid: Pid, entry: &str) -> bool {
    let file = Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("environ");
    std::fs::read(file).is_ok_and(|text| text.split(|byte| *byte == 0).any(|found| found == entry.as_bytes()))
}
