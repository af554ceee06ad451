//! The DAG of a run has changed while the run goes on.
//!
//! Locks: the run's row, unless another transaction has it.

use std::ops::Range;
use std::sync::Arc;

use ferroflow_db::dag_run::ownership;
use ferroflow_db::task_instance::mutation::{self, MutableFields};
use ferroflow_db::task_instance::{self, TaskInstance, version_change};
use ferroflow_db::{Db, Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_model::dag::TaskIndex;
use ferroflow_model::readiness::{Reconciliation, reconcile};
use ferroflow_model::state::TaskState;
use ferroflow_python::task_instances::Occasion;
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::{ActiveRun, Definition, RunSettings};
use crate::Error;
use crate::create_run::{Origin, fresh, numbered, operators};

/// What another version of the DAG means for the rows of a run.
struct Structure {
    changes: Reconciliation,
    created: Vec<TaskInstance>,
    /// What a hook changes in instances that are there.
    reshaped: Vec<(Uuid, MutableFields)>,
}

/// What became of that.
enum Change {
    Made,
    MadeByOther,
    /// Another transaction has the run's row, or it does not run.
    Locked,
}

impl ActiveRun {
    /// Whether it goes on with a DAG that has changed since anything was last written of it: while no
    /// scheduler tracked it, it may be, or one has not finished.
    pub(crate) fn is_behind_its_dag(&self) -> bool {
        Definition::version_of_run(&self.row).is_none() && !self.has_its_version()
    }

    fn has_its_version(&self) -> bool {
        self.rows.values().any(|row| row.version == Some(self.definition.version.id))
    }

    /// Goes on with another version of the DAG: instances come, go, and come back with their tasks. A run that is tied
    /// to a version of its bundle never changes. The run is read anew. False if another transaction has it at the moment,
    /// so that nothing could be changed.
    pub async fn go_on_with(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
        definition: Arc<Definition>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.definition = definition;
        self.reload(db, run_settings, now).await?;
        self.go_on_with_its_dag(db, run_settings, now).await
    }

    /// The same with the DAG that it was read with just now.
    pub(crate) async fn go_on_with_its_dag(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
        now: Timestamp,
    ) -> Result<bool, Error> {
        if self.has_its_version() {
            return Ok(true);
        }
        let changes = reconcile(&self.model, self.row.run_type);
        let structure = &self.structure(run_settings, changes, now).await?;
        let run = &*self;
        let written =
            db.transact(|tx| async move { run.change_structure(tx, structure, now).await }.scope_boxed());
        let is_done = match written.await {
            Ok(Change::Made) => {
                self.measure_change(structure);
                true
            }
            Ok(Change::MadeByOther) => true,
            Ok(Change::Locked) => false,
            // Another scheduler did the same. Nothing was written.
            Err(error) if error.is_about_data() => true,
            Err(error) => return Err(error.into()),
        };
        self.reload(db, run_settings, now).await?;
        Ok(is_done)
    }

    /// The rows to write. A hook has its say about every instance, as with official schedulers.
    async fn structure(
        &self,
        run_settings: &RunSettings,
        changes: Reconciliation,
        now: Timestamp,
    ) -> Result<Structure, Error> {
        let new =
            |(task, indexes): &(TaskIndex, Range<i32>)| self.new_instances(run_settings, *task, indexes, now);
        let created: Vec<TaskInstance> = changes.created.iter().flat_map(new).collect();
        let there: Vec<(Uuid, i32)> =
            self.rows.iter().map(|(reference, known)| (known.id, reference.map_index)).collect();
        let (created, reshaped) = Box::pin(self.ask(run_settings, Occasion::Created, created, there)).await?;
        Ok(Structure { changes, created, reshaped })
    }

    /// Writes the changes, unless another scheduler did, or is at it.
    async fn change_structure(
        &self,
        tx: &mut Tx,
        structure: &Structure,
        now: Timestamp,
    ) -> Result<Change, DbError> {
        let Structure { changes, created, reshaped } = structure;
        let (dag_id, run_id) = (self.row.dag_id.as_str(), self.row.run_id.as_str());
        let version = self.definition.version.id;
        if ownership::lock(tx, self.row.id).await?.is_none() {
            return Ok(Change::Locked);
        }
        if version_change::was_tried(tx, dag_id, run_id, version).await? {
            return Ok(Change::MadeByOther);
        }
        version_change::set_version(tx, dag_id, run_id, version, now).await?;
        let back: Vec<Uuid> = self.ids_going_to(changes, None).map(|(id, _)| id).collect();
        if !back.is_empty() {
            version_change::restore(tx, &back, now).await?;
        }
        for (id, from) in self.ids_going_to(changes, Some(TaskState::Removed)) {
            task_instance::scheduling::overwrite(tx, &[id], (from, TaskState::Removed), now).await?;
        }
        for (id, shape) in reshaped {
            mutation::update(tx, *id, shape, now).await?;
        }
        task_instance::insert_many(tx, created).await?;
        Ok(Change::Made)
    }

    fn measure_change(&self, structure: &Structure) {
        self.ids_going_to(&structure.changes, None).for_each(|_| runs::task_restored(self.tags()));
        let removed = self.ids_going_to(&structure.changes, Some(TaskState::Removed));
        removed.for_each(|_| runs::task_removed(self.tags()));
        runs::instances_created(self.tags(), &operators(&structure.created));
    }

    fn ids_going_to(
        &self,
        changes: &Reconciliation,
        to: Option<TaskState>,
    ) -> impl Iterator<Item = (Uuid, Option<TaskState>)> {
        let going = changes.changed.iter().filter(move |(_, state)| *state == to);
        going.filter_map(|(reference, _)| {
            let state = self.model.instance(reference.task, reference.map_index)?.state;
            Some((self.rows.get(reference)?.id, state))
        })
    }

    fn new_instances(
        &self,
        run_settings: &RunSettings,
        task: TaskIndex,
        indexes: &Range<i32>,
        now: Timestamp,
    ) -> Vec<TaskInstance> {
        let carrier = self.row.context_carrier.clone().unwrap_or_else(|| json!({}));
        let origin = Origin {
            dag_id: &self.row.dag_id,
            run_id: &self.row.run_id,
            unixname: &run_settings.unixname,
            carrier: &carrier,
            version: self.definition.version,
        };
        let weight = &self.definition.weights[task.position()];
        let template = fresh(&self.definition.dag()[task], weight, &origin, now);
        indexes.clone().map(|map_index| numbered(&template, map_index, now)).collect()
    }
}
