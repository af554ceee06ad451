//! How many files, pipes and sockets processes may have open.

use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// More than this is of no use.
const ENOUGH: u64 = 1 << 20;

/// What a child takes of this process: its channel, three pipes, its process, its log.
const PER_CHILD: u64 = 6;

/// What everything else takes: the database, files that are read, connections to what is served here.
const BESIDES: u64 = 256;

/// The limit that this process was started with.
static USUAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of this process as far as it may; to be called when it starts. What runs user code has the limit that
/// was there before: programs that use `select()` count on it.
pub fn raise_limit() {
    let usual = getrlimit(Resource::Nofile);
    let wanted = usual.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if usual.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = Rlimit { current: Some(wanted), maximum: usual.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => drop(USUAL.set(usual)),
        Err(error) => tracing::warn!(%error, "the limit of open files cannot be raised"),
    }
}

/// Why so many children at a time are too many for the limit of open files, if they are.
pub fn shortage(children: u64) -> Option<String> {
    too_few(getrlimit(Resource::Nofile).current?, children)
}

fn too_few(limit: u64, children: u64) -> Option<String> {
    let needed = children.saturating_mul(PER_CHILD).saturating_add(BESIDES);
    (limit < needed).then(|| {
        format!(
            "{children} processes of user code at a time need about {needed} open files, and this process may have \
             {limit}: raise the hard limit (ulimit -Hn, LimitNOFILE) or lower [core] parallelism; tasks wait to be \
             started where none is left"
        )
    })
}

/// Gives a process that was just started the limit that this one was started with.
pub(crate) fn restore_limit(pid: Option<u32>) {
    let pid = pid.and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let (Some(pid), Some(usual)) = (pid, USUAL.get()) else { return };
    if let Err(error) = prlimit(Some(pid), Resource::Nofile, *usual) {
        tracing::warn!(%error, "user code has a higher limit of open files than usual");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_low_is_told_with_what_to_do() {
        assert_eq!(too_few(1024, 32), None);
        let warning = too_few(1024, 160).unwrap();
        assert!(warning.contains("160 processes") && warning.contains("about 1216"), "{warning}");
        assert_eq!(too_few(u64::MAX, u64::MAX), None);
    }
}
