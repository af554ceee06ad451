//! The loop: something happens, [a cycle](crate::cycle) does what follows, and it waits for the next thing.
//!
//! Work starts with its cause: an executor's event makes its run dirty, a dirty run is examined, what becomes ready is
//! queued and handed over; a transaction that creates a run or changes an asset [notifies](ferroflow_db::notifications).
//! What comes by neither is found by a rescan, every `[scheduler] scheduler_idle_sleep_time`. The cost of a cycle follows
//! what has changed.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_component::{JobType, LoopStatus};
use ferroflow_python::listeners::SchedulerListeners;
use ferroflow_telemetry::metrics::scheduling;
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::active_runs::ActiveRuns;
use crate::chores::{self, Chores};
use crate::due_steps::DueSteps;
use crate::executors::{Executors, TrackedEvent};
use crate::inbox::Inbox;
use crate::kept_events::WaitsFor;
use crate::listeners::Listeners;
use crate::metrics::Told;
use crate::queue_tasks::TaskQueue;
use crate::rescan::Surroundings;
use crate::{Context, LogPaths, job};

/// After a failed cycle the next one waits so long, and twice as long every time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Who is about to end tries so often to store what executors have told.
const DRAIN_PAUSE: Duration = Duration::from_secs(1);

/// How many events are taken in before the next cycle.
const MAX_EVENTS: usize = 1000;

/// What a scheduler is made of.
pub struct Parts {
    /// What every step is given.
    pub cx: Arc<Context>,
    /// Where logs go.
    pub paths: LogPaths,
    /// What runs tasks.
    pub executors: Executors,
    /// How many runs are examined at a time.
    pub width: usize,
}

/// How many loops are done (`[scheduler] num_runs`, `only_idle`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Loops {
    /// So many; without end if there is no number.
    pub most: Option<u32>,
    /// Whether only those count in which nothing ran or was to be done, one after the other.
    pub only_idle: bool,
    done: u32,
}

impl Loops {
    /// So many loops.
    pub fn new(most: Option<u32>, only_idle: bool) -> Self {
        Self { most, only_idle, done: 0 }
    }

    /// Whether a loop that is done, and in which something happened or not, was the last.
    fn is_last(&mut self, is_busy: bool) -> bool {
        self.done = if self.only_idle && is_busy { 0 } else { self.done.saturating_add(1) };
        self.most.is_some_and(|most| self.done >= most)
    }
}

/// A scheduler: what it talks to, and what it remembers between two cycles. None of that is the truth, which is in the
/// database.
pub struct Scheduler {
    pub(crate) cx: Arc<Context>,
    pub(crate) paths: LogPaths,
    pub(crate) executors: Executors,
    pub(crate) listeners: Listeners,
    /// Where the loop stands, for the health check and for operators (SIGUSR2).
    pub(crate) loop_status: Arc<LoopStatus>,
    /// How many runs are examined at a time.
    pub(crate) width: usize,

    pub(crate) inbox: Inbox,
    /// Which steps are due,
    pub(crate) due: DueSteps,
    /// and which chores.
    pub(crate) chores: Chores,
    /// The runs that this scheduler tracks,
    pub(crate) active_runs: ActiveRuns,
    /// and its peers, which track others.
    pub(crate) surroundings: Surroundings,
    /// The task instances that wait to be queued.
    pub(crate) queue: TaskQueue,
    /// What logs and metrics have said already.
    pub(crate) told: Told,
    /// When the last step began.
    pub(crate) latest: Timestamp,
}

impl Scheduler {
    /// A scheduler that has seen nothing yet.
    pub fn new(parts: Parts, now: Timestamp) -> Self {
        let Parts { cx, paths, executors, width } = parts;
        let mut chores = Chores::new(&cx.settings, now);
        // What others left behind when there was no scheduler does not wait.
        chores.hasten(chores::dead_schedulers::CHORE.name, now);
        chores.hasten(chores::orphans::CHORE.name, now);
        chores.hasten(chores::executor_callbacks::CHORE.name, now);
        Self {
            paths,
            executors,
            listeners: Listeners::default(),
            loop_status: Arc::new(LoopStatus::new(JobType::Scheduler, cx.progress.clone())),
            width,
            inbox: Inbox::new(cx.db.notifications(), cx.wait_for_no_user_code()),
            due: DueSteps::all(),
            chores,
            active_runs: ActiveRuns::default(),
            surroundings: Surroundings::default(),
            queue: TaskQueue::default(),
            told: Told::default(),
            latest: now,
            cx,
        }
    }

    /// With listeners, who are told of runs, and of tasks that could not tell of themselves.
    #[must_use]
    pub fn with_listeners(mut self, listeners: SchedulerListeners) -> Self {
        self.listeners.set(listeners);
        self
    }

    /// The listeners, to be shut down.
    pub fn take_listeners(&mut self) -> Option<SchedulerListeners> {
        self.listeners.take()
    }

