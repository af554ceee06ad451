//! What is concluded when the process of a task has ended.

use std::fmt;

use crate::state::TaskState;

/// How a task's process ended, and what was known by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How it ended.
    pub exit: Exit,
    /// The state that it reported, and that is in its row.
    pub reported: Option<TaskState>,
    /// Why it was ended, if it was.
    pub ordered: Option<EndOrder>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed and is there still: it waits in the kernel, and does nothing any more.
    CannotBeKilled,
    /// With Python's fork server, from which it was forked.
    WithForkServer,
    /// With the process that had its DAG file imported, from which it was forked.
    WithZygote,
}

/// Why a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOrder {
    /// Its task instance was cleared, marked or deleted: it is not wanted any more.
    Unwanted,
    /// It had reported its state, and then took too long with what follows: callbacks, listeners.
    Overtime,
    /// The executor stops.
    Shutdown,
    /// For too long its heartbeats could not be stored; by now it may be taken for dead.
    HeartbeatsFailed,
}

/// What follows from an ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Its row tells what became of it.
    Reported(TaskState),
    /// Its row belongs to another try by now.
    Unwanted,
    /// It ended without reporting a state: it has failed, or is tried again.
    Unreported(EndedHow),
}

/// How something ended that reported nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedHow {
    /// How it ended.
    pub exit: Exit,
    /// Why it was ended, if it was.
    pub ordered: Option<EndOrder>,
}

/// What is concluded. What the row says counts, however the process ended afterwards: a callback that crashes does
/// not undo a success.
pub fn conclude(ending: Ending) -> Conclusion {
    let Ending { exit, reported, ordered } = ending;
    match (reported, ordered) {
        (Some(state), _) => Conclusion::Reported(state),
        (None, Some(EndOrder::Unwanted)) => Conclusion::Unwanted,
        (None, ordered) => Conclusion::Unreported(EndedHow { exit, ordered }),
    }
}

impl fmt::Display for EndedHow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ordered {
            Some(EndOrder::Shutdown) => {
                return f.write_str("The executor was stopped, and the task with it.");
            }
            Some(EndOrder::HeartbeatsFailed) => {
                return f.write_str(
                    "The metadata database could not be reached for longer than [scheduler] \
                     task_instance_heartbeat_timeout, after which the task may be started elsewhere: it was ended.",
                );
            }
            Some(EndOrder::Unwanted | EndOrder::Overtime) | None => {}
        }
        match self.exit {
            Exit::Code(0) => f.write_str(
                "The task's process ended with exit code 0 without telling what became of the task. Does it call \
                 os._exit()?",
            ),
            Exit::Code(code) => write!(f, "The task's process ended with exit code {code}."),
            Exit::Signal(9) => f.write_str(
                "The task's process was killed by signal 9 (SIGKILL): by the system because memory ran out, most \
                 likely, or by somebody.",
            ),
            Exit::Signal(11) => f.write_str(
                "The task's process was killed by signal 11 (SIGSEGV): a library in native code crashed.",
            ),
            Exit::Signal(number) => write!(f, "The task's process was killed by signal {number}."),
            Exit::CannotBeKilled => f.write_str(
                "The task's process was killed and does not end: it waits in the kernel, most likely for a file system \
                 that does not answer. It does nothing any more, but its slot is free only once it is gone.",
            ),
            Exit::WithForkServer => {
                f.write_str("Python's fork server died, and the task's process with it.")
            }
            Exit::WithZygote => f.write_str(
                "The process that had the DAG file imported ([ferroflow] task_templates) died, and the task's process, \
                 which was forked from it, as well.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASH: Ending = Ending { exit: Exit::Signal(9), reported: None, ordered: None };

    #[test]
    fn what_was_reported_stays_however_it_ended() {
        for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(11), Exit::WithForkServer, Exit::WithZygote] {
            for ordered in
                [None, Some(EndOrder::Overtime), Some(EndOrder::Unwanted), Some(EndOrder::Shutdown)]
            {
                let ending = Ending { exit, reported: Some(TaskState::Success), ordered };
                assert_eq!(conclude(ending), Conclusion::Reported(TaskState::Success));
            }
        }
    }

    #[test]
    fn an_unreported_end_is_a_failure_unless_the_task_is_not_to_run() {
        for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::WithForkServer, Exit::WithZygote] {
            let conclusion = conclude(Ending { exit, ..CRASH });
            assert_eq!(conclusion, Conclusion::Unreported(EndedHow { exit, ordered: None }));
            let unwanted = Ending { exit, ordered: Some(EndOrder::Unwanted), ..CRASH };
            assert_eq!(conclude(unwanted), Conclusion::Unwanted);
        }
        let ordered = Some(EndOrder::Shutdown);
        let stopped = conclude(Ending { ordered, ..CRASH });
        assert_eq!(stopped, Conclusion::Unreported(EndedHow { exit: Exit::Signal(9), ordered }));
    }

    #[test]
    fn the_reason_is_a_sentence() {
        let text = |exit, ordered| EndedHow { exit, ordered }.to_string();
        assert!(text(Exit::Signal(9), None).contains("memory ran out"));
        assert!(text(Exit::Code(7), None).contains("exit code 7"));
        assert!(text(Exit::CannotBeKilled, None).contains("was killed and does not end"));
        assert!(text(Exit::WithZygote, None).contains("task_templates"));
        assert!(text(Exit::Signal(9), Some(EndOrder::Shutdown)).contains("executor was stopped"));
        assert!(text(Exit::Signal(9), Some(EndOrder::HeartbeatsFailed)).contains("heartbeat_timeout"));
    }
}
