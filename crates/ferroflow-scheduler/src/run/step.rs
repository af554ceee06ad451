//! A run moves on by one step.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_db::dag_run::ownership::{self, LockedRun};
use ferroflow_db::{Db, Error as DbError, ScopedFutureExt as _, Tx, dag, dag_run, task_instance};
use ferroflow_model::dag::TaskIndex;
use ferroflow_model::readiness::{Action, InstanceRef, RunVerdict, WhenReady};
use ferroflow_model::state::{RunState, RunType, is_unfinished};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;
use uuid::Uuid;

use super::apply::carry_out;
use super::callback::{self, Ending};
use super::end;
use super::load::done_and_mapped_over;
use super::writes::{Write, add_writes};
use super::{ActiveRun, Compared, Pace, RunSettings};
use crate::{Error, LOCK_PATIENCE};

/// How many examinations are written together at most.
const MAX_EXAMINATIONS: usize = 1000;

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What became of the run.
    pub run: RunVerdict,
    /// Instances that are now ready to be queued.
    pub scheduled: Vec<InstanceRef>,
    /// Instances that went to another state without having run.
    pub changed: Vec<InstanceRef>,
    /// Why it was not written as it was decided, if so: the run was loaded anew, and says nothing more.
    pub stale: Option<Stale>,
}

/// Why what was decided was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Another transaction has the row of the run, of one of its task instances or of its DAG, or the run does not run any
    /// more.
    Locked,
    /// Rows were not as they were known.
    Changed,
    /// The database does not take it: why. It may be that another scheduler has done the same.
    Refused(String),
}

impl Stale {
    /// Why nothing was written, if that concerns the rows: another scheduler made the same instances, say.
    pub(crate) fn after(error: DbError) -> Result<Self, DbError> {
        match error {
            DbError::Column(_) | DbError::Fernet { .. } => Err(error),
            error if error.is_busy() => Ok(Self::Locked),
            error if error.is_about_rows() => Ok(Self::Refused(chain(&error))),
            error => Err(error),
        }
    }
}

/// What was decided, and is to be written.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(super) step: Step,
    pub(super) writes: Vec<Write>,
    pub(super) ending: Option<Ending>,
    /// The tasks whose results are to be read afterwards.
    pub(super) done: Vec<TaskIndex>,
}

impl ActiveRun {
    /// Examines the run, and writes what follows.
    pub async fn step(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
        when_ready: WhenReady,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let decided = self.decide(run_settings, when_ready, now);
        self.step_as_decided(db, run_settings, decided, now).await
    }

    /// Writes what was decided just now.
    pub(crate) async fn step_as_decided(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
        decided: Decided,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let Decided { step, mut writes, ending, done } = decided;
        let is_shaped_otherwise = self.apply_mutation_hook(run_settings, &mut writes).await?;
        let run = &*self;
        let (writes, ending) = (&writes, ending.as_ref());
        let written = db.transact(|tx| {
            async move { run.write(tx, run_settings, writes, ending, now).await }.scope_boxed()
        });
        let stale = match written.await {
            Ok(Ok(met)) => {
                if met > 0 {
                    runs::deadlines_met(&run.row.dag_id, &run.row.run_id, met);
                }
                None
            }
            Ok(Err(stale)) => Some(stale),
            Err(error) => Some(Stale::after(error)?),
        };
        if stale.is_some() {
            self.reload(db, run_settings, now).await?;
            let run = RunVerdict::Running;
            return Ok(Step { run, scheduled: Vec::new(), changed: Vec::new(), stale });
        }
        if let Some(ending) = ending {
            self.row.state = ending.state;
            self.row.end_date = Some(now);
        }
        self.row.last_scheduling_decision = Some(now);
        if is_shaped_otherwise {
            self.reload(db, run_settings, now).await?;
        }
        self.read_results_of(db, &done).await?;
        Ok(step)
    }

    /// What would keep the next step from being written, if anything would. Whatever the attempt writes is undone, and
    /// the run is not to be used any more.
    pub(crate) async fn rehearse(
        mut self,
        db: &Db,
        run_settings: &RunSettings,
        now: Timestamp,
    ) -> Result<Option<Stale>, Error> {
        let Decided { writes, ending, .. } = self.decide(run_settings, WhenReady::Schedule, now);
        let (run, writes, ending) = (&self, &writes, ending.as_ref());
        let db = db.with_lock_patience(LOCK_PATIENCE);
        let rehearsed = db.rehearse(|tx| {
            async move { run.write(tx, run_settings, writes, ending, now).await }.scope_boxed()
        });
        match rehearsed.await {
            Ok(written) => Ok(written.err()),
            Err(error) => Ok(Some(Stale::after(error)?)),
        }
    }

    /// What one examination decides lets the next one decide more; they are written together.
    pub(crate) fn decide(
        &mut self,
        run_settings: &RunSettings,
        when_ready: WhenReady,
        now: Timestamp,
    ) -> Decided {
        let step = Step { run: RunVerdict::Running, scheduled: Vec::new(), changed: Vec::new(), stale: None };
        let mut decided = Decided { step, writes: Vec::new(), ending: None, done: Vec::new() };
        for _ in 0..MAX_EXAMINATIONS {
            let unfinished = self.unfinished_ids();
            let decision = self.model.examine(now, when_ready);
            add_writes(&mut decided.writes, self, run_settings, &decision.actions, now);
            tell(&mut decided.step, &decision.actions);
            decided.step.run = decision.run;
            decided.ending =
                Ending::of(decision.run, unfinished, |blocked| self.rows.get(&blocked).map(|row| row.id));
            decided.done = self.done_by(&decision.actions);
            let is_more = self.model.needs_examination(now);
            if decided.ending.is_some() || !decided.done.is_empty() || !is_more {
                break;
            }
        }
        decided
    }

