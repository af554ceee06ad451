//! The words for where a thing stands, as the database spells them.

/// A word that is not one of the closed set a column may hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a {kind} (known: {})", known.join(", "))]
pub struct UnknownWord {
    pub(crate) kind: &'static str,
    pub(crate) word: String,
    pub(crate) known: &'static [&'static str],
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal: $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            const WORDS: &[&str] = &[$($word),*];

            /// As the database spells it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::state::UnknownWord;

            fn from_str(word: &str) -> Result<Self, $crate::state::UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::state::UnknownWord {
                        kind: $kind,
                        word: word.to_owned(),
                        known: Self::WORDS,
                    }),
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The state of a task instance. One that no scheduler has looked at yet has none: NULL in the database,
    /// `Option::None` here.
    TaskState, "state of a task instance":
    /// Every dependency is met; it waits for a slot.
    Scheduled = "scheduled",
    /// It holds a slot and was handed to an executor.
    Queued = "queued",
    /// Its process runs.
    Running = "running",
    /// It was cleared while it ran, and its process has yet to end.
    Restarting = "restarting",
    /// It failed, and waits for its next try.
    UpForRetry = "up_for_retry",
    /// It asked to be looked at again later.
    UpForReschedule = "up_for_reschedule",
    /// It waits for a trigger.
    Deferred = "deferred",
    /// It waits for a person.
    AwaitingInput = "awaiting_input",
    /// It did what it should.
    Success = "success",
    /// It failed for good.
    Failed = "failed",
    /// It was passed over.
    Skipped = "skipped",
    /// What it depends on failed.
    UpstreamFailed = "upstream_failed",
    /// Its task is no longer in the DAG.
    Removed = "removed",
}

impl TaskState {
    /// Whether nothing more happens to it by itself.
    pub const fn is_finished(self) -> bool {
        self.is_good_end() || self.is_bad_end() || matches!(self, Self::Removed)
    }

    /// Whether a run whose last tasks are all so has succeeded.
    pub const fn is_good_end(self) -> bool {
        matches!(self, Self::Success | Self::Skipped)
    }

    /// Whether a run with a last task that is so has failed.
    pub const fn is_bad_end(self) -> bool {
        matches!(self, Self::Failed | Self::UpstreamFailed)
    }

    /// Whether it holds a place among the active tasks of its DAG.
    pub const fn is_executing(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }

    /// Whether it counts where the instances of one task are limited: it executes, or waits for something outside.
    pub const fn is_active(self) -> bool {
        self.is_executing() || matches!(self, Self::Deferred | Self::AwaitingInput)
    }

    /// Whether another scheduler looks after it when its own is gone.
    pub const fn is_adoptable(self) -> bool {
        self.is_executing() || matches!(self, Self::Restarting)
    }
}

/// Whether something is still to happen to a task instance.
pub fn is_unfinished(state: Option<TaskState>) -> bool {
    state.is_none_or(|state| !state.is_finished())
}

/// Whether a task instance is scheduled as soon as all that it depends on allows it.
pub const fn is_schedulable(state: Option<TaskState>) -> bool {
    matches!(state, None | Some(TaskState::UpForRetry | TaskState::UpForReschedule))
}

words! {
    /// The state of a DAG run.
    RunState, "state of a DAG run":
    /// It waits for its DAG to have room.
    Queued = "queued",
    /// It is being worked on.
    Running = "running",
    /// It ended well.
    Success = "success",
    /// It ended badly.
    Failed = "failed",
}

impl RunState {
    /// Whether nothing more happens to it by itself.
    pub const fn is_finished(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Success | Self::Failed => true,
        }
    }
}

words! {
    /// Why a DAG run exists.
    RunType, "type of a DAG run":
    /// Its backfill asked for it.
    Backfill = "backfill",
    /// Its timetable asked for it.
    Scheduled = "scheduled",
    /// A person or a program asked for it.
    Manual = "manual",
    /// An operator of another DAG asked for it.
    OperatorTriggered = "operator_triggered",
    /// An asset event asked for it.
    AssetTriggered = "asset_triggered",
    /// An asset was materialized by request.
    AssetMaterialization = "asset_materialization",
}

words! {
    /// Which door the request for a DAG run came through. The database holds the enum's member name.
    TriggeredBy, "origin of a DAG run":
    /// The command line.
    Cli = "CLI",
    /// An operator of another DAG.
    Operator = "OPERATOR",
    /// The REST API.
    RestApi = "REST_API",
    /// The web interface.
    Ui = "UI",
    /// `dag.test()`.
    Test = "TEST",
    /// The scheduler, for a timetable.
    Timetable = "TIMETABLE",
    /// The scheduler, for an asset.
    Asset = "ASSET",
    /// A backfill.
    Backfill = "BACKFILL",
}

words! {
    /// The state of a job: the row by which a long-running component shows that it lives.
    JobState, "state of a job":
    /// Alive, as long as its heartbeat is fresh.
    Running = "running",
    /// It ended cleanly.
    Success = "success",
    /// It ended badly, or a peer found it dead.
    Failed = "failed",
    /// It was asked to start over.
    Restarting = "restarting",
}

words! {
    /// The state of a callback.
    CallbackState, "state of a callback":
    /// It waits for its time.
    Scheduled = "scheduled",
    /// It waits for an executor.
    Pending = "pending",
    /// It was handed to an executor.
    Queued = "queued",
    /// It runs.
    Running = "running",
    /// It ended well.
    Success = "success",
    /// It ended badly.
    Failed = "failed",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for state in TaskState::ALL {
            assert_eq!(state.as_str().parse(), Ok(*state));
        }
        for origin in TriggeredBy::ALL {
            assert_eq!(origin.as_str().parse(), Ok(*origin));
        }
    }

    /// The states for which something is so, as the database spells them; NULL is `none`.
    fn states(is_so: impl Fn(Option<TaskState>) -> bool) -> String {
        let all = std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some));
        let found = all.filter(|state| is_so(*state)).map(|state| state.map_or("none", TaskState::as_str));
        found.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_sets_are_those_of_airflow() {
        let of = |is_so: fn(TaskState) -> bool| states(|state| state.is_some_and(is_so));
        assert_eq!(of(TaskState::is_finished), "success failed skipped upstream_failed removed");
        assert_eq!(of(TaskState::is_good_end), "success skipped");
        assert_eq!(of(TaskState::is_bad_end), "failed upstream_failed");
        assert_eq!(of(TaskState::is_executing), "queued running");
        assert_eq!(of(TaskState::is_active), "queued running deferred awaiting_input");
        assert_eq!(of(TaskState::is_adoptable), "queued running restarting");
        assert_eq!(
            states(is_unfinished),
            "none scheduled queued running restarting up_for_retry up_for_reschedule deferred awaiting_input"
        );
        assert_eq!(states(is_schedulable), "none up_for_retry up_for_reschedule");
        let finished: Vec<_> = RunState::ALL.iter().filter(|state| state.is_finished()).collect();
        assert_eq!(finished, [&RunState::Success, &RunState::Failed]);
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_known_ones() {
        let error = "done".parse::<RunState>().unwrap_err();
        assert_eq!(
            error.to_string(),
            r#""done" is not a state of a DAG run (known: queued, running, success, failed)"#
        );
    }
}
