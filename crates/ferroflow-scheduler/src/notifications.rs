//! What other transactions and user code tell: the step that it concerns is asked for at once.

use ferroflow_db::notifications::{self, Notification};
use jiff::Timestamp;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::active_runs::RunKey;
use crate::chores;
use crate::rescan::look_at;
use crate::scheduler::Scheduler;
use crate::start_runs::Waiting;
use crate::{Answered, Error};

impl Scheduler {
    /// Takes in what was told, without waiting for it.
    pub(crate) fn take_in_notifications(&mut self) {
        loop {
            match self.notifications.try_recv() {
                Ok(notifications) => self.on_notification(notifications),
                Err(TryRecvError::Lagged(_)) => self.on_notification(Notification::Missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Takes in what user code has answered, without waiting for it.
    pub(crate) fn take_in_answers(&mut self) {
        while let Ok(answered) = self.answers.try_recv() {
            self.take_in_answer(answered);
        }
    }

    /// What waited for an answer is done again.
    pub(crate) fn take_in_answer(&mut self, answered: Answered) {
        match answered {
            Answered::Create => self.due_steps.create = true,
            Answered::Run(key) => self.active_runs.forget(&key),
        }
    }

    /// What was told, or that too much was.
    pub(crate) fn on_notification_or_lag(&mut self, notifications: Result<Notification, RecvError>) {
        self.on_notification(notifications.unwrap_or(Notification::Missed));
    }

    fn on_notification(&mut self, notifications: Notification) {
        match notifications {
            Notification::Queued => self.due_steps.start = Waiting::All,
            Notification::QueuedOf { dag_id } => _ = self.due_steps.start_soon.insert(dag_id),
            Notification::Assets => self.due_steps.create = true,
            Notification::Run { dag_id, run_id } => {
                let key = RunKey { dag_id, run_id };
                if self.active_runs.contains(&key) {
                    self.notified_runs.insert(key);
                }
            }
            // Every cycle asks for them.
            Notification::Slots => {}
            Notification::Answers => self.chores.hasten(chores::awaiting_input::CHORE.name, Timestamp::MIN),
            Notification::Schedulers => {
                self.chores.hasten(chores::dead_schedulers::CHORE.name, Timestamp::MIN);
                self.due_steps.look_at = Timestamp::MIN;
            }
            Notification::Dags | Notification::Missed => {
                self.surroundings.have_dags_changed = true;
                self.due_steps.look_at = Timestamp::MIN;
            }
        }
    }

    /// Looks at the runs that were talked of.
    pub(crate) async fn look_at_runs(&mut self, now: Timestamp) -> Result<(), Error> {
        if self.notified_runs.is_empty() {
            return Ok(());
        }
        let ready = look_at(&self.cx, &mut self.active_runs, &self.notified_runs, now).await?;
        self.notified_runs.clear();
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
