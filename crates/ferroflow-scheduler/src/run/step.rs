//! A run moves on by one step.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_db::{
    Db, Error as DbError, ScopedFutureExt as _, Tx, attending, dag, dag_run, task_instance_step,
};
use ferroflow_model::dag::TaskIndex;
use ferroflow_model::readiness::{Action, InstanceRef, RunVerdict, WhenReady};
use ferroflow_model::state::{RunState, RunType, is_unfinished};
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;
use uuid::Uuid;

use super::apply::carry_out;
use super::callback::{self, Ending};
use super::end;
use super::load::done_and_mapped_over;
use super::writes::{Write, add_writes};
use super::{ActiveRun, Compared, Driver, Pace};
use crate::Error;

/// How many examinations are written together at most.
const MOST_EXAMINATIONS: usize = 1000;

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What became of the run.
    pub run: RunVerdict,
    /// Instances that are now ready to be queued.
    pub scheduled: Vec<InstanceRef>,
    /// Instances that went to another state without having run.
    pub changed: Vec<InstanceRef>,
    /// Whether rows were found in another state than was known: the run was loaded anew, and says nothing more.
    pub is_stale: bool,
}

impl ActiveRun {
    /// Examines the run, and writes what follows.
    pub async fn step(
        &mut self,
        db: &Db,
        driver: &Driver,
        when_ready: WhenReady,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let mut writes = Vec::new();
        let mut step =
            Step { run: RunVerdict::Running, scheduled: Vec::new(), changed: Vec::new(), is_stale: false };
        let mut ending = None;
        let mut done = Vec::new();
        // What one examination decides lets the next one decide more; they are written together.
        for _ in 0..MOST_EXAMINATIONS {
            let unfinished = self.unfinished_ids();
            let decision = self.model.examine(now, when_ready);
            add_writes(&mut writes, self, driver, &decision.actions, now);
            tell(&mut step, &decision.actions);
            step.run = decision.run;
            ending =
                Ending::of(decision.run, unfinished, |blocked| self.rows.get(&blocked).map(|row| row.id));
            done = self.done_by(&decision.actions);
            if ending.is_some() || !done.is_empty() || !self.model.needs_examination(now) {
                break;
            }
        }
        let is_shaped_otherwise = self.shape(driver, &mut writes).await?;
        let run = &*self;
        let (writes, ending) = (&writes, ending.as_ref());
        let written =
            db.transact(|tx| async move { run.write(tx, driver, writes, ending, now).await }.scope_boxed());
        let is_stale = match written.await {
            Ok(Some(met)) => {
                if met > 0 {
                    runs::deadlines_met(&run.row.dag_id, &run.row.run_id, met);
                }
                false
            }
            Ok(None) => true,
            // Somebody made the same instances, say. Nothing was written.
            Err(error) if error.is_about_data() => true,
            Err(error) => return Err(error.into()),
        };
        if is_stale {
            self.reload(db, driver, now).await?;
            let run = RunVerdict::Running;
            return Ok(Step { run, scheduled: Vec::new(), changed: Vec::new(), is_stale });
        }
        if let Some(ending) = ending {
            self.row.state = ending.state;
            self.row.end_date = Some(now);
        }
        self.row.last_scheduling_decision = Some(now);
        if is_shaped_otherwise {
            self.reload(db, driver, now).await?;
        }
        self.read_results_of(db, &done).await?;
        Ok(step)
    }

    /// Reads the run again, all of it.
    pub async fn reload(&mut self, db: &Db, driver: &Driver, now: Timestamp) -> Result<(), Error> {
        let (dag_id, run_id) = (self.row.dag_id.as_str(), self.row.run_id.as_str());
        let definition = &self.definition;
        let read = db.read(|tx| {
            async move {
                let definition = Some(Arc::clone(definition));
                Error::split(Self::read(tx, driver, dag_id, run_id, definition, now).await)
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
        driver: &Driver,
        writes: &[Write],
        ending: Option<&Ending>,
        now: Timestamp,
    ) -> Result<Option<usize>, DbError> {
        if driver.pace == Pace::Scheduled && !self.lock(tx).await? {
            return Ok(None);
        }
        if !carry_out(tx, &driver.fernet, writes, now).await? {
            return Ok(None);
        }
        if !dag_run::set_examined(tx, self.row.id, driver.job_id, now).await? {
            return Ok(None);
        }
        let Some(ending) = ending else { return Ok(Some(0)) };
        if !self.is_as_known(tx).await? {
            return Ok(None);
        }
        let has_ended = dag_run::set_state(tx, self.row.id, RunState::Running, ending.state, now).await?;
        if !has_ended {
            return Ok(None);
        }
        callback::leave(tx, &self.row, &self.definition, ending, now).await?;
        let met = end::follow_up(tx, &self.row, &self.definition, ending, now).await?;
        if driver.pace == Pace::Scheduled && self.row.run_type != RunType::Backfill {
            dag::facts::recount_active(tx, &self.row.dag_id).await?;
        }
        Ok(Some(met))
    }

    /// Whether all instances are as they are known. Somebody may have cleared one of which nobody has told yet: a run that
    /// ended all the same would leave it behind for good.
    async fn is_as_known(&self, tx: &mut Tx) -> Result<bool, DbError> {
        let rows = task_instance_step::of_run(tx, &self.row.dag_id, &self.row.run_id).await?;
        Ok(rows.iter().all(|row| match self.compare(row) {
            Compared::Same => true,
            Compared::Differs(_) => false,
            // Of a task that the DAG does not have any more.
            Compared::Unknown => !is_unfinished(row.state),
        }))
    }

    /// Locks the row of the run. False if somebody else has it, or has looked at it since it was read.
    async fn lock(&self, tx: &mut Tx) -> Result<bool, DbError> {
        let micros = |date: Option<Timestamp>| date.map(Timestamp::as_microsecond);
        let locked = attending::lock(tx, self.row.id).await?;
        Ok(locked.is_some_and(|locked| {
            micros(locked.last_scheduling_decision) == micros(self.row.last_scheduling_decision)
        }))
    }

    /// The tasks that others are mapped over and whose last instances these actions have settled: how many results they
    /// have is to be read before anybody is mapped over them.
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
