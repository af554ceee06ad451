//! Instances of a run are queued without the limits of pools and DAGs: by a run in the foreground, and by a single task.

use ferroflow_db::task_instance::{TaskInstance, scheduling};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_model::readiness::InstanceRef;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use super::{ActiveRun, Known, RunSettings};
use crate::Error;
use crate::queue_tasks::{ExecutorNames, lock_and_queue};

/// What was queued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queued {
    /// The rows of those that are queued now.
    pub instances: Vec<TaskInstance>,
    /// Those that are not: each was not `scheduled` any more, or another transaction has locked its row.
    pub missed: Vec<InstanceRef>,
}

impl ActiveRun {
    /// Queues those of these instances that still are scheduled.
    pub async fn queue(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
        instances: &[InstanceRef],
        names: ExecutorNames,
        now: Timestamp,
    ) -> Result<Queued, Error> {
        let ids: Vec<Uuid> =
            instances.iter().filter_map(|instance| self.rows.get(instance).map(|row| row.id)).collect();
        let (ids, job_id) = (ids.as_slice(), run_settings.job_id);
        let queued =
            db.transact(|tx| async move { lock_and_queue(tx, ids, names, job_id, now).await }.scope_boxed());
        let mut queued = Queued { instances: queued.await?, missed: Vec::new() };
        let is_queued = |instance: &InstanceRef| {
            let id = self.rows.get(instance).map(|row| row.id);
            queued.instances.iter().any(|row| Some(row.id) == id)
        };
        queued.missed = instances.iter().copied().filter(|instance| !is_queued(instance)).collect();
        queued.instances.iter().for_each(|row| self.was_queued(row));
        Ok(queued)
    }

    /// Queues one instance for a new try, whatever state it is in. `None` if it is in another state by now than it was
    /// read in, or another transaction has locked its row.
    pub(crate) async fn queue_anew(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
        instance: InstanceRef,
        now: Timestamp,
    ) -> Result<Option<TaskInstance>, Error> {
        let Some(seen) = self.seen(instance) else { return Ok(None) };
        let (id, from, job_id) = (seen.id, seen.state, run_settings.job_id);
        let queued = db.transact(|tx| {
            async move {
                // One that waited for a trigger goes on with its try.
                if from != Some(TaskState::Scheduled) {
                    scheduling::schedule(tx, &[id], from, true, now).await?;
                }
                lock_and_queue(tx, &[id], ExecutorNames::None, job_id, now).await
            }
            .scope_boxed()
        });
        let queued = queued.await?.pop();
        if let Some(row) = &queued {
            self.was_queued(row);
        }
        Ok(queued)
    }

    /// Takes in a row that was just written: it is not read again.
    fn was_queued(&mut self, row: &TaskInstance) {
        let Some(instance) = self.find(&row.key.task_id, row.key.map_index) else { return };
        let known = Known {
            id: row.id,
            try_number: row.try_number,
            start_date: row.start_date,
            end_date: row.end_date,
            version: row.dag_version_id,
        };
        self.rows.insert(instance, known);
        self.model.set_state(instance.task, instance.map_index, row.state, None);
    }
}
