//! What a pass did, and why it did not do more.

use ferroflow_db::Error as DbError;
use ferroflow_model::runs::{create, partitions};
use ferroflow_model::state::RunType;
use ferroflow_operations::dag_run::BadParam;
use jiff::Timestamp;

use crate::NoAnswer;

/// What became of the DAGs that were looked at.
#[derive(Debug, Default)]
pub struct CreatedRuns {
    /// The runs that were made.
    pub created: Vec<Created>,
    /// DAGs whose next run was there already: only their schedule has moved on.
    pub advanced: Vec<String>,
    /// Partitions that began to wait when the mappers of their DAG were others: they were deleted.
    pub outdated_partitions: Vec<(String, i64)>,
    /// DAGs that are due and got no run.
    pub refused: Vec<Refused>,
    /// Whether more is due: the next pass can follow at once.
    pub is_more_due: bool,
}

/// A run that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its row.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// Its name.
    pub run_id: String,
    /// Why it exists.
    pub run_type: RunType,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// How many task instances it has.
    pub instances: usize,
    /// How many of them are of each kind of operator.
    pub operators: Vec<(String, usize)>,
    /// How many asset events it consumes.
    pub consumed_events: u64,
    /// How many deadlines it has.
    pub deadlines: usize,
    /// Why it has no more of them.
    pub missing_deadlines: Vec<String>,
}

/// A DAG that got no run.
#[derive(Debug)]
pub struct Refused {
    /// The DAG.
    pub dag_id: String,
    /// Why not.
    pub reason: NotCreated,
}

/// Why a DAG that is due got no run.
#[derive(Debug, thiserror::Error)]
pub enum NotCreated {
    /// A rule says so.
    #[error(transparent)]
    Rule(#[from] create::NotCreated),
    /// A rule for partitions says so.
    #[error(transparent)]
    Partition(#[from] partitions::NotCreated),
    /// Another scheduler works on the DAG, or a DAG processor stores it.
    #[error("another transaction has locked it; it is looked at again in the next pass")]
    Held,
    /// It was stored anew, or its next run is another, since it was looked at.
    #[error("it has changed meanwhile; it is looked at again in the next pass")]
    Changed,
    /// The DAG cannot be read.
    #[error("{0}")]
    NoDefinition(String),
    /// Its row cannot be read.
    #[error("its row cannot be read: {0}")]
    BadRow(String),
    /// A parameter has no value that fits.
    #[error(transparent)]
    BadParam(#[from] BadParam),
    /// The configuration does not allow a run of that name.
    #[error("{0}")]
    BadRunId(String),
    /// There is a run of that name, for another date.
    #[error("there is a run {0:?} already, for another date")]
    RunIdTaken(String),
    /// User code is asked: which.
    #[error("{0} is asked, and has not answered yet")]
    Awaited(String),
    /// Its timetable has no answer.
    #[error("{0}")]
    Timetable(String),
    /// Its timetable waits for assets, and is none that assets trigger.
    #[error(
        "its timetable waits for assets and does not derive from AssetTriggeredTimetable: no scheduler makes runs \
         for it"
    )]
    NotTriggered,
    /// A partition mapper or window has no answer.
    #[error("{0}")]
    PartitionMapper(String),
    /// A weight rule or the mutation hook has no answer.
    #[error("{0}")]
    InstanceRules(String),
    /// The database does not take the run.
    #[error("the database refuses the run: {0}")]
    Database(String),
}

impl NotCreated {
    /// Why the database did not take it.
    pub(super) fn not_taken(error: &DbError) -> Self {
        match error {
            DbError::Column(bad) => Self::BadRow(bad.to_string()),
            error if error.is_busy() => Self::Held,
            error => Self::Database(error.to_string()),
        }
    }

    /// That there is no answer yet, or why there is none.
    pub(super) fn unanswered(no_answer: NoAnswer, failed: impl FnOnce(String) -> Self) -> Self {
        match no_answer {
            NoAnswer::Awaited(who) => Self::Awaited(who),
            NoAnswer::Failed(reason) => failed(reason),
        }
    }
}

impl CreatedRuns {
    pub(super) fn refuse(&mut self, dag_id: &str, reason: impl Into<NotCreated>) {
        self.refused.push(Refused { dag_id: dag_id.to_owned(), reason: reason.into() });
    }

    /// Takes over what a part of the pass did.
    pub(crate) fn add(&mut self, part: Self) {
        self.created.extend(part.created);
        self.advanced.extend(part.advanced);
        self.outdated_partitions.extend(part.outdated_partitions);
        self.refused.extend(part.refused);
        self.is_more_due |= part.is_more_due;
    }
}
