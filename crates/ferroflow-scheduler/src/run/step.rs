//! A run moves on by one step.

use std::sync::Arc;

use ferroflow_db::{Db, Error as DbError, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::readiness::{Action, InstanceRef, RunVerdict, WhenReady};
use ferroflow_model::state::RunState;
use jiff::Timestamp;
use uuid::Uuid;

use super::apply::carry_out;
use super::callback::{self, Ending};
use super::writes::{Write, writes};
use super::{ActiveRun, Driver};
use crate::Error;

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
        let unfinished = self.unfinished_ids();
        let decision = self.model.examine(now, when_ready);
        let writes = writes(self, driver, &decision.actions, now);
        let ending =
            Ending::of(decision.run, unfinished, |blocked| self.rows.get(&blocked).map(|row| row.id));
        let run = &*self;
        let (writes, ending) = (&writes, ending.as_ref());
        let written =
            db.transact(|tx| async move { run.write(tx, driver, writes, ending, now).await }.scope_boxed());
        let is_stale = match written.await {
            Ok(is_written) => !is_written,
            // Somebody made the same instances, say. Nothing was written.
            Err(error) if error.is_about_data() => true,
            Err(error) => return Err(error.into()),
        };
        let mut step = Step { run: decision.run, scheduled: Vec::new(), changed: Vec::new(), is_stale };
        if is_stale {
            self.reload(db, driver, now).await?;
            step.run = RunVerdict::Running;
            return Ok(step);
        }
        if let Some(ending) = ending {
            self.row.state = ending.state;
            self.row.end_date = Some(now);
        }
        self.row.last_scheduling_decision = Some(now);
        tell(&mut step, &decision.actions);
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

    /// Task instances are written before their run, which is the order of those who report what became of a task.
    /// False if anything was not as it was known; the run itself is left as it is then.
    async fn write(
        &self,
        tx: &mut Tx,
        driver: &Driver,
        writes: &[Write],
        ending: Option<&Ending>,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        if !carry_out(tx, &driver.fernet, writes, now).await? {
            return Ok(false);
        }
        if !dag_run::set_examined(tx, self.row.id, driver.job_id, now).await? {
            return Ok(false);
        }
        let Some(ending) = ending else { return Ok(true) };
        let has_ended = dag_run::set_state(tx, self.row.id, RunState::Running, ending.state, now).await?;
        if has_ended {
            callback::leave(tx, &self.row, &self.definition, ending, now).await?;
        }
        Ok(has_ended)
    }

    fn unfinished_ids(&self) -> Vec<Uuid> {
        if self.definition.dag().dagrun_timeout.is_none() {
            return Vec::new();
        }
        let unfinished =
            self.model.instances().filter(|instance| ferroflow_model::state::is_unfinished(instance.state));
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
