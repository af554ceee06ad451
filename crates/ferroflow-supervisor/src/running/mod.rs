//! The task instances that run in this process: how far each is, and when it was last heard of.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_execution::api::Process;
use ferroflow_model::supervision::EndOrder;
use ferroflow_python::Remains;
use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::watch;
use uuid::Uuid;

/// The task instances that an executor runs. A try that was rescheduled may be here twice: once for the process that is
/// about to end, and once for the next.
#[derive(Debug, Default)]
pub struct Running {
    entries: Mutex<HashMap<Ticket, Entry>>,
    next: AtomicU64,
}

/// A task instance, from when an executor takes it up until it has ended.
#[derive(Debug)]
pub struct RunningTask {
    running: Arc<Running>,
    ticket: Ticket,
    orders: watch::Receiver<Option<EndOrder>>,
}

/// Which of the entries one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(u64);

#[derive(Debug)]
struct Entry {
    id: Uuid,
    orders: watch::Sender<Option<EndOrder>>,
    stage: Stage,
    has_slot: bool,
    /// What is left of its process, if that cannot be killed.
    remains: Option<Remains>,
}

/// How far one is. That its row does not say that it runs is a reason to end it only while the row should say so: not once
/// its state is reported, which the row has then.
#[derive(Debug)]
enum Stage {
    /// Its process does not know yet what to run.
    Starting,
    /// Its row says that it runs.
    Running(Beating),
    /// Its state is on its way to its row. Since then it may have turned out that it is not to run.
    Reporting { beating: Beating, is_unwanted: bool },
    /// Its row has its state.
    Settled,
}

#[derive(Clone, Copy, Debug)]
struct Beating {
    pid: i32,
    last: Stopwatch,
}

impl Running {
    /// Takes a task instance up, which has a slot from now on.
    pub fn add(self: &Arc<Self>, id: Uuid) -> RunningTask {
        let (ticket, orders) = self.take_up(id);
        RunningTask { running: Arc::clone(self), ticket, orders }
    }

    pub(crate) fn take_up(&self, id: Uuid) -> (Ticket, watch::Receiver<Option<EndOrder>>) {
        let (orders, receiver) = watch::channel(None);
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let entry = Entry { id, orders, stage: Stage::Starting, has_slot: true, remains: None };
        self.lock().insert(ticket, entry);
        (ticket, receiver)
    }

    /// How many slots they take.
    pub fn slots(&self) -> usize {
        self.lock().values().filter(|entry| entry.has_slot).count()
    }

    /// Whether a try runs here and its heartbeats are taken, though its row may be locked. Once they are not for so long, it
    /// is ended here.
    pub fn lives(&self, id: Uuid, limit: Duration) -> bool {
        self.lock().values_mut().any(|entry| {
            entry.id == id && entry.beating().is_some_and(|beating| beating.last.elapsed() < limit)
        })
    }

    /// Ends a try that is not to run any more, unless it has reported its state.
    pub fn turn_away(&self, id: Uuid) {
        self.lock().values_mut().filter(|entry| entry.id == id).for_each(Entry::turn_away);
    }

    /// Ends all of them.
    pub fn order_all(&self, order: EndOrder) {
        self.lock().values().for_each(|entry| entry.order(order));
    }

