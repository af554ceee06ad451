//! A run in the foreground, from its first task to its end: without a scheduler, for a user who watches.

mod limits;
mod update;

use std::collections::HashMap;
use std::time::Duration;

use ferroflow_db::{Db, ScopedFutureExt as _, dag_run, task_instance};
use ferroflow_execution::Service;
use ferroflow_executor::{
    EventKind, Executor, ExecutorEvent, ExecutorEvents, Workload, WorkloadKey, WorkloadKind,
};
use ferroflow_model::readiness::{InstanceRef, RunVerdict, WhenReady};
use ferroflow_model::state::{RunState, TaskState, is_unfinished};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::executor_events::{process_executor_event, record_failure};
use crate::executors::TrackedEvent;
use crate::run::{ActiveRun, ExecutorNames, RunSettings, SeenInstance, Stale};
use crate::workload::{DagFile, workload};
use crate::{Error, LogPaths};
use limits::first_within_limits;

pub use update::{End, RunUpdate, Watcher};

/// How often rows are read that another process changes: of tasks that wait for a trigger or for a human.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long tasks that are told to end, or busy with callbacks, may take for it: more than any executor gives them.
const PATIENCE: Duration = Duration::from_mins(10);

/// How often in a row the database may refuse what happens next. Once it may be that another scheduler has done the same.
const MAX_REFUSALS: u32 = 3;

/// By how much longer the next try waits after each that was not written.
const STALE_PAUSE: Duration = Duration::from_millis(50);

/// What a run is driven with.
pub struct Drive<'a> {
    /// The metadata database.
    pub db: &'a Db,
    /// Who drives.
    pub run_settings: &'a RunSettings,
    /// What puts down what became of a task that could not tell.
    pub service: &'a Service,
    /// What runs tasks.
    pub executor: &'a dyn Executor,
    /// What that tells.
    pub events: &'a mut ExecutorEvents,
    /// Where logs go.
    pub paths: &'a LogPaths,
    /// Whether a task counts as successful without being run.
    pub is_marked: &'a (dyn Fn(&str) -> bool + Sync),
    /// Who is told what happens.
    pub watcher: &'a mut dyn Watcher,
    /// Ends it all.
    pub stop: &'a CancellationToken,
}

/// The tries that the executor has.
type Running = HashMap<Uuid, Handed>;

/// A try that the executor has.
#[derive(Clone, Copy)]
struct Handed {
    instance: InstanceRef,
    /// Whether what became of it is known. Its process may still be busy with callbacks.
    is_told: bool,
}

/// What ends a wait.
enum Wake {
    Event(ExecutorEvent),
    Time,
    Stop,
}

