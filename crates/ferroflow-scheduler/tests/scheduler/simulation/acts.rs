//! What people do, and what happens to schedulers.

use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::task_instance::clear::ClearedRun;
use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::dag::Dag;
use ferroflow_model::id;
use ferroflow_model::state::{RunState, RunType, TaskState, TriggeredBy};
use ferroflow_model::timetable::DataInterval;
use ferroflow_operations::dag_run::create::{self as create_run, DagVersionRef, NewRun};
use jiff::Timestamp;
use uuid::Uuid;

use crate::simulation::schedulers::Simulation;
use crate::simulation::snapshot::InstanceKey;
use crate::simulation::workers::locked;

#[derive(Clone, Copy)]
enum Act {
    Pause,
    Trigger,
    ClearRun,
    ClearTask,
    Mark,
    Pool,
    Version,
    Delete,
    Asset,
}

impl Simulation {
    /// A person does something. Answers what.
    pub(crate) async fn act(&mut self) -> String {
        let act = self.chance.weighted(&[
            (4, Act::Pause),
            (5, Act::Trigger),
            (3, Act::ClearRun),
            (5, Act::ClearTask),
            (4, Act::Mark),
            (3, Act::Pool),
            (3, Act::Version),
            (1, Act::Delete),
            (2, Act::Asset),
        ]);
        match act {
            Act::Pause => self.pause_or_not().await,
            Act::Trigger => self.trigger().await,
            Act::ClearRun => self.clear_run().await,
            Act::ClearTask => self.clear_task().await,
            Act::Mark => self.mark().await,
            Act::Pool => self.change_pool().await,
            Act::Version => self.change_dag().await,
            Act::Delete => self.delete_run().await,
            Act::Asset => self.change_asset().await,
        }
    }

    async fn pause_or_not(&mut self) -> String {
        let dags: Vec<String> = self.seen.dags.keys().cloned().collect();
        let dag_id = self.chance.pick(&dags).unwrap();
        self.place
            .change(&format!("UPDATE dag SET is_paused = NOT is_paused WHERE dag_id = '{dag_id}'"))
            .await;
        format!("somebody pauses {dag_id}, or does not any more")
    }

    async fn trigger(&mut self) -> String {
        let dags: Vec<String> = self.seen.dags.keys().cloned().collect();
        let dag_id = self.chance.pick(&dags).unwrap().clone();
        let has_date = self.chance.percent(50);
        let run = &NewRun {
            dag_id: dag_id.clone(),
            run_id: format!("manual__{}", self.now),
            run_type: RunType::Manual,
            logical_date: has_date.then_some(self.now),
            data_interval: has_date.then_some(DataInterval { start: self.now, end: self.now }),
            run_after: self.now,
            state: RunState::Queued,
            start_date: None,
            conf: None,
            triggered_by: TriggeredBy::RestApi,
            triggering_user_name: None,
            note: None,
            partition_key: None,
            partition_date: None,
            backfill_id: None,
            creating_job_id: None,
            bundle_version: None,
            unixname: "somebody".to_owned(),
        };
        let now = self.now;
        let made = self.place.db.transact(|tx| make(tx, run, now).scope_boxed());
        made.await.unwrap();
        format!("somebody triggers {dag_id}")
    }

    async fn clear_run(&mut self) -> String {
        let runs: Vec<i64> = self.seen.runs.keys().copied().collect();
        let Some(id) = self.chance.pick(&runs).copied() else { return "nobody clears".to_owned() };
        let run = self.seen.runs[&id].clone();
        ferroflow_operations::dag_run::clear(&self.place.db, &self.making, &run.dag_id, &run.run_id)
            .await
            .unwrap();
        format!("somebody clears run {id}")
    }

    async fn clear_task(&mut self) -> String {
        let Some((key, instance)) = self.pick_instance() else { return "nobody clears".to_owned() };
        let run = self.seen.runs[&key.run].clone();
        let now = self.now;
        let retries = self.world.task(&run.dag_id, &key.task_id).map_or(0, |task| task.retries);
        let retries = i32::try_from(retries).unwrap();
        let (dag_id, run_id) = (run.dag_id.as_str(), run.run_id.as_str());
        let cleared = self.place.db.transact(|tx| {
            async move {
                let Some(was) = task_instance::find(tx, instance).await? else { return Ok(()) };
                clear(tx, &was, retries, now).await?;
                let Some(row) = dag_run::find(tx, dag_id, run_id).await? else { return Ok(()) };
                let cleared = ClearedRun {
                    id: row.id,
                    context_carrier: row.context_carrier.unwrap_or_default(),
                    created_dag_version_id: row.created_dag_version_id,
                    bundle_version: None,
                };
                task_instance::clear::note_run(tx, &cleared, row.state, now).await?;
                Ok(())
            }
            .scope_boxed()
        });
        cleared.await.unwrap();
        format!("somebody clears {}/{}", key.run, key.task_id)
    }

    async fn mark(&mut self) -> String {
        let Some((key, id)) = self.pick_instance() else { return "nobody marks".to_owned() };
        let to = if self.chance.percent(60) { TaskState::Success } else { TaskState::Failed };
        let from = self.seen.instances[&key].state;
        if from == Some(to) {
            return "nobody marks".to_owned();
        }
        self.touched.insert(key.run);
        let now = self.now;
        let marked = self.place.db.transact(|tx| {
            async move {
                    task_instance::scheduling::finish_at_once(tx, &[id], (from, to), (now, now), now).await
                }
                .scope_boxed()
        });
        marked.await.unwrap();
        format!("somebody marks {}/{} {to}", key.run, key.task_id)
    }

