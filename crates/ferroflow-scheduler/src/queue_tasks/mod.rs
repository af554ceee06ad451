//! Scheduled task instances become queued, within the slots of pools, the limits of DAGs and tasks, and what executors
//! take: the scheduler's critical section.
//!
//! Task instances that wait are kept in memory ([`Memory`]), so that a pass costs what is at work and what is admitted,
//! however many wait: none is read again because another's slot is not free. What became ready here is [added](TaskQueue::add)
//! by its id, and read in the next pass; what others made ready is found by [`TaskQueue::sweep`], which compares, run by
//! run, how many wait with how many are known, and reads only the runs that differ.
//!
//! Locks, in the order of Airflow: the advisory lock of PostgreSQL, the rows of all pools, and the rows of those that are
//! admitted. What is counted is counted under the first two, and of those that are admitted, their rows, runs and DAGs
//! are looked at once more: memory is never believed about what it queues. One that turns out otherwise is left out, which
//! cannot exceed a limit, and the pass is [worth repeating](QueuedTasks::is_worth_repeating).

mod check;
mod count;
mod memory;
mod queue_rows;
mod read;
mod report;
mod section;
mod sweep;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ferroflow_db::{Error as DbError, ScopedFutureExt as _};
use ferroflow_model::admission::{
    Admitted, Decision, Executor, InUse, InstanceKey, Refusal, Stopped, Verdict,
};
use ferroflow_telemetry::clock::Stopwatch;
use jiff::Timestamp;
use uuid::Uuid;

use crate::refused::RetryLater;
use crate::{Context, Error};
use memory::{Memory, WaitingRow};
use section::{Asked, Pass, locked};

pub use queue_rows::ExecutorNames;
pub(crate) use queue_rows::lock_and_queue;
pub use report::{LeftOut, QueuedTask, QueuedTasks, Swept, WhyLeftOut};

/// So many are queued in one pass, if `[scheduler] max_tis_per_query` does not say more: a pass costs what is at work,
/// however few it queues.
const TASKS_PER_PASS: usize = 500;

/// Of how many new ones the rows are read while other schedulers wait. More are read before.
const READ_IN_SECTION: usize = 256;

/// While another scheduler is in the critical section, it is tried again after so long, and twice as long every time.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const MAX_BUSY_DOUBLINGS: u32 = 6;

/// An executor, as far as queueing is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorSlots {
    /// What it is called, and how much it takes.
    pub executor: Executor,
    /// Whether it calls task instances by names that are chosen when they are queued.
    pub names: ExecutorNames,
}

/// The task instances that wait to be queued.
#[derive(Default)]
pub struct TaskQueue {
    memory: Mutex<Memory>,
    /// What became ready and was not read yet.
    new: HashSet<Uuid>,
    /// Those of passes of which it is not known whether they were committed.
    uncertain: Vec<(Admitted, WaitingRow)>,
    /// What the last pass decided, and what was in use.
    last: Option<(Decision, InUse)>,
    /// Those that the database has refused to queue.
    put_off: RetryLater<Uuid>,
    /// The row of the last run that a sweep has read.
    swept_until: i64,
    /// How often in a row another scheduler was in the critical section.
    times_busy: u32,
}

impl TaskQueue {
    /// Takes in task instances that are `scheduled` now, by the ids of their tries.
    pub fn add(&mut self, ids: impl IntoIterator<Item = Uuid>) {
        self.new.extend(ids);
    }

    /// How many are known to wait.
    pub fn len(&self) -> usize {
        self.locked().waiting.len() + self.new.len()
    }

