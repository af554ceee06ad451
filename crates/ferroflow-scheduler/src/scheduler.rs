//! The loop: something happens, what follows is done, and it waits for the next thing.
//!
//! Work starts with its cause: an executor's event makes its run dirty, a dirty run is examined, what becomes ready is
//! queued and handed over; whoever makes a run or changes an asset [tells](ferroflow_db::notifications). What nobody tells is found
//! by looking around, every `[scheduler] scheduler_idle_sleep_time`.
//! The cost of a cycle follows what has changed.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ferroflow_component::{JobType, LoopStatus};
use ferroflow_db::notifications;
use ferroflow_python::listeners::SchedulerListeners;
use ferroflow_telemetry::metrics::scheduling;
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::active_runs::{ActiveRuns, RunKey};
use crate::chores::{Chore, Chores};
use crate::create_runs::DueRound;
use crate::due_steps::DueSteps;
use crate::executors::{Executors, TrackedEvent};
use crate::kept_events::{KeptEvents, WaitsFor};
use crate::metrics::Told;
use crate::put_off::PutOff;
use crate::queue_tasks::TaskQueue;
use crate::rescan::Surroundings;
use crate::{Answered, Context, LogPaths, job};

/// After a failed cycle the next one waits so long, and twice as long every time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Who is about to end tries so often to store what executors have told.
const DRAIN_PAUSE: Duration = Duration::from_secs(1);

/// While another scheduler is in the critical section, it is asked again after so long, and twice as long every time.
const SECTION_PAUSE: Duration = Duration::from_millis(5);
const MAX_SECTION_DOUBLINGS: u32 = 6;

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
    /// So many; without end if nobody says.
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

/// A scheduler: all that it remembers between two cycles. None of it is the truth; that is in the database.
pub struct Scheduler {
    pub(crate) cx: Arc<Context>,
    pub(crate) paths: LogPaths,
    pub(crate) executors: Executors,
    pub(crate) active_runs: ActiveRuns,
    pub(crate) surroundings: Surroundings,
    pub(crate) queue: TaskQueue,
    pub(crate) chores: Chores,
    pub(crate) due_steps: DueSteps,
    /// How far it has come with the DAGs that are due.
    pub(crate) due: DueRound,
    /// Queued runs whose start the database has refused.
    pub(crate) unstarted: PutOff<i64>,
    /// Whether this cycle is one without them.
    pub(crate) crowd_waits: bool,
    /// What executors have told, and was not looked at yet.
    pub(crate) executor_events: VecDeque<TrackedEvent>,
    /// The same, of rows that cannot be read or written.
    pub(crate) kept: KeptEvents,
    /// What transactions tell, in this process and in others.
    pub(crate) notifications: notifications::Receiver,
    /// That user code has answered.
    pub(crate) answers: UnboundedReceiver<Answered>,
    /// Runs in which somebody has changed something.
    pub(crate) notified_runs: BTreeSet<RunKey>,
    /// How often in a row another scheduler was in the critical section.
    pub(crate) section_busy: u32,
    /// How many runs are examined at a time.
    pub(crate) width: usize,
    /// When the last step began.
    pub(crate) latest: Timestamp,
    /// What metrics were told.
    pub(crate) told: Told,
    /// Where it stands, for those who ask.
    pub(crate) loop_status: Arc<LoopStatus>,
    /// Who is told of what has been done.
    pub(crate) listeners: Option<SchedulerListeners>,
}

impl Scheduler {
    /// A scheduler that has seen nothing yet.
    pub fn new(parts: Parts, now: Timestamp) -> Self {
        let Parts { cx, paths, executors, width } = parts;
        let mut chores = Chores::new(&cx.settings, now);
        // What others left behind when there was no scheduler does not wait.
        chores.hasten(Chore::DeadSchedulers, now);
        chores.hasten(Chore::Orphans, now);
        chores.hasten(Chore::ExecutorCallbacks, now);
        Self {
            chores,
            notifications: cx.db.notifications(),
            answers: cx.wait_for_no_user_code(),
            notified_runs: BTreeSet::new(),
            paths,
            executors,
            active_runs: ActiveRuns::default(),
            surroundings: Surroundings::default(),
            queue: TaskQueue::default(),
            due_steps: DueSteps::at_first(),
            due: DueRound::default(),
            unstarted: PutOff::default(),
            crowd_waits: false,
            executor_events: VecDeque::new(),
            kept: KeptEvents::default(),
            section_busy: 0,
            width,
            latest: now,
            told: Told::default(),
            loop_status: Arc::new(LoopStatus::new(JobType::Scheduler, cx.progress.clone())),
            listeners: None,
            cx,
        }
    }