    /// Schedules until it is stopped, or has done all its loops.
    pub async fn run(&mut self, stop: &CancellationToken, mut loops: Loops) {
        let mut pause = FIRST_PAUSE;
        while !stop.is_cancelled() {
            let has_heard = !self.inbox.executor_events.is_empty();
            match self.cycle_by(clock::now).await {
                Ok(report) => {
                    pause = FIRST_PAUSE;
                    // What user code is asked belongs to the loop that asked it.
                    let is_asking =
                        self.cx.run_settings.questions.unanswered() > 0 || !self.inbox.answers.is_empty();
                    self.wait(stop).await;
                    if !is_asking && loops.is_last(report.has_queued() || has_heard || !self.is_idle()) {
                        tracing::info!("all loops are done ([scheduler] num_runs); the scheduler ends");
                        return;
                    }
                }
                Err(error) => {
                    scheduling::cycle_failed();
                    self.loop_status.fails();
                    let millis = pause.as_millis();
                    tracing::error!("scheduling cycle failed; retrying in {millis} ms: {}", chain(&error));
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }

    /// Lets what runs come to its end, unless it is to hurry. Nothing new begins here; in its runs others go on. What
    /// executors have told is stored, however long the database needs; but what waits for a row that cannot be read is left
    /// to those who look after what others left behind.
    pub async fn drain(&mut self, hurry: &CancellationToken) {
        if !self.is_idle()
            && let Err(error) = job::retire(&self.cx.db, self.cx.job_id).await
        {
            tracing::warn!(
                "runs cannot be released; other schedulers take them over once this one has ended: {}",
                chain(&error)
            );
        }
        self.loop_status.waits();
        let is_any_untold = |this: &Self| {
            !this.inbox.executor_events.is_empty()
                || this.inbox.kept_events.waiting_for(WaitsFor::Database) > 0
        };
        while !self.is_idle() || is_any_untold(self) {
            tokio::select! {
                () = hurry.cancelled() => break,
                tracked = self.executors.next_event() => self.take_in_event(tracked),
                () = tokio::time::sleep(DRAIN_PAUSE), if is_any_untold(self) => {}
            }
            if let Err(error) = self.process_executor_events(clock::now()).await {
                tracing::error!("executor events cannot be processed; retrying: {}", chain(&error));
            }
        }
        let (unreadable, untaken) = (
            self.inbox.kept_events.waiting_for(WaitsFor::Mending),
            self.inbox.kept_events.waiting_for(WaitsFor::Database),
        );
        if unreadable + untaken + self.inbox.executor_events.len() > 0 {
            tracing::warn!(
                unreadable,
                not_taken_by_database = untaken + self.inbox.executor_events.len(),
                "executor events were not processed; their task instances are left to other schedulers"
            );
        }
    }

    /// Whether nothing runs: neither tasks nor callbacks nor tests of connections.
    pub fn is_idle(&self) -> bool {
        self.executors.is_idle()
    }

    /// With a status that others look at while it works: the [`Context`] has its progress.
    #[must_use]
    pub fn with_loop_status(self, loop_status: Arc<LoopStatus>) -> Self {
        Self { loop_status, ..self }
    }

    /// The executors.
    pub fn executors(&self) -> &Executors {
        &self.executors
    }

    /// Waits until there is something to do.
    async fn wait(&mut self, stop: &CancellationToken) {
        let pause = self.pause(clock::now());
        self.loop_status.waits();
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.loop_status.asked() => self.log_state(clock::now()),
            tracked = self.executors.next_event() => self.take_in_event(tracked),
            notifications = self.inbox.notifications.recv() => self.on_notification_or_lag(notifications),
            Some(answered) = self.inbox.answers.recv() => self.take_in_answer(answered),
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// Takes in what has happened, without waiting for it.
    pub(crate) fn take_in_events(&mut self) {
        while self.inbox.executor_events.len() < MAX_EVENTS
            && let Some(tracked) = self.executors.try_next_event()
        {
            self.take_in_event(tracked);
        }
    }

    fn take_in_event(&mut self, tracked: Option<TrackedEvent>) {
        match tracked {
            Some(tracked) => self.inbox.executor_events.push_back(tracked),
            // There is room for the next callback.
            None => self.chores.hasten(chores::executor_callbacks::CHORE.name, clock::now()),
        }
    }

    /// How long nothing is to be done unless something happens.
    pub fn pause(&self, now: Timestamp) -> Duration {
        if self.due.is_any() || !self.inbox.notified_runs.is_empty() || self.active_runs.is_dirty(now) {
            return Duration::ZERO;
        }
        let due = [
            Some(self.due.next()),
            self.active_runs.next_due(),
            self.chores.next(),
            self.inbox.kept_events.next_due(),
        ];
        let next = due.into_iter().flatten().min().unwrap_or(now);
        let pause = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        self.queue.busy_pause().map_or(pause, |busy| pause.min(busy))
    }
}
