//! What the kernel tells of the processes of this host, by their numbers. A number is used again when its process is
//! gone: code that has one from elsewhere looks here whether it still means what it meant.

use std::path::{Path, PathBuf};

use ferroflow_telemetry::clock;
use jiff::{SignedDuration, Timestamp};

use crate::Entry;

/// How the kernel counts time in `/proc`, on every architecture that Linux has kept this of.
const TICKS_PER_SECOND: u64 = 100;

/// How many generations are looked at: a chain that changes meanwhile has an end, too.
const MAX_ANCESTORS: usize = 100;

/// What a child of a fork server is called until it was told what to do: see `titles.py`.
pub fn untold_title(entry: Entry) -> String {
    format!("ferroflow {} -- waits", entry.name())
}

/// What a process is called, without its arguments; nothing if it has ended.
pub fn title(pid: i32) -> String {
    let line = std::fs::read(folder(pid).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// When a process was started, to about a second; nothing if it is gone.
pub fn started(pid: i32) -> Option<Timestamp> {
    let since_boot = read_stat(pid)?.start_ticks / TICKS_PER_SECOND;
    let uptime = u64::try_from(rustix::system::sysinfo().uptime).ok()?;
    let age = SignedDuration::from_secs(i64::try_from(uptime.saturating_sub(since_boot)).ok()?);
    clock::now().checked_sub(age).ok()
}

/// Whether it is this process, or one that this or a descendant of it has started.
pub fn is_own(pid: i32) -> bool {
    let own = std::process::id().cast_signed();
    let ancestors = std::iter::successors(Some(pid), |pid| Some(read_stat(*pid)?.parent));
    ancestors.take(MAX_ANCESTORS).take_while(|pid| *pid > 0).any(|pid| pid == own)
}

fn folder(pid: i32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    start_ticks: u64,
}

fn read_stat(pid: i32) -> Option<Stat> {
    parse_stat(&String::from_utf8_lossy(&std::fs::read(folder(pid).join("stat")).ok()?))
}

/// The name, in parentheses, may have anything in it.
fn parse_stat(text: &str) -> Option<Stat> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let (parent, start_ticks) = (fields.nth(1)?, fields.nth(17)?);
    Some(Stat { parent: parent.parse().ok()?, start_ticks: start_ticks.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let text =
            "4242 (odd) S 1) name) S 17 4242 4242 0 -1 4194304 170 0 0 0 1 2 3 4 20 0 1 0 987654 3 4 5\n";
        assert_eq!(parse_stat(text), Some(Stat { parent: 17, start_ticks: 987_654 }));
        for bad in ["", "4242 (name", "4242 (name) S", "4242 (name) S x 1 1"] {
            assert_eq!(parse_stat(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_process_is_its_own_and_was_started_before_now_and_after_the_first() {
        let own = std::process::id().cast_signed();
        assert!(is_own(own));
        assert!(!is_own(1), "the first of all is nobody's descendant");
        let (first, this) = (started(1).unwrap(), started(own).unwrap());
        assert!(first <= this && this <= clock::now(), "{first} {this}");
        assert!(!title(own).is_empty());
    }

    #[test]
    fn of_a_process_that_is_gone_nothing_is_told() {
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        let pid = gone.id().cast_signed();
        assert!(is_own(pid));
        gone.wait().unwrap();
        assert_eq!((started(pid), title(pid), is_own(pid)), (None, String::new(), false));
    }
}