    /// Reads the run again, all of it.
    pub async fn reload(&mut self, db: &Db, run_settings: &RunSettings, now: Timestamp) -> Result<(), Error> {
        let (dag_id, run_id) = (self.row.dag_id.as_str(), self.row.run_id.as_str());
        let definition = &self.definition;
        let read = db.read(|tx| {
            async move {
                let definition = Some(Arc::clone(definition));
                Error::split(Self::read(tx, run_settings, dag_id, run_id, definition, now).await)
            }
            .scope_boxed()
        });
        *self = read.await??;
        Ok(())
    }

    /// Task instances are written before their run, which is the order of those who report what became of a task; but
    /// first the run is locked where others look after runs too, or left alone if that would mean to wait.
    /// Nothing if anything was not as it was known; the run itself is left as it is then. Else how many deadlines it has
    /// met.
    async fn write(
        &self,
        tx: &mut Tx,
        run_settings: &RunSettings,
        writes: &[Write],
        ending: Option<&Ending>,
        now: Timestamp,
    ) -> Result<Result<usize, Stale>, DbError> {
        if run_settings.pace == Pace::Scheduled
            && let Some(stale) = self.lock(tx).await?
        {
            return Ok(Err(stale));
        }
        if !carry_out(tx, &run_settings.fernet, writes, now).await? {
            return Ok(Err(Stale::Changed));
        }
        if !dag_run::set_examined(tx, &[self.row.id], run_settings.job_id, now).await? {
            return Ok(Err(Stale::Changed));
        }
        let Some(ending) = ending else { return Ok(Ok(0)) };
        if !self.is_as_known(tx).await? {
            return Ok(Err(Stale::Changed));
        }
        let has_ended = dag_run::set_state(tx, self.row.id, RunState::Running, ending.state, now).await?;
        if !has_ended {
            return Ok(Err(Stale::Changed));
        }
        callback::leave(tx, &self.row, &self.definition, ending, now).await?;
        let met = end::follow_up(tx, &self.row, &self.definition, ending, now).await?;
        if run_settings.pace == Pace::Scheduled && self.row.run_type != RunType::Backfill {
            dag::scheduling::recount_active(tx, &self.row.dag_id).await?;
        }
        Ok(Ok(met))
    }

    /// Whether all instances are as they are known. A user may have cleared one, of which there was no notification yet: a run that
    /// ended all the same would leave it behind for good.
    async fn is_as_known(&self, tx: &mut Tx) -> Result<bool, DbError> {
        let rows = task_instance::scheduling::of_run(tx, &self.row.dag_id, &self.row.run_id).await?;
        Ok(rows.iter().all(|row| match self.compare(row) {
            Compared::Same => true,
            Compared::Differs(_) => false,
            // Of a task that the DAG does not have any more.
            Compared::Unknown => !is_unfinished(row.state),
        }))
    }

    /// Locks the row of the run, or tells that another transaction has it, or that it was examined since it was read.
    async fn lock(&self, tx: &mut Tx) -> Result<Option<Stale>, DbError> {
        let Some(locked) = ownership::lock(tx, self.row.id).await? else { return Ok(Some(Stale::Locked)) };
        Ok((!self.is_unseen_since(&locked)).then_some(Stale::Changed))
    }

    /// Whether the run was not examined by another scheduler since it was read.
    pub(super) fn is_unseen_since(&self, locked: &LockedRun) -> bool {
        let micros = |date: Option<Timestamp>| date.map(Timestamp::as_microsecond);
        micros(locked.last_scheduling_decision) == micros(self.row.last_scheduling_decision)
    }

    /// The tasks that others are mapped over and whose last instances these actions have settled: how many results they
    /// have is read before any task is mapped over them.
    fn done_by(&self, actions: &[Action]) -> Vec<TaskIndex> {
        if self.definition.mapped_over.is_empty() {
            return Vec::new();
        }
        let settled = |action: &Action| match *action {
            Action::Settle { instance, .. }
            | Action::Overwrite { instance, .. }
            | Action::Succeed { instance, .. } => Some(instance.task),
            _ => None,
        };
        let tasks: BTreeSet<TaskIndex> = actions.iter().filter_map(settled).collect();
        let tasks: Vec<TaskIndex> = tasks.into_iter().collect();
        done_and_mapped_over(&self.model, &self.definition, Some(&tasks))
    }

    fn unfinished_ids(&self) -> Vec<Uuid> {
        if self.definition.dag().dagrun_timeout.is_none() {
            return Vec::new();
        }
        let unfinished = self.model.instances().filter(|instance| is_unfinished(instance.state));
        unfinished.filter_map(|instance| self.rows.get(&instance.reference()).map(|row| row.id)).collect()
    }
}

fn tell(step: &mut Step, actions: &[Action]) {
    for action in actions {
        match *action {
            Action::Schedule { instance, .. } => step.scheduled.push(instance),
            Action::Settle { instance, .. }
            | Action::Overwrite { instance, .. }
            | Action::Succeed { instance, .. }
            | Action::Defer { instance, .. } => step.changed.push(instance),
            Action::Forget { .. }
            | Action::BecomeFirst { .. }
            | Action::Delete { .. }
            | Action::Create { .. } => {}
        }
    }
}
