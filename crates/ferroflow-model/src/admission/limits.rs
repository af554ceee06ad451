//! How much there is of what task instances take.

use std::sync::Arc;

use foldhash::HashMap;

use super::executors::Executors;

/// Every limit that is not a task's own.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The pools, by name.
    pub pools: HashMap<Arc<str>, Pool>,
    /// The DAGs, by id. Task instances of others are not admitted.
    pub dags: HashMap<Arc<str>, DagLimits>,
    /// The executors.
    pub executors: Executors,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many slots it has; -1 for any number.
    pub slots: i32,
    /// Whether task instances that are deferred keep their slots.
    pub include_deferred: bool,
    /// The team it belongs to. Always `None` unless `[core] multi_team` is on.
    pub team: Option<Arc<str>>,
}

impl Pool {
    /// How many slots it has, unless it has any number.
    pub(super) fn total(&self) -> Option<i64> {
        (self.slots != -1).then_some(self.slots.into())
    }
}

/// What a DAG says about all its task instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagLimits {
    /// How many task instances of one run may be queued or running.
    pub max_active_tasks: i32,
    /// Whether it is paused: none of its task instances is admitted.
    pub is_paused: bool,
    /// The team it belongs to. Always `None` unless `[core] multi_team` is on.
    pub team: Option<Arc<str>>,
}
