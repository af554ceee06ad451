//! The DAG that a run is of, at the version that holds for it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::dag_version::serialized_dag::{self, SerializedDag};
use ferroflow_db::{Json, Tx, dag};
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::dag::{Dag, ExpandInput, TaskIndex};
use ferroflow_model::readiness::Plan;
use ferroflow_model::stored_dag::{needs_python, timetable_document};
use ferroflow_model::timetable::Timetable;
use ferroflow_model::weight::{Weight, weights};
use ferroflow_python::timetables::Described;
use uuid::Uuid;

use super::past::asked_about;
use crate::Error;
use crate::create_run::DagVersionRef;

/// A version of a DAG, read once and shared by its runs.
#[derive(Debug)]
pub struct Definition {
    /// The DAG, and what follows from it.
    pub plan: Arc<Plan>,
    /// Which version this is.
    pub version: DagVersionRef,
    /// What tells whether the version was rewritten.
    pub hash: String,
    /// The bundle that its file is in.
    pub bundle_name: String,
    /// The version of that bundle that was parsed last.
    pub bundle_version: Option<String>,
    /// Its file, within the bundle.
    pub relative_fileloc: String,
    pub(crate) weights: Vec<Weight>,
    /// The tasks that others are mapped over.
    pub(crate) mapped_over: Vec<TaskIndex>,
    /// The tasks of which it matters what became of them in the run before.
    pub(crate) asks_past_of: Vec<TaskIndex>,
    /// The timetable as it is stored, if Python is to be asked about it.
    pub(crate) timetable_document: Option<Json>,
    /// What Python says about a custom timetable, once it was asked.
    pub(crate) described: OnceLock<Arc<Described>>,
}

impl Definition {
    /// The newest version of a DAG.
    pub async fn latest(tx: &mut Tx, dag_id: &str) -> Result<Self, Error> {
        let stored = serialized_dag::latest(tx, dag_id).await?;
        Self::read(tx, dag_id, stored).await
    }

    /// The version that a run uses: that which it was made with if its bundle has versions, else the newest.
    pub async fn of_run(tx: &mut Tx, run: &DagRun) -> Result<Self, Error> {
        let stored = match Self::version_of_run(run) {
            Some(version) => serialized_dag::find(tx, version).await?,
            None => serialized_dag::latest(tx, &run.dag_id).await?,
        };
        Self::read(tx, &run.dag_id, stored).await
    }

    /// The version that a run is tied to, if its bundle has versions.
    pub fn version_of_run(run: &DagRun) -> Option<Uuid> {
        let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
        run.created_dag_version_id.filter(|_| is_tied)
    }

    /// The DAG.
    pub fn dag(&self) -> &Arc<Dag> {
        self.plan.dag()
    }

    /// The assets that the DAG waits for. Those of a custom timetable are known once it is described.
    pub(crate) fn assets(&self) -> Option<&AssetCondition> {
        match &self.dag().timetable {
            Timetable::Custom(_) => self.described.get()?.assets.as_ref(),
            timetable => timetable.assets(),
        }
    }

    /// Whether its runs stand for partitions. The same holds.
    pub(crate) fn is_partitioned(&self) -> bool {
        match &self.dag().timetable {
            Timetable::Custom(_) => self.described.get().is_some_and(|described| described.partitioned),
            timetable => timetable.is_partitioned(),
        }
    }

    /// How important the instances of a task are.
    pub fn weight(&self, task: TaskIndex) -> i32 {
        match &self.weights[task.position()] {
            Weight::Of(weight) => *weight,
            Weight::NeedsPython(_) => 1,
        }
    }

    async fn read(tx: &mut Tx, dag_id: &str, stored: Option<SerializedDag>) -> Result<Self, Error> {
        let missing = || Error::NotSerialized(dag_id.to_owned());
        let stored = stored.ok_or_else(missing)?;
        let row = dag::find(tx, dag_id).await?.ok_or_else(missing)?;
        Self::decode(stored, row)
    }

    /// Several versions, each with its DAG. One that cannot be read keeps back no other.
    pub(crate) async fn read_many(
        tx: &mut Tx,
        versions: &HashMap<Uuid, &str>,
    ) -> Result<Vec<(String, Result<Self, Error>)>, Error> {
        let ids: Vec<Uuid> = versions.keys().copied().collect();
        let dag_ids: Vec<&str> = versions.values().copied().collect();
        let mut rows = dag::list::find_many(tx, &dag_ids).await?;
        let mut read = Vec::with_capacity(ids.len());
        for (version, stored) in serialized_dag::find_many(tx, &ids).await? {
            let Some(dag_id) = versions.get(&version).map(|dag_id| (*dag_id).to_owned()) else { continue };
            let definition = match (stored, rows.remove(&dag_id)) {
                (Ok(stored), Some(row)) => Self::decode(stored, row),
                (Ok(_), None) => Err(Error::NotSerialized(dag_id.clone())),
                (Err(error), _) => Err(Error::Db(error)),
            };
            read.push((dag_id, definition));
        }
        Ok(read)
    }

    fn decode(stored: SerializedDag, row: dag::Dag) -> Result<Self, Error> {
        let dag_id = stored.dag_id;
        let dag =
            Dag::decode(stored.data.text()).map_err(|problems| Error::Unreadable { dag_id, problems })?;
        let document = needs_python(&dag.timetable).then(|| timetable_document(stored.data.text()).ok());
        Ok(Self {
            weights: weights(&dag),
            mapped_over: mapped_over(&dag),
            asks_past_of: asked_about(&dag),
            timetable_document: document.flatten(),
            described: OnceLock::new(),
            plan: Arc::new(Plan::new(Arc::new(dag))),
            version: DagVersionRef { id: stored.dag_version_id },
            hash: stored.dag_hash,
            bundle_name: row.bundle_name,
            bundle_version: row.bundle_version,
            relative_fileloc: row.relative_fileloc.unwrap_or_default(),
        })
    }
}

fn mapped_over(dag: &Dag) -> Vec<TaskIndex> {
    let inputs = dag.indexed_tasks().flat_map(|(task, _)| dag.expand_inputs_of(task));
    let mut tasks: Vec<TaskIndex> = inputs.flat_map(ExpandInput::dependencies).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}
