//! A run is told what has changed: only those rows are read that are asked for.

use std::collections::{BTreeSet, HashMap};

use ferroflow_db::task_instance::dependencies::{self, Tasks};
use ferroflow_db::task_instance::scheduling::InstanceRow;
use ferroflow_db::{Db, ScopedFutureExt as _, Tx, task_instance};
use ferroflow_model::dag::{Flag, TaskIndex};
use ferroflow_model::readiness::{InstanceRef, Past, Pushed, Skips};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use super::load::{View, done_and_mapped_over, known, past, read_lengths, read_results, read_skips};
use super::{ActiveRun, Earlier, RunSettings};
use crate::Error;

/// How a row compares with what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// It is the same.
    Same,
    /// This instance has changed.
    Differs(InstanceRef),
    /// There was no such instance.
    Unknown,
}

/// What was read of some instances.
struct Changes {
    rows: Vec<InstanceRow>,
    reschedules: HashMap<Uuid, Timestamp>,
    lengths: Vec<(TaskIndex, Option<u64>)>,
    skips: Vec<(InstanceRef, Option<Skips>)>,
    past: (Option<Past>, Earlier),
}

impl ActiveRun {
    /// Takes in a state that was just written for a try, where nothing else has to be read with it. Answers whether that
    /// was so.
    pub fn take_state(&mut self, instance: InstanceRef, id: Uuid, state: TaskState) -> bool {
        let (is_on_its_way, is_final) = (
            matches!(state, TaskState::Queued | TaskState::Running),
            matches!(state, TaskState::Success | TaskState::Failed | TaskState::Skipped),
        );
        let dag = self.definition.dag();
        let pushes_nothing = !dag[instance.task].is(Flag::CanSkipDownstream)
            && self.definition.mapped_over.binary_search(&instance.task).is_err();
        let says_all = is_on_its_way || (is_final && pushes_nothing);
        if !says_all || self.rows.get(&instance).is_none_or(|row| row.id != id) {
            return false;
        }
        self.model.set_state(instance.task, instance.map_index, Some(state), None)
    }

    /// Whether a row is as it is known.
    pub(crate) fn compare(&self, row: &InstanceRow) -> Compared {
        let Some(task) = self.definition.dag().find(&row.task_id) else { return Compared::Unknown };
        let reference = InstanceRef { task, map_index: row.map_index };
        let Some(known) = self.rows.get(&reference) else { return Compared::Unknown };
        let state = self.model.instance(task, row.map_index).and_then(|seen| seen.state);
        if known.id == row.id && known.try_number == row.try_number && state == row.state {
            Compared::Same
        } else {
            Compared::Differs(reference)
        }
    }

    /// Reads again what became of the run before, where a task asks for it.
    pub(crate) async fn refresh_past(&mut self, db: &Db) -> Result<(), Error> {
        let run = &*self;
        let read = db.read(|tx| {
            async move { Error::split(past(tx, run.definition.dag(), &run.row).await) }.scope_boxed()
        });
        let (past, earlier) = read.await??;
        self.model.set_past(past);
        self.earlier = earlier;
        Ok(())
    }

    /// Reads some instances anew, with what they pushed and skipped, and what became of the run before.
    pub async fn refresh(
        &mut self,
        db: &Db,
        run_settings: &RunSettings,
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
        self.take_in(run_settings, changes, now);
        let done = done_and_mapped_over(&self.model, &self.definition, Some(tasks));
        self.read_results_of(db, &done).await
    }

    /// Reads how many results mapped tasks have, all of whose instances are done.
    pub(super) async fn read_results_of(&mut self, db: &Db, done: &[TaskIndex]) -> Result<(), Error> {
        if done.is_empty() {
            return Ok(());
        }
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
        let rows = task_instance::scheduling::some_of_run(tx, dag_id, run_id, &names, &indexes).await?;
        let may_wait = |row: &InstanceRow| matches!(row.state, None | Some(TaskState::UpForReschedule));
        let reschedules = if rows.iter().any(may_wait) {
            dependencies::reschedules(tx, dag_id, run_id, Tasks::These(&names)).await?
        } else {
            HashMap::new()
        };
        Ok(Changes {
            rows,
            reschedules,
            lengths: read_lengths(tx, &self.definition, &self.row, Some(tasks)).await?,
            skips: read_skips(tx, &self.definition, &self.row, Some(instances)).await?,
            past: past(tx, dag, &self.row).await?,
        })
    }

    fn take_in(&mut self, run_settings: &RunSettings, changes: Changes, now: Timestamp) {
        let dag = self.definition.dag();
        let view = View { dag, run: &self.row, longest_wait: run_settings.longest_wait, now };
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
        if let (Some(past), earlier) = changes.past {
            self.model.set_past(Some(past));
            self.earlier = earlier;
        }
    }
}