    /// Whether none is known to wait.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.uncertain.is_empty()
    }

    /// When the critical section is tried again, if another scheduler was in it.
    pub(crate) fn busy_pause(&self) -> Option<Duration> {
        let doubled = self.times_busy.checked_sub(1)?.min(MAX_BUSY_DOUBLINGS);
        Some(BUSY_PAUSE * 2_u32.pow(doubled))
    }

    /// What the last pass decided about one that waits: why it does not run.
    pub fn explain(&self, key: &InstanceKey) -> Option<Verdict> {
        let (decision, in_use) = self.last.as_ref()?;
        let memory = self.locked();
        decision.explain(&memory.waiting, &memory.limits, in_use, key)
    }

    /// Queues those that may be: one pass through the critical section.
    pub async fn queue(
        &mut self,
        cx: &Context,
        executors: &[ExecutorSlots],
        now: Timestamp,
    ) -> Result<QueuedTasks, Error> {
        let times_busy = std::mem::take(&mut self.times_busy);
        let again = self.put_off.take_due(now);
        if !again.is_empty() {
            // Those that are not found now are found by a sweep, if they are not known.
            self.locked().remove_tries(&again);
            self.new.extend(again);
        }
        if self.is_empty() {
            return Ok(QueuedTasks::default());
        }
        if let Some(refusal) = no_free_slot(executors) {
            let stopped = Some(Stopped { waiting: self.len(), refusal });
            return Ok(QueuedTasks { stopped, ..QueuedTasks::default() });
        }
        let new = self.read_many(cx, now).await?;
        self.locked().set_executors(executors, cx.settings.core.parallelism.into());
        let asked = &Asked {
            cx,
            memory: &self.memory,
            new: &new,
            uncertain: &self.uncertain,
            executors,
            budget: budget(cx.settings.scheduler.max_tis_per_query),
            now,
        };
        let attempted = &Mutex::new(Vec::new());
        let watch = Stopwatch::start();
        let passed = cx.db.transact_in_parts(|tx| section::pass(tx, asked, attempted).scope_boxed()).await;
        match passed {
            Ok(None) => {
                self.times_busy = times_busy.saturating_add(1);
                Ok(QueuedTasks { is_busy: true, is_worth_repeating: true, ..QueuedTasks::default() })
            }
            Ok(Some(pass)) => {
                self.new.clear();
                self.uncertain.clear();
                let took = Some((watch.elapsed(), pass.reading));
                Ok(QueuedTasks { took, ..self.take_in(pass, now) })
            }
            Err(error) => {
                if matches!(error, DbError::OutcomeUnknown(_)) {
                    let attempted = locked(attempted);
                    self.uncertain.extend(attempted.iter().cloned());
                }
                Err(error.into())
            }
        }
    }

    /// Reads what is new here if it is much, and answers what is left to be read in the section.
    async fn read_many(&mut self, cx: &Context, now: Timestamp) -> Result<Vec<Uuid>, Error> {
        let mut ids: Vec<Uuid> = self.new.iter().copied().collect();
        ids.sort_unstable();
        if ids.len() <= READ_IN_SECTION {
            return Ok(ids);
        }
        let all: &[Uuid] = &ids;
        let read = cx.db.read(|tx| read::by_id(tx, cx, all, now).scope_boxed()).await?;
        self.locked().take_in(&read.candidates);
        self.new.clear();
        Ok(Vec::new())
    }

    /// Remembers what a pass has done, which is committed.
    fn take_in(&mut self, pass: Pass, now: Timestamp) -> QueuedTasks {
        let mut memory = self.locked();
        let admitted: Vec<_> = pass.granted.iter().map(|granted| granted.admitted.clone()).collect();
        memory.waiting.take_out_admitted(&admitted);
        for granted in &pass.granted {
            memory.remove(&granted.admitted.key);
        }
        for left_out in &pass.left_out {
            memory.correct(left_out);
        }
        drop(memory);
        for left_out in &pass.left_out {
            if let WhyLeftOut::Refused(_) = left_out.why {
                self.put_off.refused(left_out.id, now);
            }
        }
        pass.granted.iter().for_each(|granted| self.put_off.done(&granted.row.id));
        let changed = pass.left_out.iter().filter(|left_out| left_out.why == WhyLeftOut::RowChanged);
        self.new.extend(changed.map(|left_out| left_out.id));
        let report = report::of(pass.granted, pass.left_out, pass.set_aside, &pass.decision);
        self.last = Some((pass.decision, pass.in_use));
        report
    }

    fn locked(&self) -> MutexGuard<'_, Memory> {
        locked(&self.memory)
    }
}

/// Why none can be queued: no executor takes any.
fn no_free_slot(executors: &[ExecutorSlots]) -> Option<Refusal> {
    let sum = |of: fn(&Executor) -> i64| {
        executors.iter().fold(0_i64, |sum, one| sum.saturating_add(of(&one.executor)))
    };
    let free = sum(|executor| executor.slots.saturating_sub(executor.occupied).max(0));
    (free == 0).then(|| Refusal::ParallelismReached {
        occupied: sum(|executor| executor.occupied),
        limit: sum(|executor| executor.slots),
    })
}

/// How many are queued in one pass: none means as many as fit.
fn budget(max_tis_per_query: u32) -> usize {
    match max_tis_per_query {
        0 => usize::MAX,
        most => usize::try_from(most).unwrap_or(usize::MAX).max(TASKS_PER_PASS),
    }
}
