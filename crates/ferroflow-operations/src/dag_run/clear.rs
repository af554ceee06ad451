//! A run is cleared: all of its task instances, or some, begin anew.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::dag_version::serialized_dag::{self, SerializedDag};
use ferroflow_db::deadline::create::NotMissed;
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::task_instance::clear::ClearedRun;
use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag, deadline};
use ferroflow_model::dag::{Dag, DeadlineAlert};
use ferroflow_model::id;
use ferroflow_model::runs::deadlines::moved;
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_model::weight::{Weight, weights};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::RunMaking;
use super::create::{DagVersionRef, Origin, fresh, numbered, run_carrier};
use super::trigger::may_run;
use crate::dag::decoded;
use crate::{OperationError, Problem};

/// What a cleared run goes on with.
pub(crate) struct ClearPlan {
    run: DagRun,
    dag: Arc<Dag>,
    weights: Arc<[Weight]>,
    /// The newest version, if the run goes on with that whatever it was made with.
    newest: Option<Newest>,
    carrier: Value,
    unixname: String,
}

struct Newest {
    version: Uuid,
    bundle_version: Option<String>,
}

/// Which task instances of a run are cleared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WhichInstances<'a> {
    All,
    These(&'a BTreeSet<Uuid>),
}

/// Clears a run, as a task asks for that resets one: what its task instances were goes into the history, they begin anew,
/// and the run is queued again if it had finished. Those that run are told to end first.
pub async fn clear(db: &Db, making: &RunMaking, dag_id: &str, run_id: &str) -> Result<(), OperationError> {
    let mut found = Found::read(db, dag_id, run_id).await?;
    found.row = Some(may_run(dag_id, found.row)?);
    let wants_newest =
        |dag: &Dag| dag.rerun_with_latest_version.or(making.rerun_with_latest_version).unwrap_or(false);
    let plan = found.plan(run_id, wants_newest, &making.unixname, &mut DecodedDags::of(dag_id))?;
    plan.carry_out(db, WhichInstances::All).await?;
    Ok(())
}

/// Clears some task instances of a run, by their ids, and says how many: those that have another id by now have begun
/// anew already. The run goes on with the version of its DAG that it was made with.
pub(crate) async fn clear_instances(
    db: &Db,
    unixname: &str,
    dag_id: &str,
    run_id: &str,
    ids: &BTreeSet<Uuid>,
) -> Result<usize, OperationError> {
    let found = Found::read(db, dag_id, run_id).await?;
    let plan = found.plan(run_id, |_| false, unixname, &mut DecodedDags::of(dag_id))?;
    Ok(plan.carry_out(db, WhichInstances::These(ids)).await?)
}

/// Plans for several runs of a DAG, which are carried out in a transaction of the caller's.
pub(crate) async fn plans(
    db: &Db,
    unixname: &str,
    dag_id: &str,
    run_ids: &[&str],
    wants_newest: bool,
) -> Result<Vec<ClearPlan>, OperationError> {
    let mut dags = DecodedDags::of(dag_id);
    let mut plans = Vec::with_capacity(run_ids.len());
    for run_id in run_ids {
        let found = Found::read(db, dag_id, run_id).await?;
        plans.push(found.plan(run_id, |_| wants_newest, unixname, &mut dags)?);
    }
    Ok(plans)
}

/// Versions of a DAG that were read, by their rows: runs that are cleared together mostly share one.
struct DecodedDags<'a> {
    dag_id: &'a str,
    dags: HashMap<Uuid, (Arc<Dag>, Arc<[Weight]>)>,
}

impl<'a> DecodedDags<'a> {
    fn of(dag_id: &'a str) -> Self {
        Self { dag_id, dags: HashMap::new() }
    }

    fn get(&mut self, stored: &SerializedDag) -> Result<(Arc<Dag>, Arc<[Weight]>), OperationError> {
        if let Some(known) = self.dags.get(&stored.id) {
            return Ok(known.clone());
        }
        let dag = decoded(self.dag_id, stored.data.text())?;
        let weights = weights(&dag).into();
        let read = (Arc::new(dag), weights);
        self.dags.insert(stored.id, read.clone());
        Ok(read)
    }
}

/// What is known of a run that is to be cleared.
struct Found {
    row: Option<dag::Dag>,
    run: Option<DagRun>,
    newest: Option<SerializedDag>,
    own: Option<SerializedDag>,
}

