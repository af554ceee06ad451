//! The executors of this scheduler, and what they have at the moment.

mod names;

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_executor::{Event, EventKind, Executor, Workload};
use ferroflow_model::admission;
use uuid::Uuid;

use crate::queue_tasks::ExecutorSlots;
use crate::run::ExecutorNames;

pub use names::{BadExecutors, ExecutorName, executor_names};

/// The executors of this scheduler, in the order of the configuration: the first is the default.
pub struct Executors<E> {
    list: Vec<NamedExecutor<E>>,
    handed: HashMap<Uuid, Handover>,
}

/// An executor under the names by which tasks ask for it.
pub struct NamedExecutor<E> {
    /// Its names.
    pub name: ExecutorName,
    /// How much it takes at a time (`[core] parallelism`).
    pub slots: usize,
    /// Whether it calls task instances by names that are chosen when they are queued.
    pub names: ExecutorNames,
    /// Itself.
    pub executor: E,
}

/// An event, and what the executors know besides.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackedEvent {
    /// What happened.
    pub event: Event,
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

impl<E: Executor> Executors<E> {
    /// These executors, which have nothing yet.
    pub fn new(list: Vec<NamedExecutor<E>>) -> Self {
        Self { list, handed: HashMap::new() }
    }

    /// What they are called, and how much more they take.
    pub fn slots(&self) -> Vec<ExecutorSlots> {
        self.list.iter().map(NamedExecutor::slots).collect()
    }

    /// Hands a queued task instance to one of them.
    pub fn submit(&mut self, place: usize, workload: Workload) {
        if let Some(named) = self.list.get_mut(place) {
            let handover = self.handed.entry(workload.ti.id).or_default();
            handover.all += 1;
            handover.of = Some((workload.ti.key(), workload.ti.try_number));
            named.executor.submit(workload);
        }
    }

    /// Whether one of them has this try.
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
        self.handed.values().all(|handover| handover.all == usize::from(handover.waits))
    }

    /// Ends a task instance that should not run any more. Its row has been changed already.
    pub fn terminate(&mut self, id: Uuid) {
        if self.has(id) {
            for named in &mut self.list {
                named.executor.terminate(id);
            }
        }
    }

    /// What happens next; waits for it, without end if nothing runs. May be abandoned and called again.
    pub async fn next_event(&mut self) -> TrackedEvent {
        let event = first_of(self.list.iter_mut().map(|named| named.executor.next_event())).await;
        self.track(event)
    }

    fn track(&mut self, event: Event) -> TrackedEvent {
        let mut handover = self.handed.remove(&event.id).unwrap_or_default();
        let mut is_told = false;
        match event.what {
            EventKind::StateSet(_) => {
                (handover.told, handover.waits) = ((handover.told + 1).min(handover.all), false)
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
            self.handed.insert(event.id, handover);
        }
        TrackedEvent { event, is_told, is_still_known }
    }
}

impl<E> Executors<E> {
    /// The executors themselves.
    pub fn each(&mut self) -> impl Iterator<Item = &mut E> {
        self.list.iter_mut().map(|named| &mut named.executor)
    }
}

impl<E: Executor> NamedExecutor<E> {
    fn slots(&self) -> ExecutorSlots {
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let slots = whole(self.slots);
        ExecutorSlots {
            executor: admission::Executor {
                alias: self.name.alias.as_deref().map(Arc::from),
                module_path: Arc::from(self.name.module_path.as_str()),
                team: self.name.team.as_deref().map(Arc::from),
                slots,
                occupied: slots.saturating_sub(whole(self.executor.free_slots())).max(0),
            },
            names: self.names,
        }
    }
}

/// The first answer of several; none, for ever, if there is nobody to answer.
pub(crate) async fn first_of<F: Future>(futures: impl Iterator<Item = F>) -> F::Output {
    let mut futures: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let first = poll_fn(move |context| {
        let answers = futures.iter_mut().find_map(|future| match future.as_mut().poll(context) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        });
        answers.map_or(Poll::Pending, Poll::Ready)
    });
    first.await
}
