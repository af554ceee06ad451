//! What an executor does besides tasks: callbacks of missed deadlines, connections that are tried.
//!
//! Each takes a slot like a task. If none is free, it is the next to have one: as long as it waits, the executor takes no
//! more tasks.

mod slots;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_supervisor::{CallbackWorkload, ConnectionTestWorkload, Running, Supervision};
use tokio::task::JoinSet;
use uuid::Uuid;

use slots::Slots;

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
    slots: Slots,
    tasks: Mutex<JoinSet<()>>,
}

impl Errands {
    pub(crate) fn new(supervision: Arc<Supervision>, running: Arc<Running>, slots: usize) -> Arc<Self> {
        Arc::new(Self { supervision, slots: Slots::new(running, slots), tasks: Mutex::default() })
    }

    /// Takes one up.
    pub fn take(self: &Arc<Self>, errand: Errand) {
        let mut tasks = self.tasks();
        // Those that have ended.
        while tasks.try_join_next().is_some() {}
        self.slots.take_up(errand.id());
        let errands = Arc::clone(self);
        tasks.spawn(async move {
            let stay = errands.slots.stay(errand.id());
            let _slot = errands.slots.slot().await;
            let remains = match &errand {
                Errand::Callback(callback) => errands.supervision.run_callback(callback).await,
                Errand::ConnectionTest(test) => errands.supervision.try_connection(test).await,
            };
            // It is over, and nobody who ends waits for it; but a process that cannot be killed keeps its slot.
            let _given_up = remains.as_ref().map(|_| errands.slots.give_up());
            drop(stay);
            if let Some(remains) = remains {
                errands.supervision.until_gone(&remains).await;
            }
        });
    }

    /// How many slots are not for tasks: those of errands that run or wait for one, and of those that have left a process
    /// which cannot be killed.
    pub fn slots_taken(&self) -> usize {
        self.slots.taken()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.in_hand() == 0
    }

    /// Whether there is this one.
    pub fn has(&self, id: Uuid) -> bool {
        self.slots.has(id)
    }

    /// Whether a task runs beside them, and its executor has not given it up. Its row may say nothing of that for as long as
    /// others have locked it.
    pub fn is_task_alive(&self, id: Uuid) -> bool {
        let limit = self.supervision.settings.scheduler.task_instance_heartbeat_timeout;
        self.slots.is_task_alive(id, limit)
    }

    /// How many more may be taken up.
    pub fn room(&self) -> usize {
        self.slots.room()
    }

    /// Waits until one has ended, or has let go of its slot, if none has since this was last asked.
    pub async fn ended(&self) {
        self.slots.ended().await;
    }

    /// Ends all of them. Their rows say who had them, so that others find them.
    pub async fn shut_down(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks());
        tasks.shutdown().await;
    }

    /// Ends all of them, and does not wait for it.
    pub(crate) fn abort(&self) {
        self.tasks().abort_all();
    }

    /// A task has ended, or gives its slot back.
    pub(crate) fn slot_is_free(&self) {
        self.slots.one_is_free();
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
