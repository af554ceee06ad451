//! A run is read from the database.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::task_instance::dependencies::{self, SkipDecision, Tasks};
use ferroflow_db::task_instance::scheduling::InstanceRow;
use ferroflow_db::{Db, ScopedFutureExt as _, Tx, task_instance};
use ferroflow_model::dag::{Dag, Flag, TaskIndex};
use ferroflow_model::readiness::{Facts, Instance, InstanceRef, Past, PastTask, Pushed, Run, Skips};
use ferroflow_model::retry::{FailedTry, next_try};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::{ActiveRun, Definition, Earlier, Known, Pace, RunSettings};
use crate::{Definitions, Error};

impl ActiveRun {
    /// Reads a run and all that its next steps depend on.
    pub async fn load(
        db: &Db,
        run_settings: &RunSettings,
        dag_id: &str,
        run_id: &str,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let read = db.read(|tx| {
            async move { Error::split(Self::read(tx, run_settings, dag_id, run_id, None, now).await) }
                .scope_boxed()
        });
        read.await?
    }

    /// The same with a DAG that may have been read before.
    pub async fn load_with(
        db: &Db,
        run_settings: &RunSettings,
        definitions: &Definitions,
        dag_id: &str,
        run_id: &str,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let read = db.read(|tx| {
            let read = async move {
                let row = find(tx, dag_id, run_id).await?;
                let definition = definitions.of_run(tx, &row, now).await?;
                Self::read_rest(tx, run_settings, row, definition, now).await
            };
            async move { Error::split(read.await) }.scope_boxed()
        });
        read.await?
    }

    /// The same in a transaction. `definition` is the DAG, if it has been read and still holds.
    pub async fn read(
        tx: &mut Tx,
        run_settings: &RunSettings,
        dag_id: &str,
        run_id: &str,
        definition: Option<Arc<Definition>>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let row = find(tx, dag_id, run_id).await?;
        let definition = match definition {
            Some(definition) => definition,
            None => Arc::new(Definition::of_run(tx, &row).await?),
        };
        Self::read_rest(tx, run_settings, row, definition, now).await
    }

    async fn read_rest(
        tx: &mut Tx,
        run_settings: &RunSettings,
        row: DagRun,
        definition: Arc<Definition>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let (dag_id, run_id) = (row.dag_id.as_str(), row.run_id.as_str());
        let instances = task_instance::scheduling::of_run(tx, dag_id, run_id).await?;
        let reschedules = dependencies::reschedules(tx, dag_id, run_id, Tasks::All).await?;
        Self::assemble(tx, run_settings, row, definition, (&instances, &reschedules), now).await
    }

    /// Puts together what was read, and reads what only some DAGs ask for.
    pub(super) async fn assemble(
        tx: &mut Tx,
        run_settings: &RunSettings,
        row: DagRun,
        definition: Arc<Definition>,
        (instances, reschedules): (&[InstanceRow], &HashMap<Uuid, Timestamp>),
        now: Timestamp,
    ) -> Result<Self, Error> {
        let dag = Arc::clone(definition.dag());
        let (past, earlier) = past(tx, &dag, &row).await?;
        let view = View { dag: &dag, run: &row, longest_wait: run_settings.longest_wait, now };
        let (mut found, mut rows, mut strays) = (Vec::new(), HashMap::new(), Vec::new());
        for instance in instances {
            match view.instance(instance, reschedules) {
                Some(seen) => {
                    rows.insert(seen.reference(), known(instance));
                    found.push(seen);
                }
                None if instance.state == Some(TaskState::Removed) => {}
                None => strays.push((instance.id, instance.state)),
            }
        }
        let mut model =
            Run::load(Arc::clone(&definition.plan), facts(&dag, &row, run_settings.pace, now), past, found);
        for (task, length) in read_lengths(tx, &definition, &row, None).await? {
            model.set_pushed(task, Pushed { length, results: 0 });
        }
        let done = done_and_mapped_over(&model, &definition, None);
        for (task, results) in read_results(tx, &definition, &row, &done).await? {
            model.set_pushed(task, Pushed { length: None, results });
        }
        for (instance, skips) in read_skips(tx, &definition, &row, None).await? {
            model.set_skips(instance.task, instance.map_index, skips);
        }
        Ok(Self { row, definition, model, rows, earlier, strays })
    }
}

