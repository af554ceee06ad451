//! Tells the database that tasks live, and hears which are not wanted any more.
//!
//! All tasks of an executor are told of together: one statement, however many run. In between it is looked whether
//! somebody has cleared or marked one of them, so that this takes a second to be noticed, not a heartbeat.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_model::supervision::EndOrder;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::watch;
use uuid::Uuid;

use crate::supervise::Supervision;

/// How soon it is noticed that a task is not wanted any more.
const LOOK: Duration = Duration::from_secs(1);

/// How long the database may take for an answer: while it is waited for, nothing else is noticed.
const ANSWER: Duration = Duration::from_secs(10);

/// The task instances that an executor runs. A try that was put off may be here twice: once for the process that is
/// about to end, and once for the next.
#[derive(Debug, Default)]
pub(crate) struct Running {
    entries: Mutex<HashMap<Ticket, Entry>>,
    next: AtomicU64,
}

/// One stay of a task instance in an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(u64);

#[derive(Debug)]
struct Entry {
    id: Uuid,
    orders: watch::Sender<Option<EndOrder>>,
    /// Its process, while it is to be told of.
    beating: Option<Beating>,
}

#[derive(Debug)]
struct Beating {
    pid: i32,
    last: Stopwatch,
    /// Whether its state is on its way to its row.
    is_telling: bool,
}

impl Running {
    /// Takes one up. What it is told to do comes through the receiver.
    pub(crate) fn add(&self, id: Uuid) -> (Ticket, watch::Receiver<Option<EndOrder>>) {
        let (orders, receiver) = watch::channel(None);
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        self.lock().insert(ticket, Entry { id, orders, beating: None });
        (ticket, receiver)
    }

