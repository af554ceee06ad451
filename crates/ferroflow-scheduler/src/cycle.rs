//! One cycle: what a scheduler does, step by step.
//!
//! Events of executors meet their rows, and what no event has told is looked for. Runs that are due are created, queued
//! ones start, and those in which something has changed are examined: that makes task instances ready. Ready ones are
//! queued in the critical section, and handed to executors once that is committed. Chores come last.
//!
//! Each step leaves the database as other schedulers may find it, and does only what is due.

mod in_order;
mod report;

use ferroflow_execution::tell_unreadable;
use ferroflow_telemetry::clock::Stopwatch;
use ferroflow_telemetry::metrics::scheduling;
use jiff::Timestamp;

use crate::create_runs::{CreatedRuns, create_due_runs};
use crate::dispatch::dispatch;
use crate::examine_runs::{ExaminedRuns, examine_runs};
use crate::queue_tasks::QueuedTasks;
use crate::rescan::rescan;
use crate::scheduler::Scheduler;
use crate::slice::Slice;
use crate::start_runs::{StartedRuns, start_due_runs};
use crate::{Error, metrics};

pub(crate) use in_order::later_if_locked;
pub use report::{CycleReport, Step};

/// How often the critical section is passed through in one cycle.
const MAX_PASSES: usize = 4;

impl Scheduler {
    /// Does all that is due at this time. What it could not do because of the database is due still.
    pub async fn cycle(&mut self, now: Timestamp) -> Result<CycleReport, Error> {
        self.cycle_by(|| now).await
    }

    /// The same, by a clock: each step writes the time at which it began.
    pub(crate) async fn cycle_by(&mut self, clock: impl Fn() -> Timestamp) -> Result<CycleReport, Error> {
        let watch = Stopwatch::start();
        let mut report = CycleReport::default();
        let done = self.do_steps(&mut report, clock).await;
        report.unreadable = tell_unreadable(&self.cx.db);
        // Also if a step has failed: others have gone on.
        self.told.cycle(&report, self.latest);
        done?;
        scheduling::loop_done(watch.elapsed());
        scheduling::runs_attended(self.active_runs.len());
        metrics::executors(&self.executors.slots());
        Ok(report)
    }

    /// Does one step, of which those before it were done; answers the one that follows.
    pub async fn step(
        &mut self,
        step: Step,
        report: &mut CycleReport,
        now: Timestamp,
    ) -> Result<Option<Step>, Error> {
        self.loop_status.begins(step.name(), now);
        match step {
            Step::ExecutorEvents => self.process_executor_events(now).await?,
            Step::Rescan => self.rescan(now).await?,
            Step::CreateRuns => self.create_runs(&mut report.created, now).await?,
            Step::StartRuns => self.start_runs(&mut report.started, now).await?,
            Step::ExamineRuns => report.examined = self.examine_runs(now).await?,
            Step::QueueTasks => report.passes.push(self.queue_tasks(now).await?),
            Step::HandOver => {
                if self.hand_over(report).await? {
                    return Ok(Some(Step::QueueTasks));
                }
            }
            Step::Chores => report.chores = self.do_chores(now).await,
        }
        Ok(step.next())
    }

    /// Looks at runs that notifications name; and now and then at all rows, for what no event has told.
    async fn rescan(&mut self, now: Timestamp) -> Result<(), Error> {
        self.look_at_notified_runs(now).await?;
        if now < self.due.rescan_at {
            return Ok(());
        }
        let here = self.executors.ids().collect();
        rescan(&self.cx, &mut self.active_runs, &mut self.surroundings, &here, now).await?;
        let swept = self.queue.sweep(&self.cx, now).await?;
        self.told.others.dags(&swept.set_aside);
        let tracked = self.active_runs.len().saturating_add(self.queue.len());
        self.due.rescanned(self.cx.settings.scheduler.scheduler_idle_sleep_time, tracked, now);
        Ok(())
    }

    async fn create_runs(&mut self, created: &mut CreatedRuns, now: Timestamp) -> Result<(), Error> {
        self.due.take_turns(self.active_runs.has_events());
        let slice = Slice::new(&self.inbox.notifications);
        let done = create_due_runs(&self.cx, &mut self.due, &slice, created, now).await;
        later_if_locked(done, "runs are created later")
    }

    async fn start_runs(&mut self, report: &mut StartedRuns, now: Timestamp) -> Result<(), Error> {
        let mut started = StartedRuns::default();
        let notifications = &self.inbox.notifications;
        let done = start_due_runs(&self.cx, &mut self.due, notifications, &mut started, now).await;
        // Also if some could not: these have.
        self.listeners.runs_started(&started.started);
        self.active_runs.track_started(&started.started);
        report.add(started);
        done
    }

    async fn examine_runs(&mut self, now: Timestamp) -> Result<ExaminedRuns, Error> {
        // What has come since the cycle began is acted on with the rest.
        self.take_in_notifications();
        self.look_at_notified_runs(now).await?;
        let peers = &self.surroundings.peers;
        let slice = Slice::new(&self.inbox.notifications);
        let examined = examine_runs(&self.cx, &mut self.active_runs, peers, self.width, &slice, now).await;
        self.listeners.runs_ended(&examined.ended);
        self.queue.add(examined.scheduled.iter().map(|instance| instance.id));
        self.due.runs_ended(examined.ended.iter().map(|(run, _)| run.dag_id.clone()));
        Ok(examined)
    }

    /// One pass through the critical section. What it queues is still to be handed over.
    async fn queue_tasks(&mut self, now: Timestamp) -> Result<QueuedTasks, Error> {
        self.queue.queue(&self.cx, &self.executors.slots(), now).await
    }

    /// Hands over what the last pass has queued. Answers whether another pass makes sense in this cycle.
    async fn hand_over(&mut self, report: &mut CycleReport) -> Result<bool, Error> {
        let Some(pass) = report.passes.last() else { return Ok(false) };
        let dispatched = dispatch(&self.cx.service, &self.paths, &mut self.executors, &pass.queued).await;
        for task in &pass.queued {
            self.active_runs.mark_changed(&task.row.key, task.row.id, task.row.state);
        }
        self.inbox.executor_events.extend(dispatched.to_fail.iter().cloned());
        report.dispatched.push(dispatched);
        let is_worth_it = pass.is_worth_repeating && !pass.is_busy && report.passes.len() < MAX_PASSES;
        // After a notification, other steps have their turn.
        Ok(is_worth_it && self.inbox.notifications.is_empty())
    }
}