async fn find(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<DagRun, Error> {
    let row = dag_run::find(tx, dag_id, run_id).await?;
    row.ok_or_else(|| Error::NoRun { dag_id: dag_id.to_owned(), run_id: run_id.to_owned() })
}

/// What it takes to tell when an instance is due.
pub(super) struct View<'a> {
    pub(super) dag: &'a Dag,
    pub(super) run: &'a DagRun,
    pub(super) longest_wait: i64,
    pub(super) now: Timestamp,
}

impl View<'_> {
    /// An instance as the model sees it; `None` if the DAG has no such task.
    pub(super) fn instance(
        &self,
        row: &InstanceRow,
        reschedules: &HashMap<Uuid, Timestamp>,
    ) -> Option<Instance> {
        let task = self.dag.find(&row.task_id)?;
        let due = match row.state {
            Some(TaskState::UpForRetry) => row.end_date.map(|_| {
                let failed = FailedTry {
                    dag_id: &self.run.dag_id,
                    logical_date: self.run.logical_date,
                    try_number: row.try_number,
                    end_date: row.end_date,
                    retry_delay_override: row.retry_delay_override,
                };
                next_try(&self.dag[task], &failed, self.longest_wait, self.now)
            }),
            None | Some(TaskState::UpForReschedule) => reschedules.get(&row.id).copied(),
            Some(_) => None,
        };
        Some(Instance { task, map_index: row.map_index, state: row.state, due })
    }
}

pub(super) fn known(row: &InstanceRow) -> Known {
    Known {
        id: row.id,
        try_number: row.try_number,
        start_date: row.start_date,
        end_date: row.end_date,
        version: row.dag_version_id,
    }
}

/// How many items tasks have pushed to be mapped over: all, or these. Of a task that pushed nothing, none.
pub(super) async fn read_lengths(
    tx: &mut Tx,
    definition: &Definition,
    run: &DagRun,
    only: Option<&[TaskIndex]>,
) -> Result<Vec<(TaskIndex, Option<u64>)>, Error> {
    let dag = definition.dag();
    let is_asked = |task: &TaskIndex| only.is_none_or(|only| only.contains(task));
    let asked: Vec<TaskIndex> = definition
        .mapped_over
        .iter()
        .copied()
        .filter(|task| !dag[*task].is_mapped())
        .filter(is_asked)
        .collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = asked.iter().map(|task| &*dag[*task].task_id).collect();
    let found = dependencies::pushed_lengths(tx, &run.dag_id, &run.run_id, Tasks::These(&names)).await?;
    let found: HashMap<String, i64> = found.into_iter().collect();
    let length =
        |task: TaskIndex| found.get(&*dag[task].task_id).and_then(|length| u64::try_from(*length).ok());
    Ok(asked.into_iter().map(|task| (task, length(task))).collect())
}

/// How many results the instances of mapped tasks have pushed, of those that others are mapped over and that are done;
/// before that the number means nothing.
pub(super) async fn read_results(
    tx: &mut Tx,
    definition: &Definition,
    run: &DagRun,
    done: &[TaskIndex],
) -> Result<Vec<(TaskIndex, u64)>, Error> {
    if done.is_empty() {
        return Ok(Vec::new());
    }
    let dag = definition.dag();
    let names: Vec<&str> = done.iter().map(|task| &*dag[*task].task_id).collect();
    let found = dependencies::pushed_results(tx, &run.dag_id, &run.run_id, &names).await?;
    let found: HashMap<String, i64> = found.into_iter().collect();
    let results = |task: TaskIndex| found.get(&*dag[task].task_id).map_or(0, |number| *number);
    Ok(done.iter().map(|task| (*task, u64::try_from(results(*task)).unwrap_or(0))).collect())
}

/// The mapped tasks that others are mapped over and whose instances are all finished: all, or of these.
pub(super) fn done_and_mapped_over(
    model: &Run,
    definition: &Definition,
    only: Option<&[TaskIndex]>,
) -> Vec<TaskIndex> {
    let is_asked = |task: &TaskIndex| only.is_none_or(|only| only.contains(task));
    let is_done = |task: &TaskIndex| definition.dag()[*task].is_mapped() && model.unfinished_of(*task) == 0;
    definition.mapped_over.iter().copied().filter(is_asked).filter(is_done).collect()
}

