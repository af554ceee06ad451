//! What can go wrong.

use ferroflow_db::BadRow;
use ferroflow_model::document::Problems;
use ferroflow_operations::dag_run::create as create_run;

/// Every fallible function of this crate returns this.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database.
    #[error(transparent)]
    Db(#[from] ferroflow_db::Error),
    /// A run was not made.
    #[error(transparent)]
    NotCreated(create_run::Error),
    /// What a run is given does not fit its DAG.
    #[error(transparent)]
    BadParam(#[from] ferroflow_operations::dag_run::BadParam),
    /// No run can be made by the timetable.
    #[error(transparent)]
    NoInterval(#[from] ferroflow_model::timetable::NoRun),
    /// A custom timetable has no answer.
    #[error(transparent)]
    Timetable(#[from] ferroflow_python::timetables::TimetableError),
    /// A custom weight rule or the mutation hook has no answer.
    #[error(transparent)]
    InstanceRules(#[from] ferroflow_python::task_instances::InstanceRuleError),
    /// User code has no answer, or none yet.
    #[error(transparent)]
    NoAnswer(#[from] crate::questions::NoAnswer),
    /// The configuration allows names of runs by what is no pattern.
    #[error(transparent)]
    BadRunIdPattern(#[from] ferroflow_operations::dag_run::BadRunIdPattern),
    /// There is no such run.
    #[error("DAG {dag_id} has no run {run_id}")]
    NoRun {
        /// The DAG.
        dag_id: String,
        /// The run.
        run_id: String,
    },
    /// The DAG was never stored.
    #[error("DAG {0} is not stored; parse its file first")]
    NotSerialized(String),
    /// The database does not take what happens next in a run.
    #[error("the database refuses what happens next in run {run_id} of DAG {dag_id}: {reason}")]
    NotWritten {
        /// The DAG.
        dag_id: String,
        /// The run.
        run_id: String,
        /// Why.
        reason: String,
    },
    /// What is stored of the DAG cannot be read.
    #[error("the stored DAG {dag_id} cannot be read: {problems}")]
    Unreadable {
        /// The DAG.
        dag_id: String,
        /// All that is wrong with it.
        problems: Problems,
    },
}

impl Error {
    /// Whether the database does not take a value: the same comes out however often it is tried.
    pub(crate) fn is_about_data(&self) -> bool {
        matches!(self, Self::Db(error) if error.is_about_data())
    }

    /// The row that cannot be read, if that is why. An operator may mend it.
    pub(crate) fn bad_row(&self) -> Option<&BadRow> {
        match self {
            Self::Db(ferroflow_db::Error::Column(bad)) => Some(bad),
            _ => None,
        }
    }

    /// Whether the database does not do it now, and may do it soon.
    pub(crate) fn is_passing(&self) -> bool {
        use ferroflow_db::Error as DbError;
        match self {
            Self::Db(DbError::OutcomeUnknown(_) | DbError::Connect(_)) => true,
            Self::Db(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Whether others hold a row that is needed.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Db(error) if error.is_busy())
    }

    /// What a transaction may repeat, apart from what it may not: for work that runs in one.
    pub fn split<T>(outcome: Result<T, Self>) -> Result<Result<T, Self>, ferroflow_db::Error> {
        match outcome {
            Err(Self::Db(error)) => Err(error),
            other => Ok(other),
        }
    }
}

/// What was read, or why it cannot be: a row holds something else than it should. Whatever else goes wrong is an error.
pub(crate) fn or_reason<T>(
    read: Result<T, ferroflow_db::Error>,
) -> Result<Result<T, String>, ferroflow_db::Error> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(ferroflow_db::Error::Column(bad)) => Ok(Err(bad.to_string())),
        Err(error) => Err(error),
    }
}

impl From<create_run::Error> for Error {
    fn from(error: create_run::Error) -> Self {
        match error {
            create_run::Error::Db(error) => Self::Db(error),
            refused @ create_run::Error::RunExists { .. } => Self::NotCreated(refused),
        }
    }
}