impl Found {
    async fn read(db: &Db, dag_id: &str, run_id: &str) -> Result<Self, Error> {
        let read = db.read(|tx| {
            async move {
                let row = dag::find(tx, dag_id).await?;
                let run = dag_run::find(tx, dag_id, run_id).await?;
                let newest = serialized_dag::latest(tx, dag_id).await?;
                let own = match run.as_ref().and_then(own_version) {
                    Some(version) => serialized_dag::find(tx, version).await?,
                    None => newest.clone(),
                };
                Ok(Self { row, run, newest, own })
            }
            .scope_boxed()
        });
        read.await
    }

    fn plan(
        self,
        run_id: &str,
        wants_newest: impl FnOnce(&Dag) -> bool,
        unixname: &str,
        dags: &mut DecodedDags<'_>,
    ) -> Result<ClearPlan, OperationError> {
        let run = self
            .run
            .ok_or_else(|| OperationError::not_found(format!("Dag run with run_id: '{run_id}' not found")))?;
        let dag_id = dags.dag_id;
        let missing = || {
            OperationError::NotFound(Problem {
                reason: None,
                message: format!("The Dag with ID: `{dag_id}` was not found"),
            })
        };
        let (own, newest) = (self.own.ok_or_else(missing)?, self.newest.ok_or_else(missing)?);
        let newest_dag = dags.get(&newest)?;
        let uses_newest = wants_newest(&newest_dag.0) || run.created_dag_version_id.is_none();
        let (dag, weights) = if uses_newest { newest_dag } else { dags.get(&own)? };
        let is_tied = !dag.disable_bundle_versioning;
        let of_dag = self.row.and_then(|row| row.bundle_version).filter(|_| is_tied);
        let bundle_version = of_dag.or_else(|| run.bundle_version.clone());
        let conf = run.conf.as_ref().and_then(|conf| conf.value().ok());
        let conf = conf.as_ref().and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        Ok(ClearPlan {
            weights,
            dag,
            newest: uses_newest.then_some(Newest { version: newest.dag_version_id, bundle_version }),
            carrier: run_carrier(&conf, rand::random()),
            unixname: unixname.to_owned(),
            run,
        })
    }
}

/// The version that a run is tied to: that which it was made with, if its bundle has versions.
fn own_version(run: &DagRun) -> Option<Uuid> {
    let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
    run.created_dag_version_id.filter(|_| is_tied)
}

impl ClearPlan {
    /// The row of the run.
    pub(crate) fn run(&self) -> i64 {
        self.run.id
    }

    async fn carry_out(&self, db: &Db, which: WhichInstances<'_>) -> Result<usize, Error> {
        let now = clock::now();
        db.transact(|tx| async move { self.apply(tx, which, now).await }.scope_boxed()).await
    }

    /// Clears the run, and says how many of its task instances.
    pub(crate) async fn apply(
        &self,
        tx: &mut Tx,
        which: WhichInstances<'_>,
        now: Timestamp,
    ) -> Result<usize, Error> {
        let all = task_instance::clear::lock_instances(tx, &self.run.dag_id, &self.run.run_id).await?;
        let is_meant = |instance: &&TaskInstance| match which {
            WhichInstances::All => true,
            WhichInstances::These(ids) => ids.contains(&instance.id),
        };
        let instances: Vec<&TaskInstance> = all.iter().filter(is_meant).collect();
        if instances.is_empty() {
            return Ok(0);
        }
        let Some(state) = task_instance::clear::lock_run(tx, self.run.id).await? else { return Ok(0) };
        let mut anew = HashMap::new();
        for instance in &instances {
            task_instance::clear::archive(tx, instance, now).await?;
            let next = self.next(instance, now);
            if instance.state == Some(TaskState::Running) {
                task_instance::clear::restart(tx, instance, &next, now).await?;
            } else {
                task_instance::clear::begin_anew(tx, instance, &next, now).await?;
            }
            anew.insert(instance.id, next);
        }
        if self.newest.is_some() && state.is_finished() {
            self.fit_to_newest(tx, &all, &anew, now).await?;
        }
        self.move_deadlines(tx, now).await?;
        task_instance::clear::note_run(tx, &self.cleared(state), state, now).await?;
        let (dag_id, run_id) = (self.run.dag_id.clone(), self.run.run_id.clone());
        notifications::notify(tx, Notification::QueuedOf { dag_id: dag_id.clone() }).await?;
        notifications::notify(tx, Notification::Run { dag_id, run_id }).await?;
        Ok(instances.len())
    }

