//! What the log of a task says about its end.

use ferroflow_model::supervision::{Conclusion, EndOrder, EndedHow, Ending, Exit, conclude};

use crate::task_log::TaskLog;

/// Why it is ended.
pub(super) fn ordered(log: &TaskLog, order: EndOrder) {
    let (level, event) = match order {
        EndOrder::Unwanted => (
            "error",
            "The task instance is not to run any more: it was cleared, marked or deleted. It is ended.",
        ),
        EndOrder::Overtime => (
            "warning",
            "The task took longer than [core] task_success_overtime for what follows its end (callbacks, \
             listeners). It is ended.",
        ),
        EndOrder::Shutdown => ("warning", "The executor stops, and the task with it."),
        EndOrder::HeartbeatsFailed => (
            "error",
            "The metadata database could not be reached for too long: by now the task may be taken for dead. It is \
             ended.",
        ),
    };
    log.say(level, event, &[]);
}

/// How it ended, if that was no ordinary end.
pub(super) fn write(log: &TaskLog, ending: Ending) {
    let details = match ending.exit {
        Exit::Code(0) | Exit::CannotBeKilled | Exit::WithForkServer | Exit::WithZygote => vec![],
        Exit::Code(code) => vec![("exit_code", code.into())],
        Exit::Signal(number) => vec![("signal", number.into())],
    };
    match conclude(ending) {
        Conclusion::Unreported(how) => log.say("critical", &how.to_string(), &details),
        Conclusion::Reported(_) | Conclusion::Unwanted if ending.exit == Exit::CannotBeKilled => {
            let how = EndedHow { exit: ending.exit, ordered: None };
            log.say("critical", &how.to_string(), &details);
        }
        Conclusion::Reported(_) if ending.ordered.is_none() && !details.is_empty() => {
            log.say("warning", "The task's process did not end well after it had told its state.", &details);
        }
        Conclusion::Reported(_) | Conclusion::Unwanted => {}
    }
}
