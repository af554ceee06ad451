//! Many runs are read in one transaction, and what was decided about them is written in one: it costs little more than one
//! of them alone.
//!
//! Who is missing in what these answer, for whatever reason, is read and written alone; that also tells the reason.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ferroflow_db::dag_run::{self, DagRun, ownership};
use ferroflow_db::task_instance::{self, dependencies};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_model::dag::{Flag, Task, TaskIndex};
use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;
use uuid::Uuid;

use super::apply::carry_out;
use super::step::Decided;
use super::writes::{Write, joined};
use super::{ActiveRun, Definition, RunSettings, SeenInstance};
use crate::{Context, Error};

/// So many tasks the DAGs of runs have that are read together.
const MAX_TASKS: usize = 5_000;

impl ActiveRun {
    /// Reads runs by their rows.
    pub(crate) async fn load_together(cx: &Context, ids: &[i64], now: Timestamp) -> Result<Vec<Self>, Error> {
        let read = cx.db.read(|tx| {
            async move { Error::split(Self::read_together(tx, cx, ids, now).await) }.scope_boxed()
        });
        read.await?
    }

    async fn read_together(
        tx: &mut Tx,
        cx: &Context,
        ids: &[i64],
        now: Timestamp,
    ) -> Result<Vec<Self>, Error> {
        let rows = dag_run::lookup::with_dag(tx, ids).await?.into_iter().map(|found| found.run);
        let rows: Vec<DagRun> = rows.filter(|row| row.state == RunState::Running).collect();
        let definitions = cx.definitions.of_runs(tx, &rows, now).await?;
        let rows = plain_and_small(rows, definitions);
        let ids: Vec<i64> = rows.iter().map(|(row, _)| row.id).collect();
        let mut instances = task_instance::scheduling::of_runs(tx, &ids).await?;
        let reschedules = dependencies::reschedules_of(tx, &ids).await?;
        let mut loaded = Vec::with_capacity(rows.len());
        for (row, definition) in rows {
            if let Some(instances) = instances.remove(&row.id) {
                let read = (instances.as_slice(), &reschedules);
                loaded.push(Self::assemble(tx, &cx.run_settings, row, definition, read, now).await?);
            }
        }
        Ok(loaded)
    }

    /// What was decided [is written](write_together). Answers what is ready now, and whether any instance was settled.
    pub(crate) fn was_written(&mut self, decided: &Decided, now: Timestamp) -> (Vec<SeenInstance>, bool) {
        self.row.last_scheduling_decision = Some(now);
        let scheduled = decided.step.scheduled.iter().filter_map(|instance| self.seen(*instance));
        (scheduled.collect(), !decided.step.changed.is_empty())
    }
}

/// The runs of which nothing has to be read that only one of them asks for, and that are small: however many instances
/// others have, they are not held in memory together.
fn plain_and_small(
    rows: Vec<DagRun>,
    mut definitions: HashMap<i64, Arc<Definition>>,
) -> Vec<(DagRun, Arc<Definition>)> {
    let mut tasks = 0;
    let chosen = rows.into_iter().filter_map(|row| {
        let definition = definitions.remove(&row.id).filter(|definition| is_plain(definition))?;
        let of_this = definition.dag().tasks().len();
        let is_small = tasks + of_this <= MAX_TASKS;
        tasks += if is_small { of_this } else { 0 };
        is_small.then_some((row, definition))
    });
    chosen.collect()
}

fn is_plain(definition: &Definition) -> bool {
    let dag = definition.dag();
    let is_special =
        |(index, task): (TaskIndex, &Task)| task.is(Flag::CanSkipDownstream) || dag.needs_expansion(index);
    definition.asks_past_of.is_empty()
        && definition.mapped_over.is_empty()
        && !dag.indexed_tasks().any(is_special)
}

impl Decided {
    /// Whether it is nothing but instances going from one state to another.
    pub(crate) fn is_plain(&self) -> bool {
        let is_plain = |write: &Write| write.states_left().is_some();
        self.ending.is_none() && self.done.is_empty() && self.writes.iter().all(is_plain)
    }

    /// The instances that it changes, and the state that each must be in.
    fn states_left(&self) -> HashMap<Uuid, Option<TaskState>> {
        let mut left = HashMap::new();
        for (ids, from) in self.writes.iter().filter_map(Write::states_left) {
            for id in ids {
                // Later it leaves the state that it went to before.
                left.entry(*id).or_insert(from);
            }
        }
        left
    }
}

/// Writes what was decided about runs, if all of it [is plain](Decided::is_plain). Answers the rows of those that were
/// written; the others are read anew. Waits for no lock: a run that another transaction has, or one of whose
/// instances, is left out.
pub(crate) async fn write_together(
    cx: &Context,
    decided: &[(&ActiveRun, &Decided)],
    now: Timestamp,
) -> Result<HashSet<i64>, DbError> {
    cx.db.transact(|tx| async move { write(tx, &cx.run_settings, decided, now).await }.scope_boxed()).await
}

async fn write(
    tx: &mut Tx,
    run_settings: &RunSettings,
    decided: &[(&ActiveRun, &Decided)],
    now: Timestamp,
) -> Result<HashSet<i64>, DbError> {
    let free = lock(tx, decided).await?;
    if free.is_empty() {
        return Ok(HashSet::new());
    }
    let ids: Vec<i64> = free.iter().map(|(run, _)| run.row.id).collect();
    let writes = joined(free.iter().map(|(_, decided)| decided.writes.clone()));
    let are_written = carry_out(tx, &run_settings.fernet, &writes, now).await?
        && dag_run::set_examined(tx, &ids, run_settings.job_id, now).await?;
    // Only where rows are not locked can one have changed by now. What was written is right by itself.
    Ok(if are_written { ids.into_iter().collect() } else { HashSet::new() })
}

/// Locks runs and their instances. Answers those that are all as they were known.
async fn lock<'d>(
    tx: &mut Tx,
    decided: &[(&'d ActiveRun, &'d Decided)],
) -> Result<Vec<(&'d ActiveRun, &'d Decided)>, DbError> {
    let ids: Vec<i64> = decided.iter().map(|(run, _)| run.row.id).collect();
    let locked = ownership::lock_many(tx, &ids).await?;
    let locked: HashMap<i64, _> = locked.into_iter().map(|run| (run.id, run)).collect();
    let is_free = |run: &ActiveRun| locked.get(&run.row.id).is_some_and(|locked| run.is_unseen_since(locked));
    let free: Vec<_> = decided
        .iter()
        .filter(|(run, _)| is_free(run))
        .map(|(run, decided)| (*run, *decided, decided.states_left()))
        .collect();
    let instances: Vec<Uuid> = free.iter().flat_map(|(.., left)| left.keys().copied()).collect();
    let states = task_instance::scheduling::lock_states(tx, &instances).await?;
    let is_there = |(id, from): (&Uuid, &Option<TaskState>)| states.get(id) == Some(from);
    let free = free.into_iter().filter(|(.., left)| left.iter().all(is_there));
    Ok(free.map(|(run, decided, _)| (run, decided)).collect())
}
