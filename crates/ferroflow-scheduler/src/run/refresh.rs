//! A run is told what has changed: only those rows are read that are asked for.

use std::collections::{BTreeSet, HashMap};

use ferroflow_db::run_facts::{self, Tasks};
use ferroflow_db::task_instance_step::{self, InstanceRow};
use ferroflow_db::{Db, ScopedFutureExt as _, Tx};
use ferroflow_model::dag::TaskIndex;
use ferroflow_model::readiness::{InstanceRef, Past, Pushed, Skips};
use jiff::Timestamp;
use uuid::Uuid;

use super::load::{View, done_and_mapped_over, known, past, read_lengths, read_results, read_skips};
use super::{ActiveRun, Driver};
use crate::Error;

/// What was read of some instances.
struct Changes {
    rows: Vec<InstanceRow>,
    reschedules: HashMap<Uuid, Timestamp>,
    lengths: Vec<(TaskIndex, Option<u64>)>,
    skips: Vec<(InstanceRef, Option<Skips>)>,
    past: Option<Past>,
}

impl ActiveRun {
    /// Reads some instances anew, with what they pushed and skipped, and what became of the run before.
    pub async fn refresh(
        &mut self,
        db: &Db,
        driver: &Driver,
        instances: &[InstanceRef],
        now: Timestamp,
    ) -> Result<(), Error> {
        if instances.is_empty() {
            return Ok(());
        }
        let tasks: BTreeSet<TaskIndex> = instances.iter().map(|instance| instance.task).collect();
        let tasks: &[TaskIndex] = &tasks.into_iter().collect::<Vec<_>>();
        let run = &*self;
        let read =
            db.read(|tx| async move { Error::split(run.changes(tx, tasks, instances).await) }.scope_boxed());
        let changes: Changes = read.await??;
        self.take_in(driver, changes, now);
        let done: &[TaskIndex] = &done_and_mapped_over(&self.model, &self.definition, Some(tasks));
        let run = &*self;
        let results = db.read(|tx| {
            async move { Error::split(read_results(tx, &run.definition, &run.row, done).await) }.scope_boxed()
        });
        for (task, results) in results.await?? {
            self.model.set_pushed(task, Pushed { length: None, results });
        }
        Ok(())
    }

    async fn changes(
        &self,
        tx: &mut Tx,
        tasks: &[TaskIndex],
        instances: &[InstanceRef],
    ) -> Result<Changes, Error> {
        let (dag_id, run_id) = (self.row.dag_id.as_str(), self.row.run_id.as_str());
        let dag = self.definition.dag();
        let names: Vec<&str> = tasks.iter().map(|task| &*dag[*task].task_id).collect();
        let indexes: BTreeSet<i32> = instances.iter().map(|instance| instance.map_index).collect();
        let indexes: Vec<i32> = indexes.into_iter().collect();
        Ok(Changes {
            rows: task_instance_step::some_of_run(tx, dag_id, run_id, &names, &indexes).await?,
            reschedules: run_facts::reschedules(tx, dag_id, run_id, Tasks::These(&names)).await?,
            lengths: read_lengths(tx, &self.definition, &self.row, Some(tasks)).await?,
            skips: read_skips(tx, &self.definition, &self.row, Some(instances)).await?,
            past: past(tx, dag, &self.row).await?,
        })
    }

    fn take_in(&mut self, driver: &Driver, changes: Changes, now: Timestamp) {
        let dag = self.definition.dag();
        let view = View { dag, run: &self.row, longest_wait: driver.longest_wait, now };
        for row in &changes.rows {
            let Some(seen) = view.instance(row, &changes.reschedules) else { continue };
            let reference = seen.reference();
            if self.model.instance(seen.task, seen.map_index) != Some(seen) {
                self.model.set_state(seen.task, seen.map_index, seen.state, seen.due);
            }
            self.rows.insert(reference, known(row));
        }
        for (task, length) in changes.lengths {
            self.model.set_pushed(task, Pushed { length, results: 0 });
        }
        for (instance, skips) in changes.skips {
            self.model.set_skips(instance.task, instance.map_index, skips);
        }
        if changes.past.is_some() {
            self.model.set_past(changes.past);
        }
    }
}