    async fn change_pool(&mut self) -> String {
        let pool = self.chance.pick(&self.world.pools).unwrap().name.clone();
        let slots = self.chance.below(5);
        self.place.change(&format!("UPDATE slot_pool SET slots = {slots} WHERE pool = '{pool}'")).await;
        format!("somebody gives {slots} slots to {pool}")
    }

    async fn change_dag(&mut self) -> String {
        let planned = self.chance.pick(&self.world.dags).unwrap().clone();
        let version = self.versions.entry(planned.dag_id.clone()).or_default();
        *version += 1;
        let version = *version;
        self.place.store_again(&self.world, &planned, version, self.now).await;
        // What is left to do in its runs may be other tasks.
        let of_dag = self.seen.runs.iter().filter(|(_, run)| run.dag_id == planned.dag_id);
        self.touched.extend(of_dag.map(|(id, _)| *id));
        format!("{} is stored anew", planned.dag_id)
    }

    async fn delete_run(&mut self) -> String {
        // What a run was made for would be consumed by nobody.
        let own: Vec<i64> = self
            .seen
            .runs
            .iter()
            .filter(|(_, run)| !run.run_id.starts_with("asset_triggered"))
            .map(|(id, _)| *id)
            .collect();
        let Some(id) = self.chance.pick(&own).copied() else { return "nobody deletes".to_owned() };
        let deleted = self.place.db.transact(|tx| dag_run::delete(tx, id).scope_boxed());
        deleted.await.unwrap();
        format!("somebody deletes run {id}")
    }

    async fn change_asset(&mut self) -> String {
        use std::collections::BTreeSet;

        use ferroflow_operations::asset::{Change, Mappings, register};

        use crate::simulation::world::ASSET;
        let aliases = &BTreeSet::new();
        let extra = &serde_json::json!({});
        let change = &Change {
            asset_id: 1,
            name: ASSET,
            uri: ASSET,
            aliases,
            extra,
            partition_key: None,
            partition_date: None,
            source: None,
        };
        let (rules, mappings, now) = (&self.place.service.rules.of_events(), &Mappings::default(), self.now);
        let told = self.place.db.transact(|tx| {
            async move {
                register(tx, rules, change, mappings, now).await?;
                mappings.are_known()
            }
            .scope_boxed()
        });
        told.await.unwrap();
        "somebody changes the asset".to_owned()
    }

    fn pick_instance(&mut self) -> Option<(InstanceKey, Uuid)> {
        let all: Vec<(InstanceKey, Uuid)> =
            self.seen.instances.iter().map(|(key, row)| (key.clone(), row.id)).collect();
        self.chance.pick(&all).cloned()
    }

    /// A scheduler is killed, or stands still for a while; there may be a new one.
    pub(crate) async fn have_accident(&mut self) {
        let alive: Vec<usize> = (0..self.schedulers.len())
            .filter(|number| self.schedulers[*number].scheduler.is_some())
            .filter(|number| self.schedulers[*number].stopped.is_none())
            .collect();
        match self.chance.pick(&alive).copied() {
            Some(number) if self.chance.percent(55) => self.kill(number),
            Some(number) => {
                let wait = if self.chance.percent(60) {
                    self.chance.millis(32_000, 80_000)
                } else {
                    self.chance.millis(100, 20_000)
                };
                self.schedulers[number].stopped = Some((self.now, self.now + wait));
                self.note(&format!("scheduler {number} stands still for {wait:?}"));
            }
            None => {}
        }
        if alive.len() < 2 || self.chance.percent(25) {
            self.start_scheduler().await;
        }
    }

    fn kill(&mut self, number: usize) {
        self.schedulers[number].scheduler = None;
        locked(&self.field).kill(number);
        self.note(&format!("scheduler {number} is killed"));
    }

    /// From now on all goes well: nothing is paused, there is room, and somebody schedules.
    pub(crate) async fn calm_down(&mut self) {
        self.is_calm = true;
        self.place.change("UPDATE dag SET is_paused = false").await;
        self.place.change("UPDATE slot_pool SET slots = 2 WHERE slots BETWEEN 0 AND 1").await;
        for actor in &mut self.schedulers {
            if let Some((_, until)) = &mut actor.stopped {
                *until = (*until).min(self.now);
            }
        }
        if self.schedulers.iter().all(|actor| actor.scheduler.is_none()) {
            self.start_scheduler().await;
        }
    }
}

async fn make(tx: &mut Tx, run: &NewRun, now: Timestamp) -> Result<(), ferroflow_db::Error> {
    let Some(stored) = serialized_dag::latest(tx, &run.dag_id).await? else { return Ok(()) };
    let dag = Dag::decode(stored.data.text()).unwrap();
    let version = DagVersionRef { id: stored.dag_version_id };
    match create_run::create(tx, &dag, &version, run, now).await {
        Err(create_run::Error::Db(error)) => Err(error),
        _ => Ok(()),
    }
}

async fn clear(
    tx: &mut Tx,
    was: &TaskInstance,
    retries: i32,
    now: Timestamp,
) -> Result<(), ferroflow_db::Error> {
    task_instance::clear::archive(tx, was, now).await?;
    let next = TaskInstance { id: id::new_v7(now, rand::random()), ..was.clone() };
    if was.state == Some(TaskState::Running) {
        task_instance::clear::restart(tx, was, &next, now).await?;
    } else {
        let next = TaskInstance { max_tries: was.try_number + retries, ..next };
        task_instance::clear::begin_anew(tx, was, &next, now).await?;
    }
    Ok(())
}
