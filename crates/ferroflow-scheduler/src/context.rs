//! What every step of the scheduler is given.

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_db::Db;
use ferroflow_execution::Service;
use ferroflow_python::timetables::Timetables;

use crate::definitions::Definitions;
use crate::run::Driver;

/// What a step needs besides `now`: shared by all of them, and changed by none.
pub struct Context {
    /// The metadata database.
    pub db: Db,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// This scheduler's row in `job`, by which its peers know it.
    pub job_id: i64,
    /// Who drives runs: the same job, with what that takes.
    pub driver: Driver,
    /// What puts down what became of tasks that could not tell.
    pub service: Service,
    /// What evaluates timetables that somebody wrote in Python; none where there is no Python.
    pub timetables: Option<Arc<Timetables>>,
    /// The DAGs that were read.
    pub definitions: Definitions,
}