/// What branches and the like have decided: all, or those of these instances.
pub(super) async fn read_skips(
    tx: &mut Tx,
    definition: &Definition,
    run: &DagRun,
    only: Option<&[InstanceRef]>,
) -> Result<Vec<(InstanceRef, Option<Skips>)>, Error> {
    let dag = definition.dag();
    let can_skip = |task: &TaskIndex| dag[*task].is(Flag::CanSkipDownstream);
    let tasks: BTreeSet<TaskIndex> = match only {
        None => dag.indexed_tasks().map(|(task, _)| task).filter(can_skip).collect(),
        Some(instances) => instances.iter().map(|instance| instance.task).filter(can_skip).collect(),
    };
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = tasks.iter().map(|task| &*dag[*task].task_id).collect();
    let mut decided: HashMap<InstanceRef, Option<Skips>> = HashMap::new();
    // One that pushed something before it was tried again may have pushed nothing now.
    decided.extend(only.unwrap_or_default().iter().filter(|one| can_skip(&one.task)).map(|one| (*one, None)));
    for decision in dependencies::skips(tx, &run.dag_id, &run.run_id, &names).await? {
        let Some(task) = dag.find(&decision.task_id) else { continue };
        let instance = InstanceRef { task, map_index: decision.map_index };
        if only.is_none_or(|only| only.contains(&instance)) {
            decided.insert(instance, skips(dag, &decision));
        }
    }
    Ok(decided.into_iter().collect())
}

/// What a branch pushed: `{"followed": […]}` or `{"skipped": […]}`.
fn skips(dag: &Dag, decision: &SkipDecision) -> Option<Skips> {
    let value = decision.value.value().ok()?;
    let listed = |key: &str| -> Option<Box<[TaskIndex]>> {
        let items = match value.get(key)? {
            Value::Array(items) => items.as_slice(),
            Value::String(_) => std::slice::from_ref(value.get(key)?),
            _ => return None,
        };
        Some(items.iter().filter_map(|item| dag.find(item.as_str()?)).collect())
    };
    let (followed, skipped) = (listed("followed"), listed("skipped"));
    (followed.is_some() || skipped.is_some())
        .then(|| Skips { followed, skipped: skipped.unwrap_or_default() })
}

fn facts(dag: &Dag, run: &DagRun, pace: Pace, now: Timestamp) -> Facts {
    match pace {
        Pace::Scheduled => {
            Facts { logical_date: run.logical_date, start_date: run.start_date, timeout: dag.dagrun_timeout }
        }
        Pace::AtOnce => Facts {
            logical_date: run.logical_date.filter(|date| *date <= now),
            start_date: run.start_date,
            timeout: None,
        },
    }
}

/// What became of the run before, and which it is, where a task asks for it.
pub(super) async fn past(tx: &mut Tx, dag: &Dag, run: &DagRun) -> Result<(Option<Past>, Earlier), Error> {
    let asking: Vec<(TaskIndex, &str)> = dag
        .indexed_tasks()
        .filter(|(_, task)| task.is(Flag::DependsOnPast))
        .map(|(index, task)| (index, &*task.task_id))
        .collect();
    let Some(date) = run.logical_date.filter(|_| !asking.is_empty()) else {
        return Ok((None, Earlier::default()));
    };
    if let Some(backfill) = run.backfill_id
        && dependencies::is_first_of_backfill(tx, backfill, run.id).await?
    {
        return Ok((None, Earlier { id: None, is_exempt: true }));
    }
    let Some(earlier) = dependencies::earlier_run(tx, &run.dag_id, date, !dag.catchup).await? else {
        return Ok((None, Earlier::default()));
    };
    let counts = dependencies::past(tx, &run.dag_id, &earlier.run_id).await?;
    // Who is in that run was there before. All others are looked for in all of the history, and are few.
    let is_there = |name: &str| counts.get(name).is_some_and(|counts| counts.instances > 0);
    let absent: Vec<&str> = asking.iter().map(|(_, name)| *name).filter(|name| !is_there(name)).collect();
    let before = if absent.is_empty() {
        Vec::new()
    } else {
        dependencies::were_there_before(tx, &run.dag_id, date, &absent).await?
    };
    let mut tasks = vec![PastTask::default(); dag.tasks().len()];
    for (index, task) in dag.indexed_tasks() {
        let past = &mut tasks[index.position()];
        if let Some(counts) = counts.get(&*task.task_id) {
            past.instances = u32::try_from(counts.instances).unwrap_or(u32::MAX);
            past.unsuccessful = u32::try_from(counts.unsuccessful).unwrap_or(u32::MAX);
        }
        past.was_there_before = task.is(Flag::DependsOnPast)
            && (past.instances > 0 || before.iter().any(|name| **name == *task.task_id));
    }
    let past = Past { logical_date: earlier.logical_date, tasks };
    Ok((Some(past), Earlier { id: Some(earlier.id), is_exempt: false }))
}
