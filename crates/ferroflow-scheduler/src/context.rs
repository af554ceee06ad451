//! What every step of the scheduler is given.

use std::sync::Arc;

use ferroflow_component::Progress;
use ferroflow_config::Settings;
use ferroflow_db::Db;
use ferroflow_execution::Service;
use ferroflow_python::timetables::Timetables;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::chores::{OrphanRetries, RowRetries};
use crate::definitions::Definitions;
use crate::questions::Answered;
use crate::run::RunSettings;

/// What a step needs besides `now`: shared by all of them, and changed by none.
pub struct Context {
    /// The metadata database, with [`LOCK_PATIENCE`](crate::LOCK_PATIENCE).
    pub db: Db,
    /// The configuration.
    pub settings: Arc<Settings>,
    /// This scheduler's row in `job`, by which its peers know it.
    pub job_id: i64,
    /// Who drives runs: the same job, with what that takes.
    pub run_settings: RunSettings,
    /// What puts down what became of tasks that could not tell.
    pub service: Service,
    /// What evaluates custom timetables; none where there is no Python.
    pub timetables: Option<Arc<Timetables>>,
    /// The DAGs that were read.
    pub definitions: Definitions,
    /// Orphans that the database does not take yet.
    pub orphan_retries: OrphanRetries,
    /// Rows to which chores come back later.
    pub row_retries: RowRetries,
    /// When the loop last got on, for the health check.
    pub progress: Progress,
}

impl Context {
    /// From now on no step waits for user code; what answers is told here.
    pub(crate) fn wait_for_no_user_code(&self) -> UnboundedReceiver<Answered> {
        // User code that is left alone after a failure is asked again: nothing is lost by it.
        self.timetables.iter().for_each(|timetables| timetables.blame_classes());
        self.run_settings.rules.iter().for_each(|rules| rules.blame_classes());
        self.run_settings.questions.answered_later()
    }
}
