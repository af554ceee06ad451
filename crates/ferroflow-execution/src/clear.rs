//! A run is cleared: all of its task instances begin anew.

use std::collections::{HashMap, HashSet};

use ferroflow_db::clearing::{self, ClearedRun};
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::news::{self, News};
use ferroflow_db::serialized_dag::SerializedDag;
use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx, dag, dag_run, serialized_dag};
use ferroflow_model::dag::Dag;
use ferroflow_model::id;
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_model::weight::{Weight, weights};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::create_run::{DagVersionRef, Origin, fresh, numbered, run_carrier};
use crate::trigger::{RunMaking, decoded, may_run};
use crate::{Refusal, Service};

/// What a cleared run goes on with.
struct Plan {
    run: DagRun,
    dag: Dag,
    weights: Vec<Weight>,
    /// The newest version, if the run goes on with that whatever it was made with.
    newest: Option<Newest>,
    carrier: Value,
    unixname: String,
}

struct Newest {
    version: Uuid,
    bundle_version: Option<String>,
}

impl Service {
    /// Clears a run: what its task instances were goes into the history, they begin anew, and the run is queued
    /// again if it had finished. Those that run are told to end first.
    pub async fn clear_run(&self, making: &RunMaking, dag_id: &str, run_id: &str) -> Result<(), Refusal> {
        let plan = &self.plan(making, dag_id, run_id).await?;
        let now = clock::now();
        let cleared = self.db.transact(|tx| async move { plan.apply(tx, now).await }.scope_boxed());
        Ok(cleared.await?)
    }

    async fn plan(&self, making: &RunMaking, dag_id: &str, run_id: &str) -> Result<Plan, Refusal> {
        let read = self.db.read(|tx| {
            async move {
                let row = dag::find(tx, dag_id).await?;
                let run = dag_run::find(tx, dag_id, run_id).await?;
                let newest = serialized_dag::latest(tx, dag_id).await?;
                let own = match run.as_ref().and_then(own_version) {
                    Some(version) => serialized_dag::find(tx, version).await?,
                    None => newest.clone(),
                };
                Ok((row, run, newest, own))
            }
            .scope_boxed()
        });
        let (row, run, newest, own) = read.await?;
        let row = may_run(dag_id, row)?;
        let run = run.ok_or_else(|| {
            Refusal::api(404, "not_found", format!("Dag run with run_id: '{run_id}' not found"))
        })?;
        let missing = || Refusal::Api {
            status: 404,
            detail: format!("The Dag with ID: `{dag_id}` was not found").into(),
        };
        let (own, newest) = (own.ok_or_else(missing)?, newest.ok_or_else(missing)?);
        let newest_dag = decoded(dag_id, newest.data.text())?;
        let wants_newest =
            newest_dag.rerun_with_latest_version.or(making.rerun_with_latest_version).unwrap_or(false);
        let uses_newest = wants_newest || run.created_dag_version_id.is_none();
        let dag = if uses_newest { newest_dag } else { decoded_unless(dag_id, &own, &newest, newest_dag)? };
        let is_tied = !dag.disable_bundle_versioning;
        let bundle_version = row.bundle_version.filter(|_| is_tied).or_else(|| run.bundle_version.clone());
        let conf = run.conf.as_ref().and_then(|conf| conf.value().ok());
        let conf = conf.as_ref().and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        Ok(Plan {
            weights: weights(&dag),
            dag,
            newest: uses_newest.then_some(Newest { version: newest.dag_version_id, bundle_version }),
            carrier: run_carrier(&conf, rand::random()),
            unixname: making.unixname.clone(),
            run,
        })
    }
}

/// The version that a run is tied to: that which it was made with, if its bundle has versions.
fn own_version(run: &DagRun) -> Option<Uuid> {
    let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
    run.created_dag_version_id.filter(|_| is_tied)
}

fn decoded_unless(
    dag_id: &str,
    own: &SerializedDag,
    newest: &SerializedDag,
    dag: Dag,
) -> Result<Dag, Refusal> {
    if own.id == newest.id { Ok(dag) } else { decoded(dag_id, own.data.text()) }
}

impl Plan {
    async fn apply(&self, tx: &mut Tx, now: Timestamp) -> Result<(), Error> {
        let instances = clearing::lock_instances(tx, &self.run.dag_id, &self.run.run_id).await?;
        if instances.is_empty() {
            return Ok(());
        }
        let Some(state) = clearing::lock_run(tx, self.run.id).await? else { return Ok(()) };
        let mut anew = HashMap::new();
        for instance in &instances {
            clearing::archive(tx, instance, now).await?;
            let next = self.next(instance, now);
            if instance.state == Some(TaskState::Running) {
                clearing::restart(tx, instance, &next, now).await?;
            } else {
                clearing::begin_anew(tx, instance, &next, now).await?;
            }
            anew.insert(instance.id, next);
        }
        if self.newest.is_some() && state.is_finished() {
            self.fit_to_newest(tx, &anew, now).await?;
        }
        clearing::note_run(tx, &self.cleared(state), state, now).await?;
        let (dag_id, run_id) = (self.run.dag_id.clone(), self.run.run_id.clone());
        news::tell(tx, News::Run { dag_id, run_id }).await?;
        news::tell(tx, News::Queued).await
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
        anew: &HashMap<Uuid, TaskInstance>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let there: HashSet<&str> = anew.values().map(|instance| instance.key.task_id.as_str()).collect();
        for instance in anew.values() {
            let is_gone = self.dag.find(&instance.key.task_id).is_none();
            let from =
                if instance.state == Some(TaskState::Running) { Some(TaskState::Restarting) } else { None };
            if is_gone {
                task_instance::set_state(tx, instance.id, from, Some(TaskState::Removed), now).await?;
            }
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
