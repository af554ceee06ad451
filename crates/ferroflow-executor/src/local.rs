//! Runs task instances on this host.

use std::sync::Arc;

use ferroflow_model::state::TaskState;
use ferroflow_model::supervision::EndOrder;
use ferroflow_python::Remains;
use ferroflow_supervisor::{Running, Supervised, Supervision, Ticket, Watcher, look_after};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

use crate::errands::Errands;
use crate::{Event, EventKind, Executor, Workload, WorkloadInstance};

/// Runs each task instance in a process of its own, as many at a time as it has slots. While nothing runs, there is
/// no process but Python's fork server. (Where tasks come one after the other, one process more waits for the next of
/// them, for a moment.)
///
/// Dropping it kills what runs; [`shut_down`](Self::shut_down) also puts down what became of it.
pub struct LocalExecutor {
    supervision: Arc<Supervision>,
    slots: usize,
    running: Arc<Running>,
    errands: Arc<Errands>,
    supervisors: JoinSet<()>,
    happened: UnboundedSender<Event>,
    events: UnboundedReceiver<Event>,
    heartbeats: AbortHandle,
}

impl LocalExecutor {
    /// An executor with so many slots (`[core] parallelism`).
    pub fn new(supervision: Arc<Supervision>, slots: usize) -> Self {
        hide_from_tasks();
        let running = Arc::new(Running::default());
        let (happened, events) = unbounded_channel();
        let (shared, all) = (Arc::clone(&supervision), Arc::clone(&running));
        let heartbeats = tokio::spawn(async move { look_after(&shared, &all).await }).abort_handle();
        let errands = Errands::new(Arc::clone(&supervision), Arc::clone(&running), slots);
        Self {
            supervision,
            slots,
            running,
            errands,
            supervisors: JoinSet::new(),
            happened,
            events,
            heartbeats,
        }
    }

    /// What it does besides tasks.
    pub fn errands(&self) -> Arc<Errands> {
        Arc::clone(&self.errands)
    }

    /// Tells all tasks to end, waits for that, and puts down what became of them.
    pub async fn shut_down(&mut self) {
        self.supervision.close();
        self.supervision.hurry.cancel();
        self.running.order_all(EndOrder::Shutdown);
        self.errands.shut_down().await;
        while self.supervisors.join_next().await.is_some() {}
    }
}

impl Executor for LocalExecutor {
    fn free_slots(&self) -> usize {
        self.slots.saturating_sub(self.running.slots() + self.errands.slots_taken())
    }

    fn submit(&mut self, workload: Workload) {
        // Those that have ended.
        while self.supervisors.try_join_next().is_some() {}
        let (ticket, orders) = self.running.add(workload.ti.id);
        let supervision = Arc::clone(&self.supervision);
        let reporter = Reporter {
            running: Arc::clone(&self.running),
            errands: Arc::clone(&self.errands),
            happened: self.happened.clone(),
            ticket,
            ti: workload.ti.clone(),
        };
        self.supervisors.spawn(async move {
            let mut slot = Slot { reporter: &reporter, what: Some(EventKind::Ended) };
            match supervision.supervise(&workload, &reporter, orders).await {
                Supervised::Ended => {}
                Supervised::NotStarted(reason) => slot.what = Some(EventKind::NotStarted(reason)),
                Supervised::GivenUp(remains) => {
                    slot.tell();
                    supervision.until_gone(&remains).await;
                    slot.what = Some(EventKind::SlotFree);
                }
            }
        });
    }

    async fn next_event(&mut self) -> Event {
        match self.events.recv().await {
            Some(event) => event,
            // There is always a sender: ours.
            None => std::future::pending().await,
        }
    }

    fn terminate(&mut self, id: Uuid) {
        self.running.turn_away(id);
    }
}

impl Drop for LocalExecutor {
    fn drop(&mut self) {
        self.heartbeats.abort();
        self.errands.abort();
    }
}

/// Tasks run as the same user. They must not read secrets out of the memory of this process, as with Airflow. (What
/// the environment holds they are given anyway.)
fn hide_from_tasks() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "tasks may be able to read the memory of this process");
    }
}

/// Hands on what a supervisor tells.
struct Reporter {
    running: Arc<Running>,
    errands: Arc<Errands>,
    happened: UnboundedSender<Event>,
    ticket: Ticket,
    ti: WorkloadInstance,
}

/// The slot of a task instance: free when this is dropped, however its supervisor ended.
struct Slot<'a> {
    reporter: &'a Reporter,
    /// What is told at its end, if it was not told before.
    what: Option<EventKind>,
}

impl Slot<'_> {
    /// Tells the end of a task before its slot is free.
    fn tell(&mut self) {
        self.reporter.running.settled(self.reporter.ticket);
        if let Some(what) = self.what.take() {
            self.reporter.report(what);
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.reporter.running.remove(self.reporter.ticket);
        self.reporter.errands.slot_is_free();
        if let Some(what) = self.what.take() {
            self.reporter.report(what);
        }
    }
}

impl Reporter {
    fn report(&self, what: EventKind) {
        let (id, try_number, key) = (self.ti.id, self.ti.try_number, self.ti.key());
        // Nobody may be left to hear it.
        let _ = self.happened.send(Event { id, key, try_number, what });
    }
}

impl Watcher for Reporter {
    fn started(&self, pid: i32) {
        self.running.started(self.ticket, pid);
    }

    fn cannot_be_killed(&self, remains: &Remains) {
        self.running.cannot_be_killed(self.ticket, remains.clone());
    }

    fn waits_for_long(&self) {
        if self.running.give_slot_back(self.ticket) {
            self.errands.slot_is_free();
            self.report(EventKind::Waits);
        }
    }

    fn telling(&self, is_telling: bool) {
        self.running.tells(self.ticket, is_telling);
    }

    fn state_set(&self, state: TaskState) {
        self.running.settled(self.ticket);
        self.report(EventKind::StateSet(state));
    }

    fn moved_on(&self) {
        self.running.settled(self.ticket);
    }
}
