//! Who holds what a limit allows.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::reason::{Holder, Kind, Reason};
use crate::admission::{
    Candidate, Executors, InUse, InstanceKey, Limits, Refusal, Tick, Verdict, Waiting, admit,
};
use crate::state::TaskState;

/// A task instance that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    /// Which one.
    pub key: InstanceKey,
    /// Where it stands: queued, running, deferred or waiting for a person.
    pub state: TaskState,
    /// The pool it takes slots from.
    pub pool: Arc<str>,
    /// How many.
    pub pool_slots: i32,
    /// Since when.
    pub since: Option<Timestamp>,
    /// The scheduler that queued it.
    pub queued_by: Option<i64>,
}

/// What there is of everything, and who has it.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// The pools, and the limits of the DAG.
    pub limits: Limits,
    /// Who has something.
    pub at_work: Vec<AtWork>,
}

impl Slots {
    /// What keeps one that waits from being queued by a scheduler with these executors.
    pub(super) fn refusal(
        &self,
        candidate: &Candidate,
        executors: &Executors,
        now: Timestamp,
    ) -> Option<Reason> {
        let mut in_use = InUse::default();
        for one in &self.at_work {
            in_use.set(&one.key, &one.pool, one.pool_slots, Some(one.state));
        }
        let limits = Limits { executors: executors.clone(), ..self.limits.clone() };
        let mut waiting = Waiting::default();
        waiting.insert(candidate.clone());
        let tick = Tick { now, patience: SignedDuration::ZERO, budget: 1 };
        let decision = admit(&waiting, &limits, &in_use, tick);
        match decision.explain(&waiting, &limits, &in_use, &candidate.key) {
            Some(Verdict::Refused(refusal)) => {
                let holders = self.holders(&refusal, candidate);
                Some(Reason::new(kind(&refusal), refusal.to_string()).held_by(holders))
            }
            _ => None,
        }
    }

    fn holders(&self, refusal: &Refusal, candidate: &Candidate) -> Vec<Holder> {
        let (own, executing) = (&candidate.key, [TaskState::Queued, TaskState::Running]);
        let keeps = |pool: &Arc<str>| self.limits.pools.get(pool).is_some_and(|pool| pool.include_deferred);
        let is_meant = |one: &&AtWork| match refusal {
            Refusal::PoolFull { pool, .. } | Refusal::TooFewSlots { pool, .. } => {
                let counts =
                    executing.contains(&one.state) || (one.state == TaskState::Deferred && keeps(pool));
                one.pool == *pool && counts
            }
            Refusal::RunFull { .. } => {
                one.key.dag_id == own.dag_id && one.key.run_id == own.run_id && executing.contains(&one.state)
            }
            Refusal::TaskFull { .. } => one.key.dag_id == own.dag_id && one.key.task_id == own.task_id,
            Refusal::TaskFullInRun { .. } => {
                one.key.dag_id == own.dag_id && one.key.run_id == own.run_id && one.key.task_id == own.task_id
            }
            Refusal::ParallelismReached { .. } | Refusal::ExecutorFull { .. } => {
                executing.contains(&one.state)
            }
            _ => false,
        };
        self.at_work.iter().filter(is_meant).map(AtWork::holder).collect()
    }
}

impl AtWork {
    fn holder(&self) -> Holder {
        Holder { what: self.key.to_string(), state: self.state.to_string(), since: self.since }
    }
}

fn kind(refusal: &Refusal) -> Kind {
    match refusal {
        Refusal::DagUnknown { .. } => Kind::NoDefinition,
        Refusal::DagPaused { .. } => Kind::Paused,
        Refusal::PoolMissing { .. } => Kind::NoPool,
        Refusal::PoolOfAnotherTeam { .. }
        | Refusal::PoolFull { .. }
        | Refusal::LargerThanPool { .. }
        | Refusal::TooFewSlots { .. }
        | Refusal::SlotsReserved { .. } => Kind::Pool,
        Refusal::RunFull { .. } => Kind::MaxActiveTasks,
        Refusal::TaskFull { .. } | Refusal::TaskFullInRun { .. } => Kind::TaskLimit,
        Refusal::ExecutorUnknown { .. } | Refusal::ExecutorFull { .. } => Kind::Executor,
        Refusal::ParallelismReached { .. } => Kind::Parallelism,
        Refusal::BudgetUsedUp { .. } => Kind::Next,
    }
}
