//! Executors that run nothing: what processes do is what chance says, by the same service that real ones use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use ferroflow_executor::{
    Adopted, EventKind, EventSender, Executor, Orphan, Slots, Workload, WorkloadInstance, WorkloadKey,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use uuid::Uuid;

/// The processes of all schedulers, as somebody sees them who sees everything.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) processes: BTreeMap<i32, Process>,
    /// Where each scheduler's executor tells what happens.
    events: BTreeMap<usize, EventSender>,
    /// The schedulers that were told something since they last took it in.
    told: BTreeSet<usize>,
    /// The processes that have something to do at once.
    pub(crate) stirred: Vec<i32>,
    started: i32,
}

/// One that was handed over.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The scheduler whose executor has it.
    pub(crate) owner: usize,
    pub(crate) ti: WorkloadInstance,
    pub(crate) stage: Stage,
    pub(crate) does: Does,
    /// Whether it may ask for another try.
    pub(crate) should_retry: bool,
    /// Whether nobody can tell it to end: its scheduler stands still, and was given up.
    pub(crate) is_cut_off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its executor has it.
    Handed,
    /// It runs, and its row knows.
    Live,
    /// It should not run any more.
    Unwanted,
}

/// What becomes of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Succeed,
    Fail,
    Skip,
    /// Asks to be looked at again later.
    Reschedule,
    /// Waits for a trigger.
    Defer,
    /// Dies without a word, and whoever supervises it puts that down.
    Die,
    /// Dies without a word, and the executor only knows that it has ended.
    DieUnseen,
    /// Is not started, and the executor says so.
    NotStart,
    /// Is not started, and nobody says so.
    GetLost,
    /// Runs without a heartbeat, and never ends.
    FallSilent,
}

pub(crate) type Shared = Arc<Mutex<Field>>;

pub(crate) fn locked(field: &Shared) -> MutexGuard<'_, Field> {
    field.lock().unwrap()
}

impl Field {
    pub(crate) fn tell(&mut self, process: &Process, what: EventKind) {
        if let Some(events) = self.events.get(&process.owner) {
            events.send(WorkloadKey::Task((&process.ti).into()), what);
            self.told.insert(process.owner);
        }
    }

    pub(crate) fn has_news(&self, owner: usize) -> bool {
        self.told.contains(&owner)
    }

    /// A scheduler takes in what it was told.
    pub(crate) fn takes_in(&mut self, owner: usize) {
        self.told.remove(&owner);
    }

    /// A scheduler is gone, and its processes with it.
    pub(crate) fn kill(&mut self, owner: usize) {
        self.processes.retain(|_, process| process.owner != owner);
        self.told.remove(&owner);
        self.events.remove(&owner);
    }

    pub(crate) fn of(&self, owner: usize) -> impl Iterator<Item = (&i32, &Process)> {
        self.processes.iter().filter(move |(_, process)| process.owner == owner)
    }
}

/// The executor of one scheduler.
pub(crate) struct Hands {
    owner: usize,
    slots: usize,
    /// Where it runs. Two schedulers on one host see each other's processes.
    host: String,
    field: Shared,
}

impl Hands {
    pub(crate) fn new(owner: usize, slots: usize, host: &str, field: &Shared, events: EventSender) -> Self {
        locked(field).events.insert(owner, events);
        Self { owner, slots, host: host.to_owned(), field: Arc::clone(field) }
    }

    fn adopt_one(&self, orphan: &Orphan) -> Adopted {
        if orphan.hostname.as_deref() != Some(&self.host) {
            return Adopted::NotFound;
        }
        if let Some(pid) = orphan.pid {
            let mut field = locked(&self.field);
            let is_its = |process: &&mut Process| process.ti.id == orphan.workload.id();
            // Its own supervisor sees that once it goes on.
            if let Some(process) = field.processes.get_mut(&pid).filter(is_its) {
                process.stage = Stage::Unwanted;
                field.stirred.push(pid);
            }
        }
        Adopted::Ended("its supervisor is gone".to_owned())
    }
}

impl Executor for Hands {
    fn slots(&self) -> Slots {
        Slots { all: self.slots, tasks: locked(&self.field).of(self.owner).count(), others: 0 }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        let mut field = locked(&self.field);
        for workload in workloads {
            let Workload::ExecuteTask(task) = workload else { panic!("{workload:?} is not asked for") };
            field.started += 1;
            let pid = field.started;
            let process = Process {
                owner: self.owner,
                ti: task.ti,
                stage: Stage::Handed,
                does: Does::Succeed,
                should_retry: false,
                is_cut_off: false,
            };
            field.processes.insert(pid, process);
            field.stirred.push(pid);
        }
    }

    fn terminate(&self, id: Uuid) {
        let mut field = locked(&self.field);
        let Field { processes, stirred, .. } = &mut *field;
        for (pid, process) in processes.iter_mut() {
            if process.owner == self.owner && process.ti.id == id {
                process.stage = Stage::Unwanted;
                stirred.push(*pid);
            }
        }
    }

    fn can_revoke(&self) -> bool {
        true
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.has_begun
    }

    fn adopt<'a>(&'a self, orphans: &'a [Orphan]) -> BoxFuture<'a, Vec<Adopted>> {
        ready(orphans.iter().map(|orphan| self.adopt_one(orphan)).collect()).boxed()
    }
}
