//! What is told of a task instance in its process, told until the database has it.
//!
//! What became of a task is known once, here: whoever gave up telling it would leave others to invent something. So it
//! is tried as long as this process lives. Only what the database refuses because of what is told, or because the row is
//! somebody else's by now, is an answer. A row that cannot be read is none: somebody may mend it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_model::state::TaskState;
use ferroflow_model::supervision::{Conclusion, Ending, conclude};
use ferroflow_operations::asset::Mappings;
use ferroflow_telemetry::{chain, clock};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::attempt::invalid_state;
use super::model::{EnterRunning, RunContext, StateUpdate};
use crate::{Host, Patience, Refusal, Service};

/// One stay of a task instance in a process.
pub struct Reports<'a> {
    /// Where it is told.
    pub service: &'a Service,
    /// The identity of its try.
    pub id: Uuid,
    /// The task instance.
    pub key: TaskInstanceKey,
    /// Which try it is.
    pub try_number: i32,
    /// Where it runs,
    pub host: &'a Host,
    /// and as which process.
    pub pid: i32,
    /// When this process has little time left. What is not told soon after that is left to those who look after what
    /// others left behind.
    pub hurry: &'a CancellationToken,
    /// The slot that it takes.
    pub slot: HeldSlot<'a>,
    /// What it told and is not stored yet.
    pub undelivered: Undelivered,
}

/// A state that a task told, and for which there was no time any more when the database did not take it.
#[derive(Debug, Default)]
pub struct Undelivered(Mutex<Option<Delivery>>);

#[derive(Debug)]
struct Delivery {
    update: StateUpdate,
    /// Whether it may be in the row although nobody heard so.
    may_be_done: bool,
}

impl Undelivered {
    /// The state, if there is one.
    pub fn state(&self) -> Option<TaskState> {
        self.lock().as_ref().map(|delivery| delivery.update.state())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Delivery>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of a task whose report may have to wait until a row is mended.
#[derive(Clone, Copy)]
pub struct HeldSlot<'a> {
    /// So long it is held for that: until then, no more is run than rows say. One that nobody mends must not keep
    /// others from it for ever.
    pub at_most: Duration,
    /// Gives it back. The report goes on waiting.
    pub give_back: &'a (dyn Fn() + Send + Sync),
}

impl Default for HeldSlot<'_> {
    /// One that is held however long it takes.
    fn default() -> Self {
        Self { at_most: Duration::MAX, give_back: &|| {} }
    }
}

/// What came of a state that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is in the row.
    Stored,
    /// It was there, or may have been: the row has moved on since.
    MovedOn,
}

impl Reports<'_> {
    /// Asks for leave to run. Nothing of the task has run yet, so it may be asked as often as the database needs. For a row
    /// that cannot be read it waits only as long as it may have its slot: it would have to run without.
    pub async fn begin(&self) -> Result<RunContext, Refusal> {
        let mut patience = Patience::new("the start of a task");
        loop {
            let request = EnterRunning {
                hostname: self.host.name.clone(),
                unixname: self.host.user.clone(),
                pid: self.pid,
                start_date: clock::now(),
            };
            let answered = patience.turn(self.service, self.hurry).run(self.id, &request).await;
            match answered {
                Err(refusal)
                    if (refusal.bad_row().is_none() || patience.unreadable_for() < self.slot.at_most)
                        && patience.again_until_mended(&refusal, self.hurry).await => {}
                answered => return answered,
            }
        }
    }

    /// Puts the state that the task tells into its row. One for which there is no time any more is told again at its
    /// [end](Self::end), and until then the task has nothing else to tell.
    pub async fn tell(&self, update: &StateUpdate) -> Result<Told, Refusal> {
        if let Some(state) = self.undelivered.state() {
            return Err(invalid_state(
                "TI has told its state already, which is still to be stored",
                Some(state),
            ));
        }
        let mut may_be_done = false;
        let told = self.deliver(update, &mut may_be_done).await;
        if told.as_ref().is_err_and(Refusal::is_for_now) {
            *self.undelivered.lock() = Some(Delivery { update: update.clone(), may_be_done });
        }
        told
    }

    async fn deliver(&self, update: &StateUpdate, may_be_done: &mut bool) -> Result<Told, Refusal> {
        let process = (self.host.name.as_str(), self.pid);
        let mut patience = Patience::new("the state of a task");
        // What Python has said once need not be asked every time.
        let mappings = Mappings::default();
        loop {
            let service = patience.turn(self.service, self.hurry);
            match service.set_state_of_process(self.id, update, process, &mappings).await {
                Ok(_) => return Ok(Told::Stored),
                // A try that is followed by another has gone into the history, with its id; one that waited may have been
                // moved on already, and may even run again.
                Err(refusal) if *may_be_done && matches!(refusal.status(), Some(404 | 409)) => {
                    return Ok(Told::MovedOn);
                }
                Err(refusal) => {
                    *may_be_done |= refusal.is_outcome_unknown();
                    if !self.is_tried_again(&mut patience, &refusal).await {
                        return Err(refusal);
                    }
                }
            }
        }
    }

    /// Puts down what its process has not told, or what it told and there was no time for. Answers the state that its row
    /// has with that.
    pub async fn end(&self, ending: Ending) -> Result<Option<TaskState>, Refusal> {
        let undelivered = self.undelivered.lock().take();
        if let Some(Delivery { update, mut may_be_done }) = undelivered {
            match self.deliver(&update, &mut may_be_done).await {
                Ok(told) => return Ok((told == Told::Stored).then(|| update.state())),
                // Whatever else were written would be invented: it may have succeeded, and would run again.
                Err(refusal) if refusal.is_for_now() => return Err(refusal),
                Err(refusal) => {
                    tracing::warn!(id = %self.id, "what a task told is refused: {}", chain(&refusal));
                }
            }
        }
        let mut patience = Patience::new("the end of a task");
        loop {
            match self.record_failure(&patience.turn(self.service, self.hurry), ending).await {
                Err(refusal) if self.is_tried_again(&mut patience, &refusal).await => {}
                answered => return answered,
            }
        }
    }

    /// Whether to tell it again, after a while.
    async fn is_tried_again(&self, patience: &mut Patience<'_>, refusal: &Refusal) -> bool {
        if patience.unreadable_for() >= self.slot.at_most {
            (self.slot.give_back)();
        }
        patience.again_until_mended(refusal, self.hurry).await
    }

    async fn record_failure(&self, service: &Service, ending: Ending) -> Result<Option<TaskState>, Refusal> {
        let unwanted = || async { service.ended_unwanted(&self.key, self.try_number).await.map(|()| None) };
        match conclude(ending) {
            Conclusion::Told(_) => Ok(None),
            Conclusion::Unwanted => unwanted().await,
            Conclusion::WithoutAWord(how) => {
                match service.fail_unreported(self.id, self.try_number, &how.to_string()).await {
                    Ok(outcome) => Ok(outcome.new_state().flatten()),
                    // It was cleared, and ended before that was noticed; or it was put down before, and nobody heard so.
                    Err(refusal) if refusal.status() == Some(404) => unwanted().await,
                    Err(refusal) => Err(refusal),
                }
            }
        }
    }
}
