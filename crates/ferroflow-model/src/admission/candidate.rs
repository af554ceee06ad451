//! A task instance that could run, and its place among the others.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::turns::Class;
use crate::id::NOT_MAPPED;

/// Which task instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceKey {
    /// Its DAG.
    pub dag_id: Arc<str>,
    /// Its run.
    pub run_id: Arc<str>,
    /// Its task.
    pub task_id: Arc<str>,
    /// Which of the mapped instances it is, or [`NOT_MAPPED`].
    pub map_index: i32,
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}.{}'", self.dag_id, self.task_id)?;
        if self.map_index != NOT_MAPPED {
            write!(f, " [{}]", self.map_index)?;
        }
        write!(f, " of run '{}'", self.run_id)
    }
}

/// A task instance in the state `scheduled`, of a run that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which one.
    pub key: InstanceKey,
    /// The higher, the sooner.
    pub priority_weight: i64,
    /// When its run was due.
    pub run_after: Timestamp,
    /// Whether a backfill asked for its run.
    pub is_backfill: bool,
    /// When it became `scheduled`.
    pub waiting_since: Timestamp,
    /// The pool it takes slots from.
    pub pool: Arc<str>,
    /// How many slots it takes.
    pub pool_slots: i32,
    /// The executor it asks for: an alias, an import path or the name of a class.
    pub executor: Option<Arc<str>>,
    /// How many instances of its task may be active, over all runs.
    pub max_active_tis_per_dag: Option<i32>,
    /// How many instances of its task may be active in one run.
    pub max_active_tis_per_dagrun: Option<i32>,
}

/// What candidates have in common that share every limit: they differ in their map index and in when they
/// came.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Lane {
    pub(super) dag_id: Arc<str>,
    pub(super) run_id: Arc<str>,
    pub(super) task_id: Arc<str>,
    pub(super) priority_weight: i64,
    pub(super) run_after: Timestamp,
    pub(super) class: Class,
    pub(super) pool: Arc<str>,
    pub(super) pool_slots: i32,
    pub(super) executor: Option<Arc<str>>,
    pub(super) max_active_tis_per_dag: Option<i32>,
    pub(super) max_active_tis_per_dagrun: Option<i32>,
}

/// The ids of a DAG and a run.
pub(super) type RunKey = (Arc<str>, Arc<str>);

impl Lane {
    pub(super) fn run(&self) -> RunKey {
        (Arc::clone(&self.dag_id), Arc::clone(&self.run_id))
    }
}

impl From<Candidate> for Lane {
    fn from(candidate: Candidate) -> Self {
        Self {
            dag_id: candidate.key.dag_id,
            run_id: candidate.key.run_id,
            task_id: candidate.key.task_id,
            priority_weight: candidate.priority_weight,
            run_after: candidate.run_after,
            class: if candidate.is_backfill { Class::Backfill } else { Class::Other },
            pool: candidate.pool,
            pool_slots: candidate.pool_slots,
            executor: candidate.executor,
            max_active_tis_per_dag: candidate.max_active_tis_per_dag,
            max_active_tis_per_dagrun: candidate.max_active_tis_per_dagrun,
        }
    }
}

/// A candidate's place in the order of its class. No two are equal, and nothing in it may be absent: of a
/// logical date, which asset-triggered runs lack, each database has its own opinion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) priority: Reverse<i64>,
    pub(super) run_after: Timestamp,
    pub(super) waiting_since: Timestamp,
    pub(super) key: InstanceKey,
    pub(super) lane: Arc<Lane>,
    /// How many of its lane were admitted before it in this call.
    pub(super) admitted_before: usize,
}

impl Place {
    pub(super) fn new(lane: &Arc<Lane>, waiting_since: Timestamp, map_index: i32) -> Self {
        Self {
            priority: Reverse(lane.priority_weight),
            run_after: lane.run_after,
            waiting_since,
            key: InstanceKey {
                dag_id: Arc::clone(&lane.dag_id),
                run_id: Arc::clone(&lane.run_id),
                task_id: Arc::clone(&lane.task_id),
                map_index,
            },
            lane: Arc::clone(lane),
            admitted_before: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_as_people_name_it() {
        let key = |map_index| InstanceKey {
            dag_id: "sales".into(),
            run_id: "monday".into(),
            task_id: "load".into(),
            map_index,
        };
        assert_eq!(key(NOT_MAPPED).to_string(), "'sales.load' of run 'monday'");
        assert_eq!(key(0).to_string(), "'sales.load' [0] of run 'monday'");
    }
}
