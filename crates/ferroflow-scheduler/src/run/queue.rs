//! Scheduled instances are queued for an executor.

use ferroflow_db::task_instance::{self, scheduling as rows};
use ferroflow_db::{Db, Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_model::readiness::InstanceRef;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use super::{ActiveRun, RunSettings};
use crate::Error;

/// Whether an executor calls task instances by names that are chosen when they are queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorNames {
    /// It does not, or chooses them itself.
    None,
    /// Each has a random UUID.
    Random,
}

/// What was queued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queued {
    /// The rows of those that are queued now.
    pub instances: Vec<task_instance::TaskInstance>,
    /// Those that were not `scheduled` any more.
    pub missed: Vec<InstanceRef>,
}

impl ActiveRun {
    /// Queues these instances, those that still are scheduled.
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
        let ids = ids.as_slice();
        let written =
            db.transact(|tx| async move { queue(tx, run_settings, ids, names, now).await }.scope_boxed());
        let mut queued = Queued { instances: written.await?, missed: Vec::new() };
        queued.instances.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
        for instance in instances {
            let id = self.rows.get(instance).map(|row| row.id);
            if queued.instances.iter().any(|row| Some(row.id) == id) {
                self.model.set_state(instance.task, instance.map_index, Some(TaskState::Queued), None);
            } else {
                queued.missed.push(*instance);
            }
        }
        Ok(queued)
    }
}

/// Queues what is scheduled, and returns those rows. Who is queued already is no row of this: another may have it.
async fn queue(
    tx: &mut Tx,
    run_settings: &RunSettings,
    ids: &[Uuid],
    names: ExecutorNames,
    now: Timestamp,
) -> Result<Vec<task_instance::TaskInstance>, DbError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut queued: Vec<Uuid> = ids.to_vec();
    match names {
        ExecutorNames::Random => {
            queued.clear();
            for id in ids {
                let name = uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string();
                if rows::queue_named(tx, *id, run_settings.job_id, &name, now).await? == 1 {
                    queued.push(*id);
                }
            }
        }
        ExecutorNames::None => {
            // Locked first: what is not scheduled now cannot be told from what this has queued afterwards.
            queued = rows::lock_scheduled(tx, ids).await?;
            rows::queue(tx, &queued, run_settings.job_id, now).await?;
        }
    }
    task_instance::find_all(tx, &queued).await
}
