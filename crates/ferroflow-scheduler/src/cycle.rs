//! One cycle: the steps, in order, each only if something asks for it.

mod report;

use std::collections::BTreeSet;

use ferroflow_execution::tell_unreadable;
use ferroflow_model::state::RunType;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use ferroflow_telemetry::metrics::scheduling;
use jiff::{SignedDuration, Timestamp};

use crate::create_runs::{CreatedRuns, create_some, next_due};
use crate::dispatch::dispatch;
use crate::due_steps::{DueSteps, pause_for};
use crate::examine_runs::{ExaminedRuns, examine_runs};
use crate::executor_events::{EventOutcome, process_executor_event};
use crate::executors::TrackedEvent;
use crate::fair_queue::Cause;
use crate::kept_events::drop_event;
use crate::metrics;
use crate::rescan::rescan;
use crate::scheduler::Scheduler;
use crate::slice::Slice;
use crate::start_runs::{StartedRuns, Waiting, start_some};
use crate::{Error, active_runs::RunKey};

pub use report::{CycleReport, Step};

/// How often the critical section is passed through in one cycle.
const MAX_PASSES: usize = 4;

/// So many rows that others hold are waited for in one process_executor_event, of what was just told and of what was kept.
pub(crate) const MAX_HELD: usize = 2;

impl Scheduler {
    /// Does all that is to be done at this time. What it could not do because of the database is still asked for.
    pub async fn cycle(&mut self, now: Timestamp) -> Result<CycleReport, Error> {
        self.cycle_by(|| now).await
    }

    /// The same, by a clock: each step writes the time at which it began.
    pub(crate) async fn cycle_by(&mut self, clock: impl Fn() -> Timestamp) -> Result<CycleReport, Error> {
        let watch = Stopwatch::start();
        let mut report = CycleReport::default();
        let done = self.steps(&mut report, clock).await;
        report.unreadable = tell_unreadable(&self.cx.db);
        // Also if a step has failed: others have gone on.
        self.told.cycle(&report, self.latest);
        done?;
        scheduling::loop_done(watch.elapsed());
        scheduling::runs_attended(self.active_runs.len());
        metrics::executors(&self.executors.slots());
        Ok(report)
    }

    async fn steps(&mut self, report: &mut CycleReport, clock: impl Fn() -> Timestamp) -> Result<(), Error> {
        let (mut next, mut failed) = (Some(Step::ExecutorEvents), Ok(()));
        while let Some(step) = next {
            let now = clock();
            self.mind_the_clock(now);
            next = match self.step(step, report, now).await {
                Ok(next) => next,
                // No other step would fare better.
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => {
                    tracing::error!(?step, "a step of a cycle has failed: {}", chain(&error));
                    failed = failed.and(Err(error));
                    step.after_failure()
                }
            };
        }
        failed
    }

    /// Does one step of a cycle, of which the others were done before; answers the one that follows.
    pub async fn step(
        &mut self,
        step: Step,
        report: &mut CycleReport,
        now: Timestamp,
    ) -> Result<Option<Step>, Error> {
        self.loop_status.begins(step.name(), now);
        Ok(Some(match step {
            Step::ExecutorEvents => {
                self.process_executor_events(now).await?;
                Step::Rescan
            }
            Step::Rescan => {
                self.look_at_runs(now).await?;
                if now >= self.due_steps.look_at {
                    self.rescan(now).await?;
                }
                Step::CreateRuns
            }
            Step::CreateRuns => {
                let is_due = self.due_steps.create_at.is_some_and(|at| at <= now);
                if is_due && !self.due.is_under_way() {
                    // It may be that a run has waited for this time to start.
                    self.due_steps.start = Waiting::All;
                }
                self.let_the_crowd_wait();
                if (self.due_steps.create || is_due) && !self.crowd_waits {
                    unless_held(self.create_runs(&mut report.created, now).await, "runs are made")?;
                }
                Step::StartRuns
            }
            Step::StartRuns => {
                self.start_wanted(&mut report.started, now).await?;
                Step::ExamineRuns
            }
            Step::ExamineRuns => {
                // What was told since the cycle began is acted on with the rest.
                self.take_in_notifications();
                self.look_at_runs(now).await?;
                report.examined = self.examine_runs(now).await;
                Step::QueueTasks
            }
            Step::QueueTasks => {
                self.queue_tasks(report, now).await?;
                Step::HandOver
            }
            Step::HandOver => {
                if self.hand_over(report).await? {
                    Step::QueueTasks
                } else {
                    Step::Chores
                }
            }
            Step::Chores => {
                report.chores = self.do_chores(now).await;
                return Ok(None);
            }
        }))
    }

