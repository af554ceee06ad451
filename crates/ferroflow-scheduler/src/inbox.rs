//! What executors, other transactions and user code tell: the step that it concerns is due at once.

use std::collections::{BTreeSet, VecDeque};

use ferroflow_db::notifications::{self, Notification};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use jiff::Timestamp;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::active_runs::RunKey;
use crate::executor_events::{EventOutcome, process_executor_event};
use crate::executors::TrackedEvent;
use crate::kept_events::{KeptEvents, drop_event};
use crate::rescan::look_at;
use crate::scheduler::Scheduler;
use crate::start_runs::Waiting;
use crate::{Answered, Error};
use crate::{chores, metrics};

/// So many rows that others hold are waited for in one step, of events that have just come and of kept ones.
pub(crate) const MAX_HELD: usize = 2;

/// What has come from elsewhere and was not looked at yet.
pub(crate) struct Inbox {
    /// From executors,
    pub(crate) executor_events: VecDeque<TrackedEvent>,
    /// those among them whose rows cannot be read or written for now,
    pub(crate) kept_events: KeptEvents,
    /// from transactions, in this process and in others,
    pub(crate) notifications: notifications::Receiver,
    /// the runs that they name,
    pub(crate) notified_runs: BTreeSet<RunKey>,
    /// and from user code.
    pub(crate) answers: UnboundedReceiver<Answered>,
}

impl Inbox {
    pub(crate) fn new(notifications: notifications::Receiver, answers: UnboundedReceiver<Answered>) -> Self {
        Self {
            executor_events: VecDeque::new(),
            kept_events: KeptEvents::default(),
            notifications,
            notified_runs: BTreeSet::new(),
            answers,
        }
    }
}

impl Scheduler {
    /// Executors' events meet their rows, and the runs that they concern are examined.
    pub(crate) async fn process_executor_events(&mut self, now: Timestamp) -> Result<(), Error> {
        let watch = Stopwatch::start();
        self.take_in_events();
        metrics::events_taken_in(&self.executors.slots(), watch.elapsed());
        self.take_in_notifications();
        self.take_in_answers();
        let has_any = !self.inbox.executor_events.is_empty();
        self.process_kept_events(now).await?;
        let mut held = 0;
        for _ in 0..self.inbox.executor_events.len() {
            self.cx.progress.gets_on();
            let Some(tracked) = self.inbox.executor_events.pop_front() else { break };
            let Err(error) = self.take_in(&tracked).await else { continue };
            if error.is_about_data() && error.bad_row().is_none() {
                drop_event(&tracked, &chain(&error));
            } else if error.is_busy() {
                self.keep(tracked, &error, now);
                held += 1;
                if held == MAX_HELD {
                    break;
                }
            } else if error.is_passing() {
                self.inbox.executor_events.push_front(tracked);
                return Err(error);
            } else {
                // A row cannot be read, or a trigger of the site in the database refuses it: that concerns no other row.
                self.keep(tracked, &error, now);
            }
        }
        if has_any {
            self.notify_free_slots().await?;
        }
        Ok(())
    }

    /// One event meets its row.
    pub(crate) async fn take_in(&mut self, tracked: &TrackedEvent) -> Result<(), Error> {
        // It nests deeper than the compiler would follow from the cycle on.
        let processed = process_executor_event(&self.cx.db, &self.cx.service, Some(self.cx.job_id), tracked);
        let processed = Box::pin(processed).await?;
        if let EventOutcome::RecordedFailure(_) = processed.what {
            self.listeners.task_failed(&processed.key, tracked.why_it_ended());
        }
        let state = match processed.what {
            EventOutcome::Told(state) => Some(state),
            _ => None,
        };
        if processed.is_news() {
            self.active_runs.mark_changed(&processed.key, processed.id, state);
        }
        Ok(())
    }

    /// Takes in what was told, without waiting for it.
    pub(crate) fn take_in_notifications(&mut self) {
        loop {
            match self.inbox.notifications.try_recv() {
                Ok(notifications) => self.on_notification(notifications),
                Err(TryRecvError::Lagged(_)) => self.on_notification(Notification::Missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Takes in what user code has answered, without waiting for it.
    pub(crate) fn take_in_answers(&mut self) {
        while let Ok(answered) = self.inbox.answers.try_recv() {
            self.take_in_answer(answered);
        }
    }

    /// What waited for an answer is done again.
    pub(crate) fn take_in_answer(&mut self, answered: Answered) {
        match answered {
            Answered::Create => self.due.create = true,
            Answered::Run(key) => self.active_runs.forget(&key),
        }
    }

    /// What was told, or that too much was.
    pub(crate) fn on_notification_or_lag(&mut self, notifications: Result<Notification, RecvError>) {
        self.on_notification(notifications.unwrap_or(Notification::Missed));
    }

    fn on_notification(&mut self, notifications: Notification) {
        match notifications {
            Notification::Queued => self.due.start = Waiting::All,
            Notification::QueuedOf { dag_id } => _ = self.due.start_soon.insert(dag_id),
            Notification::Assets => self.due.create = true,
            Notification::Run { dag_id, run_id } => {
                let key = RunKey { dag_id, run_id };
                if self.active_runs.contains(&key) {
                    self.inbox.notified_runs.insert(key);
                }
            }
            // Every cycle asks for them.
            Notification::Slots => {}
            Notification::Answers => self.chores.hasten(chores::awaiting_input::CHORE.name, Timestamp::MIN),
            Notification::Schedulers => {
                self.chores.hasten(chores::dead_schedulers::CHORE.name, Timestamp::MIN);
                self.due.rescan_by(Timestamp::MIN);
            }
            Notification::Dags | Notification::Missed => {
                self.surroundings.have_dags_changed = true;
                self.due.rescan_by(Timestamp::MIN);
            }
        }
    }

    /// Looks at the runs that notifications name.
    pub(crate) async fn look_at_notified_runs(&mut self, now: Timestamp) -> Result<(), Error> {
        if self.inbox.notified_runs.is_empty() {
            return Ok(());
        }
        let ready = look_at(&self.cx, &mut self.active_runs, &self.inbox.notified_runs, now).await?;
        self.inbox.notified_runs.clear();
        // A trigger has fired.
        self.queue.add(ready);
        Ok(())
    }

    /// Tells other schedulers that slots have become free.
    pub(crate) async fn notify_free_slots(&mut self) -> Result<(), Error> {
        if self.surroundings.peers.is_empty() {
            return Ok(());
        }
        Ok(notifications::notify_others(&self.cx.db, &Notification::Slots).await?)
    }
}
