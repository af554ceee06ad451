//! What a supervisor reports of a task instance, repeated until the API has taken it.
//!
//! What became of a task is known once, here: if it were given up, others would have to invent something. So it is
//! repeated as long as this process lives. Only what the API refuses because of what is reported, or because the task
//! instance runs elsewhere by now, is an answer. A row that cannot be read is none: it may be mended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_model::key::TaskInstanceKey;
use ferroflow_model::state::TaskState;
use ferroflow_model::supervision::{Conclusion, Ending, conclude};
use ferroflow_telemetry::{chain, clock};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::api::{EnterRunning, ExecutionApi, RunContext, StateUpdate, UnreportedEnd};
use crate::{Host, Patience, Refusal};

/// One process of a task instance, and where it is reported.
pub struct Reports<'a> {
    pub api: &'a Arc<dyn ExecutionApi>,
    /// The id of its try.
    pub id: Uuid,
    pub key: TaskInstanceKey,
    pub try_number: i32,
    pub host: &'a Host,
    pub pid: i32,
    /// When the supervisor has little time left. What is not taken soon after that is left to those who look after
    /// orphaned task instances.
    pub hurry: &'a CancellationToken,
    /// The slot that it takes.
    pub slot: HeldSlot<'a>,
    /// What it reported and is not taken yet.
    pub undelivered: Undelivered,
}

/// What is known of a task instance here alone: a state that it reported, and for which there was no time any more when
/// the API did not take it; and whether the API let it ask for another try.
#[derive(Debug, Default)]
pub struct Undelivered {
    delivery: Mutex<Option<Delivery>>,
    should_retry: AtomicBool,
}

#[derive(Debug)]
struct Delivery {
    update: StateUpdate,
    /// Whether it may be in the row although no answer came.
    may_be_done: bool,
}

impl Undelivered {
    /// The state, if there is one.
    pub fn state(&self) -> Option<TaskState> {
        self.lock().as_ref().map(|delivery| delivery.update.state())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Delivery>> {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of a task whose report may have to wait until a row is mended.
#[derive(Clone, Copy)]
pub struct HeldSlot<'a> {
    /// How long it is held for that: until then, no more is run than rows say. A row that is never mended must not keep
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

/// What came of a state that was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It is in the row.
    Stored,
    /// It was there, or may have been: the row has moved on since.
    MovedOn,
}

impl Reports<'_> {
    /// Asks for leave to run. Nothing of the task has run yet, so it may be asked as often as it takes. For a row that
    /// cannot be read it waits only as long as it may have its slot: it would have to run without.
    pub async fn begin(&self) -> Result<RunContext, Refusal> {
        let mut patience = Patience::new("the start of a task");
        loop {
            let request = EnterRunning {
                hostname: self.host.name.clone(),
                unixname: self.host.user.clone(),
                pid: self.pid,
                start_date: clock::now(),
            };
            let answered = patience.turn(self.api, self.hurry).run(self.id, &request).await;
            match answered {
                Err(refusal)
                    if (refusal.bad_row().is_none() || patience.unreadable_for() < self.slot.at_most)
                        && patience.again_until_mended(&refusal, self.hurry).await => {}
                answered => {
                    let should_retry = answered.as_ref().is_ok_and(|context| context.should_retry);
                    self.undelivered.should_retry.store(should_retry, Ordering::Relaxed);
                    return answered;
                }
            }
        }
    }

    /// Reports the state that the task reports. One for which there is no time any more is reported again at its
    /// [end](Self::end), and until then the task has nothing else to report.
    pub async fn report_state(&self, update: &StateUpdate) -> Result<Delivered, Refusal> {
        if let Some(state) = self.undelivered.state() {
            return Err(Refusal::invalid_state(
                "TI has told its state already, which is still to be stored",
                Some(state),
            ));
        }
        let mut may_be_done = false;
        let delivered = self.deliver(update, &mut may_be_done).await;
        if delivered.as_ref().is_err_and(Refusal::is_for_now) {
            *self.undelivered.lock() = Some(Delivery { update: update.clone(), may_be_done });
        }
        delivered
    }

    async fn deliver(&self, update: &StateUpdate, may_be_done: &mut bool) -> Result<Delivered, Refusal> {
        let process = (self.host.name.as_str(), self.pid);
        let mut patience = Patience::new("the state of a task");
        loop {
            let api = patience.turn(self.api, self.hurry);
            match api.set_state(self.id, update, process).await {
                Ok(()) => return Ok(Delivered::Stored),
                // A try that is followed by another has gone into the history, with its id; one that waited may have been
                // moved on already, and may even run again.
                Err(refusal) if *may_be_done && matches!(refusal.status(), Some(404 | 409)) => {
                    return Ok(Delivered::MovedOn);
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

    /// Reports that its process has ended, if it reported nothing itself, and what it reported and there was no time
    /// for. Answers the state that its row has with that.
    pub async fn end(&self, ending: Ending) -> Result<Option<TaskState>, Refusal> {
        let undelivered = self.undelivered.lock().take();
        if let Some(Delivery { update, mut may_be_done }) = undelivered {
            match self.deliver(&update, &mut may_be_done).await {
                Ok(delivered) => return Ok((delivered == Delivered::Stored).then(|| update.state())),
                // Whatever else were written would be invented: it may have succeeded, and would run again.
                Err(refusal) if refusal.is_for_now() => return Err(refusal),
                Err(refusal) => {
                    tracing::warn!(id = %self.id, "the state that a task reported is refused: {}", chain(&refusal));
                }
            }
        }
        let mut patience = Patience::new("the end of a task");
        loop {
            let api = patience.turn(self.api, self.hurry).into_owned();
            match self.record_failure(&*api, ending).await {
                Err(refusal) if self.is_tried_again(&mut patience, &refusal).await => {}
                answered => return answered,
            }
        }
    }

    /// Whether to report it again, after a while.
    async fn is_tried_again(&self, patience: &mut Patience<'_>, refusal: &Refusal) -> bool {
        if patience.unreadable_for() >= self.slot.at_most {
            (self.slot.give_back)();
        }
        patience.again_until_mended(refusal, self.hurry).await
    }

    async fn record_failure(
        &self,
        api: &dyn ExecutionApi,
        ending: Ending,
    ) -> Result<Option<TaskState>, Refusal> {
        let unwanted = || async { api.ended_unwanted(&self.key, self.try_number).await.map(|()| None) };
        match conclude(ending) {
            Conclusion::Reported(_) => Ok(None),
            Conclusion::Unwanted => unwanted().await,
            Conclusion::Unreported(how) => {
                let end = UnreportedEnd {
                    id: self.id,
                    try_number: self.try_number,
                    hostname: self.host.name.clone(),
                    pid: self.pid,
                    should_retry: self.undelivered.should_retry.load(Ordering::Relaxed),
                    end_date: clock::now(),
                    reason: how.to_string(),
                };
                match api.fail_unreported(&end).await {
                    // It was cleared, and ended before that was noticed; or its end was recorded before, and no answer
                    // came.
                    Err(refusal) if refusal.status() == Some(404) => unwanted().await,
                    answered => answered,
                }
            }
        }
    }
}
