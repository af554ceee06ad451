//! What an examination decides.

use jiff::Timestamp;

use crate::dag::TaskIndex;
use crate::state::TaskState;

/// What happens next in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to do with instances, in this order.
    pub actions: Vec<Action>,
    /// What became of the run.
    pub run: RunVerdict,
}

/// One instance of a task of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceRef {
    /// The task.
    pub task: TaskIndex,
    /// Which one, of those of a mapped task.
    pub map_index: i32,
}

/// Something to do with instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It goes to a final state without having run. Start, end and duration are filled in where they are missing.
    Settle {
        /// The instance.
        instance: InstanceRef,
        /// The state that it leaves.
        from: Option<TaskState>,
        /// The state that it goes to.
        to: TaskState,
    },
    /// The same without dates: it never was there to start.
    Overwrite {
        /// The instance.
        instance: InstanceRef,
        /// The state that it leaves.
        from: Option<TaskState>,
        /// The state that it goes to.
        to: TaskState,
    },
    /// What is stored for it (results, rendered fields, lengths, notes, reschedules) is deleted.
    Forget {
        /// The instance.
        instance: InstanceRef,
    },
    /// The instance without map index becomes the first one with.
    BecomeFirst {
        /// The task.
        task: TaskIndex,
        /// The state that it is in.
        state: Option<TaskState>,
    },
    /// The instance without map index is deleted.
    Delete {
        /// The task.
        task: TaskIndex,
        /// The state that it is in.
        state: Option<TaskState>,
    },
    /// Instances are created.
    Create {
        /// The task.
        task: TaskIndex,
        /// The first map index.
        first: i32,
        /// One after the last map index.
        end: i32,
        /// The state that they begin in.
        state: Option<TaskState>,
    },
    /// It is ready, and goes to `scheduled`.
    Schedule {
        /// The instance.
        instance: InstanceRef,
        /// The state that it leaves.
        from: Option<TaskState>,
        /// Whether this begins a new try.
        is_new_try: bool,
    },
    /// It is ready, there is nothing to run, and it has succeeded at once: by a new try, whatever it leaves.
    Succeed {
        /// The instance.
        instance: InstanceRef,
        /// The state that it leaves.
        from: Option<TaskState>,
    },
    /// It is ready, and begins with its trigger.
    Defer {
        /// The instance.
        instance: InstanceRef,
        /// The state that it leaves.
        from: Option<TaskState>,
        /// Whether this begins a new try.
        is_new_try: bool,
    },
}

/// What to do with instances that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenReady {
    /// They are scheduled.
    Schedule,
    /// They stay as they are: the DAG is paused.
    Leave,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunVerdict {
    /// It goes on.
    Running,
    /// It is not looked at before its time has come.
    NotBefore(Timestamp),
    /// It has ended well.
    Success,
    /// It has ended badly: tasks at its end have failed.
    TasksFailed,
    /// It has ended badly: it has taken too long. What is unfinished is skipped.
    TimedOut,
    /// It has ended badly: there are unfinished instances, and nothing will ever make any of them ready.
    Deadlocked {
        /// The first unfinished one with something finished upstream.
        blocked: Option<InstanceRef>,
    },
}

impl std::fmt::Display for RunVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Running => f.write_str("the run goes on"),
            Self::NotBefore(date) => write!(f, "the run is about {date}, which has not come yet"),
            Self::Success => f.write_str("the run has succeeded"),
            Self::TasksFailed => f.write_str("the run has failed: tasks at its end have failed"),
            Self::TimedOut => f.write_str("the run has failed: it has taken longer than its DAG allows"),
            Self::Deadlocked { .. } => {
                f.write_str("the run has failed: no unfinished task can ever become ready")
            }
        }
    }
}