    /// Schedules until it is stopped, or has done all its loops.
    pub async fn run(&mut self, stop: &CancellationToken, mut loops: Loops) {
        let mut pause = FIRST_PAUSE;
        while !stop.is_cancelled() {
            let has_heard = !self.executor_events.is_empty();
            match self.cycle_by(clock::now).await {
                Ok(report) => {
                    pause = FIRST_PAUSE;
                    // What user code is asked belongs to the loop that asked it.
                    let is_asking =
                        self.cx.run_settings.questions.unanswered() > 0 || !self.answers.is_empty();
                    self.wait(stop).await;
                    if !is_asking && loops.is_last(report.has_queued() || has_heard || !self.is_idle()) {
                        tracing::info!("as many loops are done as were asked for");
                        return;
                    }
                }
                Err(error) => {
                    scheduling::cycle_failed();
                    self.loop_status.fails();
                    tracing::error!("a cycle has failed, and is tried again: {}", chain(&error));
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
            tracing::warn!("the runs wait until this scheduler has ended: {}", chain(&error));
        }
        self.loop_status.waits();
        let is_any_untold =
            |this: &Self| !this.executor_events.is_empty() || this.kept.waiting_for(WaitsFor::Database) > 0;
        while !self.is_idle() || is_any_untold(self) {
            tokio::select! {
                () = hurry.cancelled() => break,
                tracked = self.executors.next_event() => self.take_in_event(tracked),
                () = tokio::time::sleep(DRAIN_PAUSE), if is_any_untold(self) => {}
            }
            if let Err(error) = self.process_executor_events(clock::now()).await {
                tracing::error!("what became of a task cannot be stored: {}", chain(&error));
            }
        }
        let (unreadable, untaken) =
            (self.kept.waiting_for(WaitsFor::Mending), self.kept.waiting_for(WaitsFor::Database));
        if unreadable + untaken + self.executor_events.len() > 0 {
            tracing::warn!(
                unreadable,
                not_taken_by_database = untaken + self.executor_events.len(),
                "what executors told and could not be stored is left to others"
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
            notifications = self.notifications.recv() => self.on_notification_or_lag(notifications),
            Some(answered) = self.answers.recv() => self.take_in_answer(answered),
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// Takes in what has happened, without waiting for it.
    pub(crate) fn take_in_events(&mut self) {
        while self.executor_events.len() < MAX_EVENTS
            && let Some(tracked) = self.executors.try_next_event()
        {
            self.take_in_event(tracked);
        }
    }

    fn take_in_event(&mut self, tracked: Option<TrackedEvent>) {
        match tracked {
            Some(tracked) => self.executor_events.push_back(tracked),
            // There is room for the next callback.
            None => self.chores.hasten(Chore::ExecutorCallbacks, clock::now()),
        }
    }

    /// How long nothing is to be done unless something happens.
    pub fn pause(&self, now: Timestamp) -> Duration {
        if self.due_steps.is_any() || !self.notified_runs.is_empty() || self.active_runs.is_dirty(now) {
            return Duration::ZERO;
        }
        let due = [
            Some(self.due_steps.next()),
            self.active_runs.next_due(),
            self.chores.next(),
            self.kept.next_due(),
        ];
        let next = due.into_iter().flatten().min().unwrap_or(now);
        let pause = Duration::try_from(next.duration_since(now)).unwrap_or_default();
        match self.section_busy {
            0 => pause,
            times => pause.min(SECTION_PAUSE * 2_u32.pow((times - 1).min(MAX_SECTION_DOUBLINGS))),
        }
    }
}
