//! What can go wrong.

use ferroflow_execution::create_run;
use ferroflow_model::document::Problems;

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
    BadParam(#[from] ferroflow_execution::BadParam),
    /// No run can be made by the timetable.
    #[error(transparent)]
    NoInterval(#[from] ferroflow_model::timetable::NoRun),
    /// A timetable that somebody wrote in Python has no answer.
    #[error(transparent)]
    Timetable(#[from] ferroflow_python::timetables::TimetableError),
    /// A weight rule or the mutation hook, which somebody wrote in Python, has no answer.
    #[error(transparent)]
    InstanceRules(#[from] ferroflow_python::task_instances::InstanceRuleError),
    /// The configuration allows names of runs by what is no pattern.
    #[error(transparent)]
    BadRunIdPattern(#[from] ferroflow_execution::BadRunIdPattern),
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
    /// What a transaction may repeat, apart from what it may not: for work that runs in one.
    pub fn split<T>(outcome: Result<T, Self>) -> Result<Result<T, Self>, ferroflow_db::Error> {
        match outcome {
            Err(Self::Db(error)) => Err(error),
            other => Ok(other),
        }
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
