//! What every executor is to a scheduler.

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use jiff::Timestamp;
use uuid::Uuid;

use crate::{Workload, WorkloadKey, WorkloadKind};

/// Runs workloads somewhere, and tells by [`ExecutorEvent`](crate::ExecutorEvent)s what happens to them: each is given a
/// sender of them when it is made.
///
/// What an executor says is never the truth: that is in the rows. It only tells when to look at them.
///
/// Its methods are called by the loop of a scheduler, which waits for none of them but [`adopt`](Self::adopt) and
/// [`shut_down`](Self::shut_down): what takes time, such as a message to a broker, is done beside it.
pub trait Executor: Send + Sync {
    /// How many workloads it takes at a time, and how many it has.
    fn slots(&self) -> Slots;

    /// Takes workloads whose rows are queued, of kinds that it [supports](Self::supports).
    fn submit(&self, workloads: Vec<Workload>);

    /// Ends a task instance that should not run any more, or revokes it if it has not started. Its row has been changed
    /// already. One that it does not have is none of its business.
    fn terminate(&self, id: Uuid);

    /// Whether it runs workloads of this kind: tasks, unless it says otherwise.
    fn supports(&self, kind: WorkloadKind) -> bool {
        kind == WorkloadKind::ExecuteTask
    }

    /// Whether a queued task instance can be taken back from it, as with Airflow's `revoke_task`: once its row is not
    /// queued any more, nothing is started for it.
    fn can_revoke(&self) -> bool {
        false
    }

    /// Whether it knows that a workload lives, whatever its row says: a task whose heartbeat waits for a row that others
    /// have locked, a callback or a connection test that it has not ended.
    fn is_alive(&self, _id: Uuid) -> bool {
        false
    }

    /// Whether it calls task instances by names (`external_executor_id`) that are chosen when they are queued.
    fn needs_external_ids(&self) -> bool {
        false
    }

    /// Whether it may still have a task instance of a scheduler that is gone. Then it is asked to [adopt](Self::adopt) it;
    /// otherwise the task instance begins anew.
    fn may_have(&self, _orphan: &Orphan) -> bool {
        false
    }

    /// Finds out what has become of workloads of a scheduler that is gone, and takes over what goes on. Ends what is left of
    /// those that cannot go on: whatever is not [running](Adopted::Running) does nothing any more. Answers for each, in their
    /// order.
    fn adopt<'a>(&'a self, orphans: &'a [Orphan]) -> BoxFuture<'a, Vec<Adopted>> {
        ready(vec![Adopted::NotFound; orphans.len()]).boxed()
    }

    /// Logs what it is at, beyond what the scheduler knows of it (on SIGUSR2).
    fn debug_dump(&self) {}

    /// Ends what runs on this host, and records what became of it. Nothing is submitted afterwards.
    fn shut_down(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

/// How many workloads an executor takes at a time, and what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Of all kinds; [`usize::MAX`] without a limit.
    pub all: usize,
    /// How many of them task instances have.
    pub tasks: usize,
    /// How many callbacks and connection tests have, or will have before any task does.
    pub others: usize,
}

impl Slots {
    /// How many are taken.
    pub fn occupied(self) -> usize {
        self.tasks.saturating_add(self.others)
    }

    /// How many more workloads of a kind it takes. Callbacks and connection tests go before tasks: they wait for the slots
    /// of tasks that run, and no more tasks are taken meanwhile.
    pub fn free_for(self, kind: WorkloadKind) -> usize {
        match kind {
            WorkloadKind::ExecuteTask => self.all.saturating_sub(self.occupied()),
            WorkloadKind::ExecuteCallback | WorkloadKind::TestConnection => {
                self.all.saturating_sub(self.others)
            }
        }
    }
}

/// A workload whose scheduler is gone, as its row tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    pub workload: WorkloadKey,
    /// Whether it has begun.
    pub has_begun: bool,
    /// The host that it runs on.
    pub hostname: Option<String>,
    /// Its process there,
    pub pid: Option<i32>,
    /// and when that was last known to be its process: the number may be another's by now.
    pub last_seen: Option<Timestamp>,
    /// What its executor calls it.
    pub external_executor_id: Option<String>,
}

/// What an executor knows of an orphan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// It goes on, and this executor tells of it from now on.
    Running,
    /// It has ended, for this reason. If its row does not say how, nothing else will.
    Ended(String),
    /// This executor does not have it: it may begin anew.
    NotFound,
    /// It cannot be told: why.
    Unknown(String),
}