    pub(crate) fn remove(&self, ticket: Ticket) {
        self.lock().remove(&ticket);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// It runs as this process, and its row says so since now.
    pub(crate) fn started(&self, ticket: Ticket, pid: i32) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.beating = Some(Beating { pid, last: Stopwatch::start(), is_telling: false });
        }
    }

    /// It tells its state. Whether its row still says that it runs tells nothing now.
    pub(crate) fn tells(&self, ticket: Ticket, is_telling: bool) {
        if let Some(beating) = self.lock().get_mut(&ticket).and_then(|entry| entry.beating.as_mut()) {
            beating.is_telling = is_telling;
        }
    }

    /// Its row does not say any more that it runs.
    pub(crate) fn settled(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.beating = None;
        }
    }

    /// Tells it to end, unless it was told already.
    pub(crate) fn order(&self, id: Uuid, order: EndOrder) {
        self.lock().values().filter(|entry| entry.id == id).for_each(|entry| entry.order(order));
    }

    /// Tells all of them to end.
    pub(crate) fn order_all(&self, order: EndOrder) {
        self.lock().values().for_each(|entry| entry.order(order));
    }

    /// Tells it to end because its row does not say any more that it runs, unless it has told its state meanwhile.
    fn turn_away(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get(&ticket)
            && entry.beating.as_ref().is_some_and(|beating| !beating.is_telling)
        {
            entry.order(EndOrder::Unwanted);
        }
    }

    /// Those whose rows say that they run.
    fn beating(&self) -> Vec<(Ticket, Uuid, i32)> {
        let running = self.lock();
        let beating = running.iter().filter_map(|(ticket, entry)| {
            let beating = entry.beating.as_ref().filter(|beating| !beating.is_telling)?;
            Some((*ticket, entry.id, beating.pid))
        });
        beating.collect()
    }

    fn heard(&self, beating: &[(Ticket, Uuid, i32)]) {
        let mut running = self.lock();
        for (ticket, ..) in beating {
            if let Some(beating) = running.get_mut(ticket).and_then(|entry| entry.beating.as_mut()) {
                beating.last = Stopwatch::start();
            }
        }
    }

    /// Tells those to end of which nobody has heard for so long that they may be taken for dead.
    fn give_up(&self, limit: Duration) {
        for entry in self.lock().values() {
            if entry.beating.as_ref().is_some_and(|beating| beating.last.elapsed() >= limit) {
                entry.order(EndOrder::HeartbeatsFailed);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Ticket, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn order(&self, order: EndOrder) {
        self.orders.send_if_modified(|given| {
            let is_first = given.is_none();
            given.get_or_insert(order);
            is_first
        });
    }
}

/// Looks after what runs, without end. Costs nothing while nothing runs.
pub(crate) async fn look_after(supervision: &Supervision, running: &Running) {
    let settings = &supervision.settings;
    let limit = settings.scheduler.task_instance_heartbeat_timeout;
    let mut since = Stopwatch::start();
    loop {
        tokio::time::sleep(LOOK).await;
        let beating = running.beating();
        if beating.is_empty() {
            continue;
        }
        let is_beat = since.elapsed() >= settings.workers.min_heartbeat_interval;
        match tokio::time::timeout(ANSWER, ask(supervision, &beating, is_beat)).await {
            Ok(Ok(refused)) => {
                if is_beat {
                    since = Stopwatch::start();
                    running.heard(&beating);
                }
                for (id, refusal) in refused {
                    tracing::debug!(%id, "a task is not to run any more: {}", chain(&refusal));
                    let tickets = beating.iter().filter(|(_, beating, _)| *beating == id);
                    tickets.for_each(|(ticket, ..)| running.turn_away(*ticket));
                }
            }
            Ok(Err(refusal)) => tracing::warn!("heartbeats of tasks fail: {}", chain(&refusal)),
            Err(_) => tracing::warn!("heartbeats of tasks wait for the database"),
        }
        running.give_up(limit);
    }
}

async fn ask(
    supervision: &Supervision,
    beating: &[(Ticket, Uuid, i32)],
    is_beat: bool,
) -> Result<Vec<(Uuid, Refusal)>, Refusal> {
    let service = &supervision.service;
    if is_beat {
        let processes: Vec<(Uuid, i32)> = beating.iter().map(|(_, id, pid)| (*id, *pid)).collect();
        return service.heartbeats(&supervision.host.name, &processes).await;
    }
    let ids: Vec<Uuid> = beating.iter().map(|(_, id, _)| *id).collect();
    service.no_longer_running(&ids).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_and_has_not_told_its_state_is_told_of() {
        let running = Running::default();
        let [first, second] = [Uuid::from_u128(1), Uuid::from_u128(2)].map(|id| running.add(id));
        assert_eq!(running.beating(), []);
        running.started(first.0, 7);
        running.started(second.0, 8);
        running.settled(second.0);
        assert_eq!(running.beating(), [(first.0, Uuid::from_u128(1), 7)]);
        running.give_up(Duration::ZERO);
        assert_eq!(*first.1.borrow(), Some(EndOrder::HeartbeatsFailed));
        assert_eq!(*second.1.borrow(), None);
        running.order_all(EndOrder::Shutdown);
        assert_eq!(*first.1.borrow(), Some(EndOrder::HeartbeatsFailed), "the first order counts");
        assert_eq!(*second.1.borrow(), Some(EndOrder::Shutdown));
        running.remove(first.0);
        assert_eq!(running.len(), 1);
    }

    #[test]
    fn who_has_told_its_state_is_not_turned_away() {
        let running = Running::default();
        let id = Uuid::from_u128(1);
        let ((telling, telling_orders), (silent, silent_orders)) = (running.add(id), running.add(id));
        for ticket in [telling, silent] {
            running.started(ticket, 7);
        }
        running.tells(telling, true);
        assert_eq!(running.beating(), [(silent, id, 7)]);
        for ticket in [telling, silent] {
            running.turn_away(ticket);
        }
        assert_eq!((*telling_orders.borrow(), *silent_orders.borrow()), (None, Some(EndOrder::Unwanted)));
        running.remove(telling);
        assert_eq!(running.len(), 1, "a stay ends by itself");
    }
}
