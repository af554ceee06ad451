//! What other transactions and user code tell: the step that it concerns is asked for at once.

use ferroflow_db::notifications::{self, News};
use ferroflow_executor::Executor;
use jiff::Timestamp;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::attended::RunKey;
use crate::chores::{self, Chore};
use crate::look_around::look_at;
use crate::scheduler::Scheduler;
use crate::start_runs::Waiting;
use crate::{Answered, Error};

impl<E: Executor, C: chores::Executors> Scheduler<E, C> {
    /// Takes in what was told, without waiting for it.
    pub(crate) fn take_in_news(&mut self) {
        loop {
            match self.news.try_recv() {
                Ok(news) => self.hear(news),
                Err(TryRecvError::Lagged(_)) => self.hear(News::Missed),
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
            Answered::Create => self.wants.create = true,
            Answered::Run(key) => self.attended.forget(&key),
        }
    }

    /// What was told, or that too much was.
    pub(crate) fn hear_or_miss(&mut self, news: Result<News, RecvError>) {
        self.hear(news.unwrap_or(News::Missed));
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Queued => self.wants.start = Waiting::All,
            News::QueuedOf { dag_id } => _ = self.wants.start_soon.insert(dag_id),
            News::Assets => self.wants.create = true,
            News::Run { dag_id, run_id } => {
                let key = RunKey { dag_id, run_id };
                if self.attended.contains(&key) {
                    self.talked_of.insert(key);
                }
            }
            // Every cycle asks for them.
            News::Slots => {}
            News::Answers => self.chores.hasten(Chore::AwaitingInput, Timestamp::MIN),
            News::Schedulers => {
                self.chores.hasten(Chore::DeadSchedulers, Timestamp::MIN);
                self.wants.look_at = Timestamp::MIN;
            }
            News::Dags | News::Missed => {
                self.surroundings.have_dags_changed = true;
                self.wants.look_at = Timestamp::MIN;
            }
        }
    }

    /// Looks at the runs that were talked of.
    pub(crate) async fn look_at_runs(&mut self, now: Timestamp) -> Result<(), Error> {
        if self.talked_of.is_empty() {
            return Ok(());
        }
        let ready = look_at(&self.cx, &mut self.attended, &self.talked_of, now).await?;
        self.talked_of.clear();
        // A trigger has fired.
        self.queue.add(ready);
        Ok(())
    }

    /// Tells other schedulers that slots have become free.
    pub(crate) async fn tell_of_slots(&mut self) -> Result<(), Error> {
        if self.surroundings.peers.is_empty() {
            return Ok(());
        }
        Ok(notifications::tell_others(&self.cx.db, &News::Slots).await?)
    }
}