impl Drive<'_> {
    /// Drives a run until it has ended.
    pub async fn to_the_end(mut self, run: &mut ActiveRun) -> Result<End, Error> {
        let mut running = Running::new();
        loop {
            if let Some(end) = self.move_on(run).await? {
                self.end_running(run, &mut running).await?;
                return Ok(end);
            }
            let is_any_locked = self.hand_over(run, &mut running).await?;
            if run.needs_step(clock::now()) {
                continue;
            }
            match self.wait(run, &running, is_any_locked).await {
                Wake::Event(event) => self.take_event(run, &mut running, event).await?,
                Wake::Time => self.look_elsewhere(run, &running).await?,
                Wake::Stop => {
                    self.watcher.on_update(&RunUpdate::Interrupted);
                    self.abandon(run).await?;
                    self.end_running(run, &mut running).await?;
                    return Ok(End::Stopped);
                }
            }
        }
    }

    /// Examines the run until that gives nothing more.
    async fn move_on(&mut self, run: &mut ActiveRun) -> Result<Option<End>, Error> {
        let mut stale = 0;
        loop {
            if run.row.state != RunState::Running {
                return Ok(Some(End::TakenAway(run.row.state)));
            }
            let now = clock::now();
            if !run.needs_step(now) {
                return Ok(None);
            }
            let step = run.step(self.db, self.run_settings, WhenReady::Schedule, now).await?;
            match step.stale {
                Some(Stale::Refused(reason)) if stale >= MAX_REFUSALS => {
                    let (dag_id, run_id) = (run.row.dag_id.clone(), run.row.run_id.clone());
                    return Err(Error::NotWritten { dag_id, run_id, reason });
                }
                Some(_) => {
                    tokio::time::sleep(STALE_PAUSE * stale).await;
                    stale += 1;
                }
                None => stale = 0,
            }
            for instance in step.changed.iter().filter_map(|instance| run.seen(*instance)) {
                self.watcher.on_update(&RunUpdate::Settled(&instance));
            }
            if !matches!(step.run, RunVerdict::Running | RunVerdict::NotBefore(_)) {
                return Ok(Some(End::Finished(step.run)));
            }
        }
    }

    /// Queues what is ready, as much as the executor takes, the weightiest first. Answers whether another transaction kept
    /// one from being queued.
    async fn hand_over(&mut self, run: &mut ActiveRun, running: &mut Running) -> Result<bool, Error> {
        // The process of a try that was put off has to end before the next one begins.
        let is_ready = |instance: &SeenInstance| {
            instance.state == Some(TaskState::Scheduled) && !running.contains_key(&instance.id)
        };
        let mut ready: Vec<SeenInstance> = run.instances().filter(is_ready).collect();
        ready.sort_by_key(|instance| std::cmp::Reverse(run.definition.weight(instance.reference.task)));
        let (marked, ready): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|instance| (self.is_marked)(&instance.key.task_id));
        for instance in marked {
            self.set_ended(run, &instance, TaskState::Success).await?;
            if let Some(instance) = run.seen(instance.reference) {
                self.watcher.on_update(&RunUpdate::MarkedSuccess(&instance));
            }
        }
        let references = first_within_limits(run, running, &ready, self.free_slots());
        if references.is_empty() {
            return Ok(false);
        }
        let now = clock::now();
        let queued = run.queue(self.db, self.run_settings, &references, ExecutorNames::None, now).await?;
        run.refresh(self.db, self.run_settings, &queued.missed, now).await?;
        for row in &queued.instances {
            let Some(instance) = run.find(&row.key.task_id, row.key.map_index) else { continue };
            running.insert(row.id, Handed { instance, is_told: false });
            match workload(&run.row, DagFile::from(&*run.definition), row, self.paths) {
                Ok(workload) => self.executor.submit(vec![Workload::ExecuteTask(workload)]),
                Err(error) => {
                    running.remove(&row.id);
                    let reason = error.to_string();
                    record_failure(self.service, row.id, row.try_number, &reason).await?;
                    self.tell_not_started(run, instance, &reason).await?;
                    continue;
                }
            }
            if let Some(instance) = run.seen(instance) {
                self.watcher.on_update(&RunUpdate::Started(&instance));
            }
        }
        let mut missed = queued.missed.iter().filter_map(|instance| run.seen(*instance));
        Ok(missed.any(|instance| instance.state == Some(TaskState::Scheduled)))
    }

    fn free_slots(&self) -> usize {
        self.executor.slots().free_for(WorkloadKind::ExecuteTask)
    }

    async fn wait(&mut self, run: &ActiveRun, running: &Running, is_any_locked: bool) -> Wake {
        let now = clock::now();
        let waits_elsewhere =
            is_any_locked || run.instances().any(|instance| is_elsewhere(&instance, running));
        let due = run.next_due(now).map(|due| until(due, now));
        let look = waits_elsewhere.then_some(LOOK_AGAIN);
        // Without any of these, only a signal ends the wait.
        let pause = due.into_iter().chain(look).min().unwrap_or(Duration::from_hours(1));
        tokio::select! {
            () = self.stop.cancelled() => Wake::Stop,
            event = self.events.next() => Wake::Event(event),
            () = tokio::time::sleep(pause) => Wake::Time,
        }
    }

    async fn take_event(
        &mut self,
        run: &mut ActiveRun,
        running: &mut Running,
        event: ExecutorEvent,
    ) -> Result<(), Error> {
        let ExecutorEvent { workload: WorkloadKey::Task(task), kind, .. } = event else { return Ok(()) };
        let Some(Handed { instance, is_told }) = running.get(&task.id).copied() else { return Ok(()) };
        match kind {
            EventKind::StateSet(_) => _ = running.insert(task.id, Handed { instance, is_told: true }),
            EventKind::Ended | EventKind::NotStarted(_) => _ = running.remove(&task.id),
            EventKind::Waits | EventKind::SlotFree => return Ok(()),
        }
        let tracked = TrackedEvent { task, kind, is_told, is_still_known: false };
        let met = process_executor_event(self.db, self.service, self.run_settings.job_id, &tracked).await?;
        if !met.is_news() {
            return Ok(());
        }
        if let EventKind::NotStarted(reason) = &tracked.kind {
            return self.tell_not_started(run, instance, reason).await;
        }
        run.refresh(self.db, self.run_settings, &[instance], clock::now()).await?;
        self.tell_end(run, instance);
        Ok(())
    }

    fn tell_end(&mut self, run: &ActiveRun, instance: InstanceRef) {
        let Some(seen) = run.seen(instance) else { return };
        if matches!(seen.state, Some(TaskState::Deferred | TaskState::AwaitingInput)) {
            self.watcher.on_update(&RunUpdate::WaitsElsewhere(&seen));
        } else {
            self.watcher.on_update(&RunUpdate::Ended(&seen));
        }
    }

    /// Reads those that others work on.
    async fn look_elsewhere(&mut self, run: &mut ActiveRun, running: &Running) -> Result<(), Error> {
        let elsewhere: Vec<SeenInstance> =
            run.instances().filter(|instance| is_elsewhere(instance, running)).collect();
        let references: Vec<InstanceRef> = elsewhere.iter().map(|instance| instance.reference).collect();
        run.refresh(self.db, self.run_settings, &references, clock::now()).await?;
        for before in elsewhere {
            if run
                .seen(before.reference)
                .is_some_and(|now| now.state != before.state && now.state.is_some_and(TaskState::is_finished))
            {
                self.tell_end(run, before.reference);
            }
        }
        Ok(())
    }

    async fn tell_not_started(
        &mut self,
        run: &mut ActiveRun,
        instance: InstanceRef,
        reason: &str,
    ) -> Result<(), Error> {
        run.refresh(self.db, self.run_settings, &[instance], clock::now()).await?;
        if let Some(seen) = run.seen(instance) {
            self.watcher.on_update(&RunUpdate::NotStarted(&seen, reason));
        }
        Ok(())
    }

    /// Ends an instance that has not run.
    async fn set_ended(
        &mut self,
        run: &mut ActiveRun,
        seen: &SeenInstance,
        to: TaskState,
    ) -> Result<(), Error> {
        let now = clock::now();
        let (id, change) = ([seen.id], (seen.state, to));
        let dates = (seen.start_date.unwrap_or(now), now);
        let ended = self.db.transact(|tx| {
            async move { task_instance::scheduling::finish_at_once(tx, &id, change, dates, now).await }
                .scope_boxed()
        });
        ended.await?;
        run.refresh(self.db, self.run_settings, &[seen.reference], now).await
    }

    /// Ends what the executor still has, and waits for that; what has told its state may finish its callbacks.
    async fn end_running(&mut self, run: &mut ActiveRun, running: &mut Running) -> Result<(), Error> {
        for (id, _) in running.iter().filter(|(_, handed)| !handed.is_told) {
            self.executor.terminate(*id);
        }
        let mut patience = std::pin::pin!(tokio::time::sleep(PATIENCE));
        while !running.is_empty() {
            let event = tokio::select! {
                event = self.events.next() => event,
                () = &mut patience => break,
            };
            self.take_event(run, running, event).await?;
        }
        Ok(())
    }

    /// What is unfinished is skipped, and the run has failed: left as it is, a scheduler would go on with it.
    async fn abandon(&mut self, run: &mut ActiveRun) -> Result<(), Error> {
        // Tasks go on meanwhile: one that has just begun to run is missed, and found by the next attempt.
        const ATTEMPTS: usize = 3;
        for _ in 0..ATTEMPTS {
            run.reload(self.db, self.run_settings, clock::now()).await?;
            self.abandon_once(run).await?;
        }
        run.reload(self.db, self.run_settings, clock::now()).await
    }

    async fn abandon_once(&mut self, run: &ActiveRun) -> Result<(), Error> {
        let now = clock::now();
        let unfinished: Vec<SeenInstance> =
            run.instances().filter(|instance| is_unfinished(instance.state)).collect();
        let (id, unfinished) = (run.row.id, unfinished.as_slice());
        let ended = self.db.transact(|tx| {
            async move {
                for instance in unfinished {
                    let to = match instance.state {
                        Some(TaskState::Running | TaskState::Queued) => TaskState::Failed,
                        _ => TaskState::Skipped,
                    };
                    let dates = (instance.start_date.unwrap_or(now), now);
                    let change = (instance.state, to);
                    task_instance::scheduling::finish_at_once(tx, &[instance.id], change, dates, now).await?;
                }
                dag_run::set_state(tx, id, RunState::Running, RunState::Failed, now).await
            }
            .scope_boxed()
        });
        ended.await?;
        Ok(())
    }
}

/// Whether another process will change an instance: it waits for a trigger or a human, or a scheduler beside us has
/// taken it.
fn is_elsewhere(instance: &SeenInstance, running: &Running) -> bool {
    match instance.state {
        Some(TaskState::Deferred | TaskState::AwaitingInput) => true,
        Some(TaskState::Queued | TaskState::Running | TaskState::Restarting) => {
            !running.contains_key(&instance.id)
        }
        _ => false,
    }
}

fn until(due: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(due.duration_since(now)).unwrap_or_default()
}
