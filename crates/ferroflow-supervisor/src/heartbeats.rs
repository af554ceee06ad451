//! Tells the database that tasks live, and hears which are not wanted any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_execution::api::Process;
use ferroflow_model::supervision::EndOrder;
use ferroflow_python::Remains;
use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::watch;
use uuid::Uuid;

pub use look_after::look_after;

/// The task instances that an executor runs. A try that was put off may be here twice: once for the process that is
/// about to end, and once for the next.
#[derive(Debug, Default)]
pub struct Running {
    entries: Mutex<HashMap<Ticket, Entry>>,
    next: AtomicU64,
}

/// One stay of a task instance in an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

#[derive(Debug)]
struct Entry {
    id: Uuid,
    orders: watch::Sender<Option<EndOrder>>,
    stage: Stage,
    has_slot: bool,
    /// What is left of its process, if that cannot be killed.
    remains: Option<Remains>,
}

/// How far one has come. Whether its row says that it runs means something only while it should say so: one that has
/// told its state is not unwanted because its row tells that state, and whoever looked at that moment cannot know better.
#[derive(Debug)]
enum Stage {
    /// Its process is not told yet what to run.
    Starting,
    /// Its row says that it runs.
    Running(Beating),
    /// Its state is on its way to its row. Somebody may have turned it away since.
    Telling { beating: Beating, is_unwanted: bool },
    /// Its row says what became of it.
    Settled,
}

#[derive(Clone, Copy, Debug)]
struct Beating {
    pid: i32,
    last: Stopwatch,
}

impl Beating {
    fn process(self, id: Uuid) -> Process {
        Process { id, pid: self.pid }
    }
}

impl Running {
    /// Takes one up. What it is told to do comes through the receiver.
    pub fn add(&self, id: Uuid) -> (Ticket, watch::Receiver<Option<EndOrder>>) {
        let (orders, receiver) = watch::channel(None);
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let entry = Entry { id, orders, stage: Stage::Starting, has_slot: true, remains: None };
        self.lock().insert(ticket, entry);
        (ticket, receiver)
    }

    pub fn remove(&self, ticket: Ticket) {
        self.lock().remove(&ticket);
    }

    /// How many slots they take.
    pub fn slots(&self) -> usize {
        self.lock().values().filter(|entry| entry.has_slot).count()
    }

    /// Its process cannot be killed, and has its slot until it is gone.
    pub fn cannot_be_killed(&self, ticket: Ticket, remains: Remains) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.remains = Some(remains);
        }
    }

    /// It takes no slot any more, but is looked after as before. False if it took none, or if its process is there still.
    pub fn give_slot_back(&self, ticket: Ticket) -> bool {
        self.lock().get_mut(&ticket).is_some_and(|entry| {
            entry.remains.as_ref().is_none_or(Remains::is_gone) && std::mem::take(&mut entry.has_slot)
        })
    }

    /// It runs as this process, and its row says so since now.
    pub fn started(&self, ticket: Ticket, pid: i32) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.stage = Stage::Running(Beating { pid, last: Stopwatch::start() });
        }
    }

    /// It tells its state, or could not. Nobody turns it away in between.
    pub fn tells(&self, ticket: Ticket, is_telling: bool) {
        let mut running = self.lock();
        let Some(entry) = running.get_mut(&ticket) else { return };
        match entry.stage {
            Stage::Running(beating) if is_telling => {
                entry.stage = Stage::Telling { beating, is_unwanted: false };
            }
            Stage::Telling { beating, is_unwanted } if !is_telling => {
                entry.stage = Stage::Running(beating);
                if is_unwanted {
                    entry.order(EndOrder::Unwanted);
                }
            }
            _ => {}
        }
    }

    /// Its row does not say any more that it runs.
    pub fn settled(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.stage = Stage::Settled;
        }
    }

    /// Tells it to end because it is not wanted any more. What has told its state may finish.
    pub fn turn_away(&self, id: Uuid) {
        self.lock().values_mut().filter(|entry| entry.id == id).for_each(Entry::turn_away);
    }

    /// Tells all of them to end.
    pub fn order_all(&self, order: EndOrder) {
        self.lock().values().for_each(|entry| entry.order(order));
    }

    /// The same because its row does not say any more that it runs.
    fn turn_away_stay(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.turn_away();
        }
    }

    /// Those whose rows say that they run; if they are to be told of, also those whose state is on its way: until it is
    /// there, others would take them for dead.
    fn beating(&self, is_beat: bool) -> Vec<(Ticket, Process)> {
        let running = self.lock();
        let beating = running.iter().filter_map(|(ticket, entry)| match entry.stage {
            Stage::Running(beating) => Some((*ticket, beating.process(entry.id))),
            Stage::Telling { beating, .. } if is_beat => Some((*ticket, beating.process(entry.id))),
            _ => None,
        });
        beating.collect()
    }

    /// The database has been told of these, but for what it has not taken. Answers whether some of that is to be told again
    /// soon: others may look at its row.
    fn heard(&self, beating: &[(Ticket, Process)], untaken: &[Process]) -> bool {
        let mut running = self.lock();
        let mut is_any_left = false;
        for (ticket, process) in beating {
            let Some(entry) = running.get_mut(ticket) else { continue };
            let is_told_to_end = entry.orders.borrow().is_some();
            if let Some(beating) = entry.beating() {
                beating.last = Stopwatch::start();
                is_any_left |= !is_told_to_end && untaken.contains(process);
            }
        }
        is_any_left
    }

    /// Whether it runs here and is told of, though others may have locked its row. Once it is not, it is given up here.
    pub fn lives(&self, id: Uuid, limit: Duration) -> bool {
        self.lock().values_mut().any(|entry| {
            entry.id == id && entry.beating().is_some_and(|beating| beating.last.elapsed() < limit)
        })
    }

    /// Tells those to end of which nobody has heard for so long that they may be taken for dead. Who tells its state has
    /// done its work: nothing of it could be done twice.
    fn give_up(&self, limit: Duration) {
        for entry in self.lock().values() {
            if let Stage::Running(beating) = &entry.stage
                && beating.last.elapsed() >= limit
            {
                entry.order(EndOrder::HeartbeatsFailed);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Ticket, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Its process, while its row says that it runs.
    fn beating(&mut self) -> Option<&mut Beating> {
        match &mut self.stage {
            Stage::Running(beating) | Stage::Telling { beating, .. } => Some(beating),
            Stage::Starting | Stage::Settled => None,
        }
    }

    fn turn_away(&mut self) {
        match &mut self.stage {
            Stage::Starting | Stage::Running(_) => self.order(EndOrder::Unwanted),
            Stage::Telling { is_unwanted, .. } => *is_unwanted = true,
            Stage::Settled => {}
        }
    }

    /// Tells it to end, unless it was told already.
    fn order(&self, order: EndOrder) {
        self.orders.send_if_modified(|given| {
            let is_first = given.is_none();
            given.get_or_insert(order);
            is_first
        });
    }
}

mod look_after;
#[cfg(test)]
mod tests;
