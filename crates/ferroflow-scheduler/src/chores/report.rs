//! What a chore reports: rows that it leaves as they are, metrics, and what the loop does after it.

use std::collections::BTreeSet;
use std::fmt::Debug;

use ferroflow_db::dag_run::ClaimedRun;
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_executor::{TaskTry, Workload};
use uuid::Uuid;

use super::SetAside;
use crate::metrics::Told;

/// What a chore has done. What the loop has to do with any of it is said here, beside the chore.
pub(crate) trait Report: Debug + Send + Sync {
    /// Rows that it could not deal with, and tries again.
    fn set_aside(&self) -> &[SetAside] {
        &[]
    }

    /// Task instances that it could not deal with, and why.
    fn instances_set_aside(&self) -> &[(TaskInstanceKey, String)] {
        &[]
    }

    /// What the loop does now.
    fn follow_up(&self) -> FollowUp {
        FollowUp::default()
    }

    /// Its metrics; `told` is what they showed before.
    fn measure(&self, _told: &mut Told) {}
}

/// What the loop does after a chore.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FollowUp {
    /// Executors end these tries, or let go of them.
    pub(crate) terminate: Vec<Uuid>,
    /// Executors have taken over these, and will tell of them.
    pub(crate) adopt: Vec<TaskTry>,
    /// Listeners of plugins hear that these have failed, and why.
    pub(crate) failed: Vec<(TaskInstanceKey, &'static str)>,
    /// The runs of these task instances are read again.
    pub(crate) changed: Vec<TaskInstanceKey>,
    /// These runs are examined, and nothing new begins in them.
    pub(crate) held_runs: Vec<ClaimedRun>,
    /// These go to an executor; to the default one if none is named.
    pub(crate) hand_over: Vec<(Option<String>, Workload)>,
    /// Task instances may have become ready, and runs be without a scheduler: both are looked for at once.
    pub(crate) rescan: bool,
    /// These chores are due,
    pub(crate) hastens: Vec<&'static str>,
    /// but if it depends on something, only if there is something that the last report did not name.
    pub(crate) hastens_for: Option<BTreeSet<i64>>,
}
