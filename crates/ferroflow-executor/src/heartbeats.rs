//! Tells the database that tasks live, and hears which are not wanted any more.
//!
//! All tasks of an executor are told of together: one statement, however many run. In between it is looked whether
//! somebody has cleared or marked one of them, so that this takes a second to be noticed, not a heartbeat.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_execution::task_instance::Heard;
use ferroflow_model::supervision::EndOrder;
use ferroflow_python::Remains;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::watch;
use uuid::Uuid;

use crate::supervise::Supervision;

/// How soon it is noticed that a task is not wanted any more.
const LOOK: Duration = Duration::from_secs(1);

/// How long the database may take for an answer before that is told: while it is waited for, nothing else is noticed.
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

impl Running {
    /// Takes one up. What it is told to do comes through the receiver.
    pub(crate) fn add(&self, id: Uuid) -> (Ticket, watch::Receiver<Option<EndOrder>>) {
        let (orders, receiver) = watch::channel(None);
        let ticket = Ticket(self.next.fetch_add(1, Ordering::Relaxed));
        let entry = Entry { id, orders, stage: Stage::Starting, has_slot: true, remains: None };
        self.lock().insert(ticket, entry);
        (ticket, receiver)
    }

    pub(crate) fn remove(&self, ticket: Ticket) {
        self.lock().remove(&ticket);
    }

    /// How many slots they take.
    pub(crate) fn slots(&self) -> usize {
        self.lock().values().filter(|entry| entry.has_slot).count()
    }

    /// Its process cannot be killed, and has its slot until it is gone.
    pub(crate) fn cannot_be_killed(&self, ticket: Ticket, remains: Remains) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.remains = Some(remains);
        }
    }

    /// It takes no slot any more, but is looked after as before. False if it took none, or if its process is there still.
    pub(crate) fn give_slot_back(&self, ticket: Ticket) -> bool {
        self.lock().get_mut(&ticket).is_some_and(|entry| {
            entry.remains.as_ref().is_none_or(Remains::is_gone) && std::mem::take(&mut entry.has_slot)
        })
    }

    /// It runs as this process, and its row says so since now.
    pub(crate) fn started(&self, ticket: Ticket, pid: i32) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.stage = Stage::Running(Beating { pid, last: Stopwatch::start() });
        }
    }

    /// It tells its state, or could not. Nobody turns it away in between.
    pub(crate) fn tells(&self, ticket: Ticket, is_telling: bool) {
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
    pub(crate) fn settled(&self, ticket: Ticket) {
        if let Some(entry) = self.lock().get_mut(&ticket) {
            entry.stage = Stage::Settled;
        }
    }

    /// Tells it to end because it is not wanted any more. What has told its state may finish.
    pub(crate) fn turn_away(&self, id: Uuid) {
        self.lock().values_mut().filter(|entry| entry.id == id).for_each(Entry::turn_away);
    }

    /// Tells all of them to end.
    pub(crate) fn order_all(&self, order: EndOrder) {
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
    fn beating(&self, is_beat: bool) -> Vec<(Ticket, Uuid, i32)> {
        let running = self.lock();
        let beating = running.iter().filter_map(|(ticket, entry)| match entry.stage {
            Stage::Running(beating) => Some((*ticket, entry.id, beating.pid)),
            Stage::Telling { beating, .. } if is_beat => Some((*ticket, entry.id, beating.pid)),
            _ => None,
        });
        beating.collect()
    }

    fn heard(&self, beating: &[(Ticket, Uuid, i32)]) {
        let mut running = self.lock();
        for (ticket, ..) in beating {
            if let Some(beating) = running.get_mut(ticket).and_then(Entry::beating) {
                beating.last = Stopwatch::start();
            }
        }
    }

    /// Whether it runs here and is told of, though others may have locked its row. Once it is not, it is given up here.
    pub(crate) fn lives(&self, id: Uuid, limit: Duration) -> bool {
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

/// Looks after what runs, without end. Costs nothing while nothing runs.
pub(crate) async fn look_after(supervision: &Supervision, running: &Running) {
    let settings = &supervision.settings;
    let limit = settings.scheduler.task_instance_heartbeat_timeout;
    let mut since = Stopwatch::start();
    let mut is_any_locked = false;
    loop {
        tokio::time::sleep(LOOK).await;
        // As soon as somebody lets go of a row it tells that its task lives: others may look at it, too.
        let is_beat = is_any_locked || since.elapsed() >= settings.workers.min_heartbeat_interval;
        let beating = running.beating(is_beat);
        if beating.is_empty() {
            is_any_locked = false;
            continue;
        }
        match answer(ask(supervision, &beating, is_beat), running, limit).await {
            Ok(heard) => {
                if is_beat {
                    since = Stopwatch::start();
                    is_any_locked = !heard.locked.is_empty();
                    running.heard(&beating);
                }
                turn_away_refused(running, &beating, &heard.refused);
            }
            Err(refusal) => tracing::warn!("heartbeats of tasks fail: {}", chain(&refusal)),
        }
        running.give_up(limit);
    }
}

/// Waits for the answer, however long the database takes: whoever left a statement alone would leave its connection and
/// what that has locked, too. Who is not heard meanwhile is given up.
async fn answer(
    asking: impl Future<Output = Result<Heard, Refusal>>,
    running: &Running,
    limit: Duration,
) -> Result<Heard, Refusal> {
    let mut asking = pin!(asking);
    loop {
        tokio::select! {
            answered = &mut asking => return answered,
            () = tokio::time::sleep(ANSWER) => {
                tracing::warn!("heartbeats of tasks wait for the database");
                running.give_up(limit);
            }
        }
    }
}

async fn ask(
    supervision: &Supervision,
    beating: &[(Ticket, Uuid, i32)],
    is_beat: bool,
) -> Result<Heard, Refusal> {
    let service = &supervision.service;
    if is_beat {
        let processes: Vec<(Uuid, i32)> = beating.iter().map(|(_, id, pid)| (*id, *pid)).collect();
        return service.heartbeats(&supervision.host.name, &processes).await;
    }
    let ids: Vec<Uuid> = beating.iter().map(|(_, id, _)| *id).collect();
    Ok(Heard { refused: service.no_longer_running(&ids).await?, locked: Vec::new() })
}

fn turn_away_refused(running: &Running, beating: &[(Ticket, Uuid, i32)], refused: &[(Uuid, Refusal)]) {
    for (id, refusal) in refused {
        tracing::debug!(%id, "a task is not to run any more: {}", chain(refusal));
        let tickets = beating.iter().filter(|(_, beating, _)| beating == id);
        tickets.for_each(|(ticket, ..)| running.turn_away_stay(*ticket));
    }
}

#[cfg(test)]
mod tests;