    /// An instance as its next try begins.
    fn next(&self, was: &TaskInstance, now: Timestamp) -> TaskInstance {
        let of_run = self.newest.as_ref().map(|newest| newest.version).or(self.run.created_dag_version_id);
        let is_running = was.state == Some(TaskState::Running);
        let is_moved = self.newest.is_some() && !is_running;
        let version = if is_moved { of_run } else { was.dag_version_id.or(of_run) };
        let next = TaskInstance {
            id: id::new_v7(now, rand::random()),
            context_carrier: Some(self.carrier.clone()),
            dag_version_id: version,
            ..was.clone()
        };
        if is_running {
            return next;
        }
        let Some(index) = self.dag.find(&was.key.task_id) else {
            return TaskInstance { max_tries: was.max_tries.max(was.try_number), ..next };
        };
        let task = &self.dag[index];
        let of_task = fresh(task, &self.weights[index.position()], &self.origin(), now);
        TaskInstance {
            max_tries: was.try_number.saturating_add(task.retries),
            pool: of_task.pool,
            pool_slots: of_task.pool_slots,
            queue: of_task.queue,
            priority_weight: of_task.priority_weight,
            operator: of_task.operator,
            custom_operator_name: of_task.custom_operator_name,
            executor: of_task.executor,
            executor_config: of_task.executor_config,
            ..next
        }
    }

    /// A run that goes on with another version has what that has: new tasks are added, and those that are gone are
    /// removed.
    async fn fit_to_newest(
        &self,
        tx: &mut Tx,
        all: &[TaskInstance],
        anew: &HashMap<Uuid, TaskInstance>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let there: HashSet<&str> = all.iter().map(|instance| instance.key.task_id.as_str()).collect();
        for instance in all.iter().filter(|instance| self.dag.find(&instance.key.task_id).is_none()) {
            let (id, from) = match anew.get(&instance.id) {
                Some(next) if instance.state == Some(TaskState::Running) => {
                    (next.id, Some(TaskState::Restarting))
                }
                Some(next) => (next.id, None),
                None => (instance.id, instance.state),
            };
            task_instance::set_state(tx, id, from, Some(TaskState::Removed), now).await?;
        }
        let origin = self.origin();
        let all =
            ferroflow_model::readiness::first_instances(&self.dag, self.run.run_type, self.run.logical_date);
        let mut added = Vec::new();
        for (task, indexes) in all {
            if !there.contains(&*self.dag[task].task_id) {
                let template = fresh(&self.dag[task], &self.weights[task.position()], &origin, now);
                let with_index = |index| numbered(&template, index, now);
                added.extend(indexes.map(with_index));
            }
        }
        task_instance::insert_many(tx, &added).await
    }

    /// The run is queued anew, and what it must have done so long after that has as much time again.
    async fn move_deadlines(&self, tx: &mut Tx, now: Timestamp) -> Result<(), Error> {
        for deadline in deadline::create::not_missed(tx, self.run.id).await? {
            let NotMissed { reference, interval, callback, .. } = &deadline;
            // One that nobody can read any more stays where it is.
            let Ok(alert) = DeadlineAlert::of_columns(reference, interval, callback) else { continue };
            if let Some(at) = moved(&alert, deadline.deadline_time, deadline.queued_at, now) {
                deadline::create::move_to(tx, deadline.id, at, now).await?;
            }
        }
        Ok(())
    }

    fn origin(&self) -> Origin<'_> {
        let newest = self.newest.as_ref().map(|newest| newest.version);
        Origin {
            dag_id: &self.run.dag_id,
            run_id: &self.run.run_id,
            unixname: &self.unixname,
            carrier: &self.carrier,
            version: DagVersionRef { id: newest.or(self.run.created_dag_version_id).unwrap_or_default() },
        }
    }

    fn cleared(&self, state: RunState) -> ClearedRun {
        let kept = || (self.run.created_dag_version_id, self.run.bundle_version.clone());
        let (created_dag_version_id, bundle_version) = match &self.newest {
            Some(newest)
                if state.is_finished() || self.run.created_dag_version_id != Some(newest.version) =>
            {
                (Some(newest.version), newest.bundle_version.clone())
            }
            _ => kept(),
        };
        ClearedRun {
            id: self.run.id,
            context_carrier: self.carrier.clone(),
            created_dag_version_id,
            bundle_version,
        }
    }
}
