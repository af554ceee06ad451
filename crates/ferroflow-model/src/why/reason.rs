//! A reason, and who is behind it.

use jiff::Timestamp;

/// Why something does not happen, or what happens instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Which kind of reason, for programs.
    pub kind: Kind,
    /// The reason, in words.
    pub text: String,
    /// Who holds what is waited for.
    pub holders: Vec<Holder>,
    /// Since when it is so.
    pub since: Option<Timestamp>,
    /// Until when, if nothing else happens.
    pub until: Option<Timestamp>,
}

/// Who holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which run or task instance.
    pub what: String,
    /// Where it stands.
    pub state: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// A scheduler or a triggerer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its row in `job`.
    pub id: i64,
    /// The host it runs on.
    pub hostname: String,
    /// When it last showed that it lives.
    pub heartbeat: Option<Timestamp>,
    /// Whether that is not too long ago.
    pub is_alive: bool,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No scheduler lives.
    NoScheduler,
    /// The DAG is paused.
    Paused,
    /// The file of the DAG is gone.
    Stale,
    /// The file of the DAG cannot be imported.
    ImportError,
    /// What is stored of the DAG is missing or cannot be read.
    NoDefinition,
    /// A row that matters cannot be read.
    UnreadableRow,
    /// Nothing but a person or another DAG asks for runs.
    NoSchedule,
    /// It is too early.
    NotDue,
    /// Assets are waited for.
    Assets,
    /// `max_active_runs` is reached.
    MaxActiveRuns,
    /// The backfill is in the way.
    Backfill,
    /// Nothing is in the way: it is next.
    Next,
    /// The run does not run.
    RunNotRunning,
    /// Another transaction has locked the row of the run.
    Locked,
    /// The database does not take what follows in the run.
    Refused,
    /// What it depends on is not as it has to be.
    Dependencies,
    /// The next try, or the next look, is not due.
    Delay,
    /// There is no such pool.
    NoPool,
    /// The pool has no room.
    Pool,
    /// `max_active_tasks` is reached.
    MaxActiveTasks,
    /// A limit of the task itself is reached.
    TaskLimit,
    /// No executor takes it.
    Executor,
    /// `[core] parallelism` is reached.
    Parallelism,
    /// An executor has it.
    Queued,
    /// It runs.
    Running,
    /// A trigger is waited for.
    Deferred,
    /// A person is waited for.
    AwaitsInput,
    /// It is over.
    Finished,
}

impl Kind {
    /// What programs call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoScheduler => "no_scheduler",
            Self::Paused => "paused",
            Self::Stale => "stale",
            Self::ImportError => "import_error",
            Self::NoDefinition => "no_definition",
            Self::UnreadableRow => "unreadable_row",
            Self::NoSchedule => "no_schedule",
            Self::NotDue => "not_due",
            Self::Assets => "assets",
            Self::MaxActiveRuns => "max_active_runs",
            Self::Backfill => "backfill",
            Self::Next => "next",
            Self::RunNotRunning => "run_not_running",
            Self::Locked => "locked",
            Self::Refused => "refused",
            Self::Dependencies => "dependencies",
            Self::Delay => "delay",
            Self::NoPool => "no_pool",
            Self::Pool => "pool",
            Self::MaxActiveTasks => "max_active_tasks",
            Self::TaskLimit => "task_limit",
            Self::Executor => "executor",
            Self::Parallelism => "parallelism",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Deferred => "deferred",
            Self::AwaitsInput => "awaits_input",
            Self::Finished => "finished",
        }
    }
}

impl Reason {
    /// A reason without holders or times.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), holders: Vec::new(), since: None, until: None }
    }

    pub(super) fn since(self, since: Option<Timestamp>) -> Self {
        Self { since, ..self }
    }

    pub(super) fn until(self, until: Option<Timestamp>) -> Self {
        Self { until, ..self }
    }

    pub(super) fn held_by(self, holders: Vec<Holder>) -> Self {
        Self { holders, ..self }
    }
}

/// That no scheduler is running, if so.
pub(super) fn without_scheduler(schedulers: &[Component]) -> Option<Reason> {
    if schedulers.iter().any(|scheduler| scheduler.is_alive) {
        return None;
    }
    let last = schedulers.iter().max_by_key(|scheduler| scheduler.heartbeat);
    Some(match last {
        None => Reason::new(Kind::NoScheduler, "no scheduler runs"),
        Some(last) => {
            let text = format!("no scheduler lives; {} was heard last", last.in_words("scheduler"));
            Reason::new(Kind::NoScheduler, text).since(last.heartbeat)
        }
    })
}

impl Component {
    /// What people call it.
    pub(super) fn in_words(&self, what: &str) -> String {
        format!("{what} {} on {}", self.id, self.hostname)
    }
}
