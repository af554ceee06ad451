//! What the executors of this scheduler have at the moment, by what was handed to them and what they told.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_executor::{
    EventKind, ExecutorEvent, ExecutorEvents, ExecutorSet, NamedExecutor, TaskTry, Workload, WorkloadKey,
};
use ferroflow_model::admission;
use uuid::Uuid;

use crate::queue_tasks::ExecutorSlots;
use crate::run::ExecutorNames;

/// The executors of this scheduler, and what they have.
pub struct Executors {
    set: ExecutorSet,
    events: ExecutorEvents,
    handed: HashMap<Uuid, Handover>,
    /// Callbacks and connection tests that were handed over and have not ended.
    others: HashSet<Uuid>,
}

/// What an executor told of a task instance, and what is known besides.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackedEvent {
    pub task: TaskTry,
    pub kind: EventKind,
    /// Whether the try that ended has told its state before.
    pub is_told: bool,
    /// Whether an executor has the same try again: it was put off, and went on at once.
    pub is_still_known: bool,
}

/// How often a try was handed over and has not ended: twice, if it was put off and went on before its process was gone.
#[derive(Default)]
struct Handover {
    all: usize,
    told: usize,
    /// Whether the one that has not told its state waits until it can, without a slot.
    waits: bool,
    /// What it is of, and which try.
    of: Option<(TaskInstanceKey, i32)>,
}

impl Executors {
    /// These executors, which have nothing yet and tell what happens through this channel.
    pub fn new(set: ExecutorSet, events: ExecutorEvents) -> Self {
        Self { set, events, handed: HashMap::new(), others: HashSet::new() }
    }

    /// The executors themselves.
    pub fn set(&self) -> &ExecutorSet {
        &self.set
    }

    /// What they are called, and how much more they take.
    pub fn slots(&self) -> Vec<ExecutorSlots> {
        self.set.all().iter().map(slots_of).collect()
    }

    /// Hands workloads, whose rows are queued, to the executor at a place.
    pub fn submit(&mut self, place: usize, workloads: Vec<Workload>) {
        let Some(executor) = self.set.all().get(place).map(|one| Arc::clone(&one.executor)) else { return };
        for workload in &workloads {
            self.remember(workload.key());
        }
        executor.submit(workloads);
    }

    /// The same for one workload, which asks for an executor by a name.
    pub fn submit_to(&mut self, executor: Option<&str>, workload: Workload) {
        if let Some(place) = self.set.place(executor) {
            self.submit(place, vec![workload]);
        }
    }

    /// An executor has this of another scheduler, and tells of it from now on.
    pub fn adopt(&mut self, task: TaskTry) {
        self.remember(WorkloadKey::Task(task));
    }

    fn remember(&mut self, key: WorkloadKey) {
        match key {
            WorkloadKey::Task(task) => {
                let handover = self.handed.entry(task.id).or_default();
                handover.all += 1;
                handover.of = Some((task.key, task.try_number));
            }
            WorkloadKey::Callback(id) | WorkloadKey::ConnectionTest(id) => _ = self.others.insert(id),
        }
    }

    /// Whether one of them has this try of a task instance.
    pub fn has(&self, id: Uuid) -> bool {
        self.handed.contains_key(&id)
    }

    /// The tries that they have, by their ids.
    pub fn ids(&self) -> impl Iterator<Item = Uuid> {
        self.handed.keys().copied()
    }

    /// The tries that they have, and whether each has told its state already.
    pub fn have(&self) -> impl Iterator<Item = (&TaskInstanceKey, i32, bool)> {
        self.handed.values().filter_map(|handover| {
            let (key, try_number) = handover.of.as_ref()?;
            Some((key, *try_number, handover.told > 0))
        })
    }

    /// Whether none of them has anything, but for what only waits for a row that cannot be read.
    pub fn is_idle(&self) -> bool {
        let only_waits = |handover: &Handover| handover.all == usize::from(handover.waits);
        self.others.is_empty() && self.handed.values().all(only_waits)
    }

    /// Ends a task instance that should not run any more. Its row has been changed already.
    pub fn terminate(&self, id: Uuid) {
        if self.has(id) {
            self.set.all().iter().for_each(|one| one.executor.terminate(id));
        }
    }

    /// What happens next; waits for it, without end if nothing runs. None if a callback or a connection test is over: there
    /// is room for the next. May be abandoned and called again.
    pub async fn next_event(&mut self) -> Option<TrackedEvent> {
        let event = self.events.next().await;
        self.track(event)
    }

    /// What has happened already, to be [tracked](Self::track).
    pub(crate) fn try_next_event(&mut self) -> Option<ExecutorEvent> {
        self.events.try_next()
    }

    pub(crate) fn track(&mut self, event: ExecutorEvent) -> Option<TrackedEvent> {
        let ExecutorEvent { workload, kind, .. } = event;
        match workload {
            WorkloadKey::Task(task) => Some(self.track_task(task, kind)),
            WorkloadKey::Callback(id) | WorkloadKey::ConnectionTest(id) => {
                if kind == EventKind::Ended {
                    self.others.remove(&id);
                }
                None
            }
        }
    }

    fn track_task(&mut self, task: TaskTry, kind: EventKind) -> TrackedEvent {
        let mut handover = self.handed.remove(&task.id).unwrap_or_default();
        let mut is_told = false;
        match kind {
            EventKind::StateSet(_) => {
                (handover.told, handover.waits) = ((handover.told + 1).min(handover.all), false);
            }
            EventKind::Waits => handover.waits = handover.all > 0,
            EventKind::SlotFree => {}
            EventKind::Ended | EventKind::NotStarted(_) => {
                is_told = handover.told > 0;
                handover.waits &= is_told;
                handover.told = handover.told.saturating_sub(1);
                handover.all = handover.all.saturating_sub(1);
            }
        }
        let is_still_known = handover.all > 0;
        if is_still_known {
            self.handed.insert(task.id, handover);
        }
        TrackedEvent { task, kind, is_told, is_still_known }
    }

    /// Logs what executors know of themselves.
    pub(crate) fn debug_dump(&self) {
        self.set.all().iter().for_each(|one| one.executor.debug_dump());
    }

    /// Ends what runs on this host, and records what became of it.
    pub async fn shut_down(&self) {
        for one in self.set.all() {
            one.executor.shut_down().await;
        }
    }
}

fn slots_of(one: &NamedExecutor) -> ExecutorSlots {
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let slots = one.executor.slots();
    let names = if one.executor.needs_external_ids() { ExecutorNames::Random } else { ExecutorNames::None };
    ExecutorSlots {
        executor: admission::Executor {
            name: Arc::clone(&one.name),
            slots: whole(slots.all),
            occupied: whole(slots.occupied().min(slots.all)),
        },
        names,
    }
}