    /// Ends one whose row does not say any more that it runs, unless it has reported its state.
    pub(crate) fn turn_away_entry(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.turn_away();
        }
    }

    /// Those whose rows say that they run.
    pub(crate) fn in_rows(&self) -> Vec<(Ticket, Process)> {
        self.processes(|stage| matches!(stage, Stage::Running(_)))
    }

    /// Those that need heartbeats: also those whose state is on its way, which would be taken for dead before it is there.
    pub(crate) fn beating(&self) -> Vec<(Ticket, Process)> {
        self.processes(|stage| matches!(stage, Stage::Running(_) | Stage::Reporting { .. }))
    }

    fn processes(&self, is_meant: impl Fn(&Stage) -> bool) -> Vec<(Ticket, Process)> {
        let mut running = self.lock();
        let meant = running.iter_mut().filter(|(_, entry)| is_meant(&entry.stage));
        let processes = meant.filter_map(|(ticket, entry)| {
            let id = entry.id;
            entry.beating().map(|beating| (*ticket, Process { id, pid: beating.pid }))
        });
        processes.collect()
    }

    /// The API has heard of these. Answers whether a heartbeat that was not taken is to be repeated soon.
    pub(crate) fn heard(&self, beating: &[(Ticket, Process)], not_taken: &[Process]) -> bool {
        let mut running = self.lock();
        let mut is_any_left = false;
        for (ticket, process) in beating {
            let Some(entry) = running.get_mut(ticket) else { continue };
            let is_ending = entry.orders.borrow().is_some();
            if let Some(beating) = entry.beating() {
                beating.last = Stopwatch::start();
                is_any_left |= !is_ending && not_taken.contains(process);
            }
        }
        is_any_left
    }

    /// Ends those that the API has not heard of for so long that they may be taken for dead. One that reports its state
    /// has done its work: nothing of it could be done twice.
    pub(crate) fn give_up(&self, limit: Duration) {
        for entry in self.lock().values() {
            if let Stage::Running(beating) = &entry.stage
                && beating.last.elapsed() >= limit
            {
                entry.order(EndOrder::HeartbeatsFailed);
            }
        }
    }

    pub(crate) fn started(&self, ticket: Ticket, pid: i32) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.stage = Stage::Running(Beating { pid, last: Stopwatch::start() });
        }
    }

    fn reports(&self, ticket: Ticket, is_reporting: bool) {
        let mut running = self.lock();
        let Some(entry) = running.get_mut(&ticket) else { return };
        match entry.stage {
            Stage::Running(beating) if is_reporting => {
                entry.stage = Stage::Reporting { beating, is_unwanted: false };
            }
            Stage::Reporting { beating, is_unwanted } if !is_reporting => {
                entry.stage = Stage::Running(beating);
                if is_unwanted {
                    entry.order(EndOrder::Unwanted);
                }
            }
            _ => {}
        }
    }

    fn settled(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.stage = Stage::Settled;
        }
    }

    fn cannot_be_killed(&self, ticket: Ticket, remains: Remains) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.remains = Some(remains);
        }
    }

    fn give_slot_back(&self, ticket: Ticket) -> bool {
        self.lock().get_mut(&ticket).is_some_and(|entry| {
            entry.remains.as_ref().is_none_or(Remains::is_gone) && std::mem::take(&mut entry.has_slot)
        })
    }

    fn remove(&self, ticket: Ticket) {
        self.lock().remove(&ticket);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Ticket, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningTask {
    /// Its row does not say any more that it runs.
    pub fn settled(&self) {
        self.running.settled(self.ticket);
    }

    /// It has ended, and has no slot any more. So it has when this is dropped.
    pub fn end(&self) {
        self.running.remove(self.ticket);
    }

    /// What it is told to do.
    pub(crate) fn orders(&self) -> watch::Receiver<Option<EndOrder>> {
        self.orders.clone()
    }

    /// It runs as this process, and its row says so since now.
    pub(crate) fn started(&self, pid: i32) {
        self.running.started(self.ticket, pid);
    }

    /// Its state is being reported, or could not be. It is not turned away meanwhile.
    pub(crate) fn reports(&self, is_reporting: bool) {
        self.running.reports(self.ticket, is_reporting);
    }

    /// Its process has its slot until it is gone.
    pub(crate) fn cannot_be_killed(&self, remains: Remains) {
        self.running.cannot_be_killed(self.ticket, remains);
    }

    /// It takes no slot any more, but gets heartbeats as before. False if it took none, or if its process is there still.
    pub(crate) fn give_slot_back(&self) -> bool {
        self.running.give_slot_back(self.ticket)
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        self.end();
    }
}

impl Entry {
    /// Its process, while its row says that it runs.
    fn beating(&mut self) -> Option<&mut Beating> {
        match &mut self.stage {
            Stage::Running(beating) | Stage::Reporting { beating, .. } => Some(beating),
            Stage::Starting | Stage::Settled => None,
        }
    }

    fn turn_away(&mut self) {
        match &mut self.stage {
            Stage::Starting | Stage::Running(_) => self.order(EndOrder::Unwanted),
            Stage::Reporting { is_unwanted, .. } => *is_unwanted = true,
            Stage::Settled => {}
        }
    }

    /// The first order counts.
    fn order(&self, order: EndOrder) {
        self.orders.send_if_modified(|given| {
            let is_first = given.is_none();
            given.get_or_insert(order);
            is_first
        });
    }
}

#[cfg(test)]
mod tests;
