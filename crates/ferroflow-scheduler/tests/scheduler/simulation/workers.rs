//! Executors that run nothing: what processes do is what chance says, by the same service that real ones use.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use ferroflow_execution::{Refusal, Service};
use ferroflow_executor::{Adopted, Event, EventKind, Executor, Orphan, Workload, WorkloadInstance};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::chores;
use uuid::Uuid;

/// The processes of all schedulers, as somebody sees them who sees everything.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) processes: BTreeMap<i32, Process>,
    /// What each scheduler's executor has to tell.
    pub(crate) told: BTreeMap<usize, VecDeque<Event>>,
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
        let event =
            Event { id: process.ti.id, key: process.ti.key(), try_number: process.ti.try_number, what };
        self.told.entry(process.owner).or_default().push_back(event);
    }

    pub(crate) fn has_news(&self, owner: usize) -> bool {
        self.told.get(&owner).is_some_and(|told| !told.is_empty())
    }

    /// A scheduler is gone, and its processes with it.
    pub(crate) fn kill(&mut self, owner: usize) {
        self.processes.retain(|_, process| process.owner != owner);
        self.told.remove(&owner);
    }

    pub(crate) fn of(&self, owner: usize) -> impl Iterator<Item = (&i32, &Process)> {
        self.processes.iter().filter(move |(_, process)| process.owner == owner)
    }
}

/// The executor of one scheduler.
pub(crate) struct Hands {
    pub(crate) owner: usize,
    pub(crate) slots: usize,
    pub(crate) field: Shared,
}

impl Executor for Hands {
    fn free_slots(&self) -> usize {
        self.slots.saturating_sub(locked(&self.field).of(self.owner).count())
    }

    fn submit(&mut self, workload: Workload) {
        let mut field = locked(&self.field);
        field.started += 1;
        let pid = field.started;
        let process = Process {
            owner: self.owner,
            ti: workload.ti,
            stage: Stage::Handed,
            does: Does::Succeed,
            should_retry: false,
            is_cut_off: false,
        };
        field.processes.insert(pid, process);
        field.stirred.push(pid);
    }

    async fn next_event(&mut self) -> Event {
        let next = locked(&self.field).told.get_mut(&self.owner).and_then(VecDeque::pop_front);
        match next {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    fn terminate(&mut self, id: Uuid) {
        let mut field = locked(&self.field);
        let Field { processes, stirred, .. } = &mut *field;
        for (pid, process) in processes.iter_mut() {
            if process.owner == self.owner && process.ti.id == id {
                process.stage = Stage::Unwanted;
                stirred.push(*pid);
            }
        }
    }
}

/// How one scheduler looks after what another one had.
#[derive(Clone)]
pub(crate) struct Adopter {
    /// Where it runs. Two schedulers on one host see each other's processes.
    pub(crate) host: String,
    pub(crate) slots: usize,
    pub(crate) field: Shared,
    pub(crate) service: Service,
}

impl chores::Executors for Adopter {
    fn has(&self, executor: Option<&str>) -> bool {
        executor.is_none()
    }

    async fn adopt(&self, orphan: &Orphan) -> Result<Adopted, Refusal> {
        match orphan.state {
            TaskState::Running | TaskState::Restarting => {}
            _ => return Ok(Adopted::NotBegun),
        }
        if orphan.hostname.as_deref() != Some(&self.host) {
            return Ok(Adopted::Elsewhere);
        }
        if let Some(pid) = orphan.pid {
            let mut field = locked(&self.field);
            // Its own supervisor sees that once it goes on.
            if let Some(process) = field.processes.get_mut(&pid).filter(|process| process.ti.id == orphan.id)
            {
                process.stage = Stage::Unwanted;
                field.stirred.push(pid);
            }
        }
        self.service.fail_unreported(orphan.id, orphan.try_number, "its supervisor is gone").await?;
        Ok(Adopted::Settled)
    }

    fn can_take_back(&self, executor: Option<&str>) -> bool {
        self.has(executor)
    }

    fn runs_callbacks(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn tests_connections(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn free_slots(&self) -> usize {
        self.slots
    }
}