    /// While many runs are due, every second cycle is without them if somebody waits for what has happened: making and
    /// starting some of them takes longer than all the rest of a cycle.
    fn let_the_crowd_wait(&mut self) {
        let does_somebody_wait = !self.due_steps.start_soon.is_empty() || self.active_runs.has_events();
        self.crowd_waits = self.due.is_under_way() && does_somebody_wait && !self.crowd_waits;
    }

    /// After a clock was set back, everything would wait until it is as late as it was.
    fn mind_the_clock(&mut self, now: Timestamp) {
        if now < self.latest {
            tracing::warn!(before = %self.latest, %now, "the clock was set back");
            self.due_steps = DueSteps::at_first();
            self.chores.clock_was_set_back(now);
            self.active_runs.wait_for_nothing();
            self.due.begin_anew();
        }
        self.latest = now;
    }

    /// Brings what executors told together with the rows, and has the runs know of it.
    pub(crate) async fn process_executor_events(&mut self, now: Timestamp) -> Result<(), Error> {
        let watch = Stopwatch::start();
        self.take_in_events();
        metrics::events_taken_in(&self.executors.slots(), watch.elapsed());
        self.take_in_notifications();
        self.take_in_answers();
        let has_heard = !self.executor_events.is_empty();
        self.process_kept_events(now).await?;
        let mut held = 0;
        for _ in 0..self.executor_events.len() {
            self.cx.progress.gets_on();
            let Some(tracked) = self.executor_events.pop_front() else { break };
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
                self.executor_events.push_front(tracked);
                return Err(error);
            } else {
                // A row cannot be read, or somebody's trigger in the database refuses it: that is no matter of others.
                self.keep(tracked, &error, now);
            }
        }
        if has_heard {
            self.notify_free_slots().await?;
        }
        Ok(())
    }

    /// Brings one event together with its row, and has its run know of it.
    pub(crate) async fn take_in(&mut self, tracked: &TrackedEvent) -> Result<(), Error> {
        // It nests deeper than the compiler would follow from the cycle on.
        let harvested = process_executor_event(&self.cx.db, &self.cx.service, Some(self.cx.job_id), tracked);
        let harvested = Box::pin(harvested).await?;
        if let EventOutcome::RecordedFailure(_) = harvested.what {
            self.notify_task_failed(&harvested.key, tracked.why_it_ended());
        }
        let state = match harvested.what {
            EventOutcome::Told(state) => Some(state),
            _ => None,
        };
        if harvested.is_news() {
            self.active_runs.mark_changed(&harvested.key, harvested.id, state);
        }
        Ok(())
    }

    /// Finds what nobody has told.
    async fn rescan(&mut self, now: Timestamp) -> Result<(), Error> {
        let here = self.executors.ids().collect();
        rescan(&self.cx, &mut self.active_runs, &mut self.surroundings, &here, now).await?;
        let swept = self.queue.sweep(&self.cx, now).await?;
        self.told.others.dags(&swept.set_aside);
        (self.due_steps.create, self.due_steps.start) = (true, Waiting::All);
        let large = pause_for(self.active_runs.len(), self.queue.len());
        let pause = self.cx.settings.scheduler.scheduler_idle_sleep_time.max(large);
        let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::from_secs(1));
        self.due_steps.look_at = now.checked_add(pause).unwrap_or(Timestamp::MAX);
        Ok(())
    }

    async fn create_runs(&mut self, created: &mut CreatedRuns, now: Timestamp) -> Result<(), Error> {
        let slice = Slice::new(&self.notifications);
        let done = loop {
            let done = create_some(&self.cx, &mut self.due, now, created).await;
            if done.is_err() || !self.due.is_under_way() || slice.is_over() {
                break done;
            }
        };
        self.due_steps.start.add(created.created.iter().map(|run| run.dag_id.clone()));
        done?;
        // What is due and cannot be made at the moment is tried again with the next look around.
        let has_made = !created.created.is_empty() || !created.advanced.is_empty();
        self.due_steps.create = self.due.is_under_way() || (created.is_more_due && has_made);
        if !self.due.is_under_way() {
            if self.due_steps.create_at.is_some_and(|at| at <= now) {
                // The time of a run that waited to start may have come meanwhile.
                self.due_steps.start = Waiting::All;
            }
            self.due_steps.create_at = next_due(&self.cx, now).await?;
        }
        Ok(())
    }

    /// First where somebody waits for it.
    async fn start_wanted(&mut self, started: &mut StartedRuns, now: Timestamp) -> Result<(), Error> {
        if !self.due_steps.start_soon.is_empty() {
            unless_held(self.start_soon(started, now).await, "runs are started")?;
        }
        if !self.due_steps.start.is_none() && !self.crowd_waits {
            unless_held(self.start_runs(started, now).await, "runs are started")?;
        }
        Ok(())
    }

    async fn start_runs(&mut self, started: &mut StartedRuns, now: Timestamp) -> Result<(), Error> {
        let of = self.due_steps.start.clone();
        let later = self.start(&of, false, started, now).await?;
        self.due_steps.start = Waiting::of(&later);
        Ok(())
    }

    /// The same where somebody waits for it.
    async fn start_soon(&mut self, started: &mut StartedRuns, now: Timestamp) -> Result<(), Error> {
        let of = Waiting::Of(self.due_steps.start_soon.clone());
        self.due_steps.start_soon = self.start(&of, true, started, now).await?;
        Ok(())
    }

    /// Starts runs of some DAGs. What has started is taken in whatever follows. Answers in which DAGs more could.
    async fn start(
        &mut self,
        of: &Waiting,
        is_endless: bool,
        started: &mut StartedRuns,
        now: Timestamp,
    ) -> Result<BTreeSet<String>, Error> {
        let slice = if is_endless { Slice::endless() } else { Slice::new(&self.notifications) };
        let mut part = StartedRuns::default();
        let done = start_some(&self.cx, of, &mut self.unstarted, &slice, now, &mut part).await;
        self.take_in_started(&part);
        let later = part.later.clone();
        started.add(part);
        done.map(|()| later)
    }

    fn take_in_started(&mut self, started: &StartedRuns) {
        self.notify_started(started);
        for run in &started.started {
            let key = RunKey { dag_id: run.dag_id.clone(), run_id: run.run_id.clone() };
            let cause = match run.run_type {
                RunType::Scheduled | RunType::Backfill => Cause::Crowd,
                // Somebody waits for it, however many schedules are due.
                _ => Cause::Event,
            };
            self.active_runs.track(key, run.id, cause);
        }
    }

    async fn examine_runs(&mut self, now: Timestamp) -> ExaminedRuns {
        let peers = &self.surroundings.peers;
        let slice = Slice::new(&self.notifications);
        let examined = examine_runs(&self.cx, &mut self.active_runs, peers, self.width, &slice, now).await;
        self.notify_ended(&examined);
        self.queue.add(examined.scheduled.iter().map(|instance| instance.id));
        if !examined.ended.is_empty() {
            // There is room for others.
            self.due_steps.create = true;
            self.due_steps.start_soon.extend(examined.ended.iter().map(|(key, _)| key.dag_id.clone()));
        }
        examined
    }

    /// Queues what may be queued. It is still to be handed over.
    async fn queue_tasks(&mut self, report: &mut CycleReport, now: Timestamp) -> Result<(), Error> {
        let slots = self.executors.slots();
        let pass = self.queue.queue(&self.cx, &slots, now).await?;
        self.section_busy = if pass.is_busy { self.section_busy.saturating_add(1) } else { 0 };
        report.passes.push(pass);
        Ok(())
    }

    /// Hands over what the last pass has queued. Answers whether another one makes sense in this cycle.
    async fn hand_over(&mut self, report: &mut CycleReport) -> Result<bool, Error> {
        let Some(pass) = report.passes.last() else { return Ok(false) };
        let dispatched = dispatch(&self.cx.service, &self.paths, &mut self.executors, &pass.queued).await;
        for task in &pass.queued {
            self.active_runs.mark_changed(&task.row.key, task.row.id, task.row.state);
        }
        self.executor_events.extend(dispatched.to_fail.iter().cloned());
        report.dispatched.push(dispatched);
        let is_worth_it = pass.is_worth_repeating && !pass.is_busy && report.passes.len() < MAX_PASSES;
        // Others have their turn if somebody has told something.
        Ok(is_worth_it && self.notifications.is_empty())
    }
}

/// What needs a row that others hold is done later; nothing else waits for it.
fn unless_held<T: Default>(done: Result<T, Error>, what: &str) -> Result<T, Error> {
    match done {
        Err(error) if error.is_busy() => {
            tracing::warn!("{what} later, since others hold a row: {}", chain(&error));
            Ok(T::default())
        }
        done => done,
    }
}
