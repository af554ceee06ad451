//! What an executor does besides tasks: callbacks of missed deadlines, connections that are tried.
//!
//! Each takes a slot like a task. If none is free, it is the next to have one: as long as it waits, the executor takes no
//! more tasks.

mod callback;
mod connection_test;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_model::Json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::Bundle;
use crate::heartbeats::Running;
use crate::supervise::Supervision;

/// A callback to run: Airflow's `ExecuteCallback`. Its row is queued.
#[derive(Clone, Debug, PartialEq)]
pub struct CallbackWorkload {
    /// Its identity.
    pub id: Uuid,
    /// What to call, as it is stored.
    pub data: Json,
    /// The file of the DAG that it is about, relative to its bundle.
    pub dag_rel_path: String,
    /// The bundle.
    pub bundle_info: Bundle,
    /// Where its log goes, relative to `[logging] base_log_folder`.
    pub log_path: String,
    /// The job of the scheduler that has queued it.
    pub job_id: i64,
}

/// A connection to try: Airflow's `TestConnection`. Its row is queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionTestWorkload {
    /// The identity of the test.
    pub id: Uuid,
    /// The connection.
    pub connection_id: String,
}

/// What an executor does besides tasks.
#[derive(Clone, Debug, PartialEq)]
pub enum Errand {
    /// Runs a callback.
    Callback(CallbackWorkload),
    /// Tries a connection.
    ConnectionTest(ConnectionTestWorkload),
}

impl Errand {
    fn id(&self) -> Uuid {
        match self {
            Self::Callback(callback) => callback.id,
            Self::ConnectionTest(test) => test.id,
        }
    }
}

/// The errands of one executor.
pub struct Errands {
    supervision: Arc<Supervision>,
    /// The task instances that it runs, with which errands share its slots.
    running: Arc<Running>,
    slots: usize,
    state: Mutex<State>,
    /// One has ended: for those that wait for a slot.
    has_room: Notify,
    /// The same, for the scheduler.
    has_ended: Notify,
}

#[derive(Default)]
struct State {
    in_hand: HashSet<Uuid>,
    /// How many of them have a slot.
    begun: usize,
    tasks: JoinSet<()>,
}

impl Errands {
    pub(crate) fn new(supervision: Arc<Supervision>, running: Arc<Running>, slots: usize) -> Arc<Self> {
        Arc::new(Self {
            supervision,
            running,
            slots,
            state: Mutex::default(),
            has_room: Notify::new(),
            has_ended: Notify::new(),
        })
    }

    /// Takes one up.
    pub fn take(self: &Arc<Self>, errand: Errand) {
        let mut state = self.lock();
        // Those that have ended.
        while state.tasks.try_join_next().is_some() {}
        state.in_hand.insert(errand.id());
        let errands = Arc::clone(self);
        state.tasks.spawn(async move {
            let stay = Stay { errands: &errands, id: errand.id() };
            let _slot = errands.slot().await;
            let remains = match &errand {
                Errand::Callback(callback) => errands.supervision.run_callback(callback).await,
                Errand::ConnectionTest(test) => errands.supervision.try_connection(test).await,
            };
            // It is over, and nobody who ends waits for it; but a process that cannot be killed keeps its slot.
            drop(stay);
            if let Some(remains) = remains {
                errands.supervision.until_gone(&remains).await;
            }
        });
    }

    /// How many there are, with those that wait for a slot.
    pub fn len(&self) -> usize {
        self.lock().in_hand.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is this one.
    pub fn has(&self, id: Uuid) -> bool {
        self.lock().in_hand.contains(&id)
    }

    /// How many more may be taken up: as many as there are slots, whatever has them now.
    pub fn room(&self) -> usize {
        self.slots.saturating_sub(self.len())
    }

    /// Waits until one has ended, if none has since this was last asked.
    pub async fn ended(&self) {
        self.has_ended.notified().await;
    }

    /// Ends all of them. Their rows say who had them, so that others find them.
    pub async fn shut_down(&self) {
        let mut tasks = std::mem::take(&mut self.lock().tasks);
        tasks.shutdown().await;
    }

    /// Ends all of them, and does not wait for it.
    pub(crate) fn abort(&self) {
        self.lock().tasks.abort_all();
    }

    /// A task has ended, or gives its slot back.
    pub(crate) fn slot_is_free(&self) {
        self.has_room.notify_waiters();
    }

    async fn slot(&self) -> Slot<'_> {
        loop {
            let mut freed = std::pin::pin!(self.has_room.notified());
            freed.as_mut().enable();
            {
                let mut state = self.lock();
                if self.running.slots() + state.begun < self.slots {
                    state.begun += 1;
                    return Slot { errands: self };
                }
            }
            freed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An errand in hand: it is none any more when this is dropped, however it ended.
struct Stay<'a> {
    errands: &'a Errands,
    id: Uuid,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.errands.lock().in_hand.remove(&self.id);
        self.errands.has_ended.notify_one();
    }
}

/// The slot of an errand.
struct Slot<'a> {
    errands: &'a Errands,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.errands.lock().begun -= 1;
        self.errands.slot_is_free();
    }
}
