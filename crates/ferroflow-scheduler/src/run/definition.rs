//! The DAG that a run is of, at the version that holds for it.

use std::sync::Arc;

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::serialized_dag::{self, SerializedDag};
use ferroflow_db::{Tx, dag};
use ferroflow_model::dag::{Dag, ExpandInput, TaskIndex};
use ferroflow_model::readiness::Plan;
use ferroflow_model::weight::{Weight, weights};

use crate::Error;
use crate::create_run::DagVersionRef;

/// A version of a DAG, read once and shared by its runs.
#[derive(Debug)]
pub struct Definition {
    /// The DAG, and what follows from it.
    pub plan: Arc<Plan>,
    /// Which version this is.
    pub version: DagVersionRef,
    /// The bundle that its file is in.
    pub bundle_name: String,
    /// The version of that bundle that was parsed last.
    pub bundle_version: Option<String>,
    /// Its file, within the bundle.
    pub relative_fileloc: String,
    pub(crate) weights: Vec<Weight>,
    /// The tasks that others are mapped over.
    pub(crate) mapped_over: Vec<TaskIndex>,
}

impl Definition {
    /// The newest version of a DAG.
    pub async fn latest(tx: &mut Tx, dag_id: &str) -> Result<Self, Error> {
        let stored = serialized_dag::latest(tx, dag_id).await?;
        Self::read(tx, dag_id, stored).await
    }

    /// The version that a run uses: that which it was made with if its bundle has versions, else the newest.
    pub async fn of_run(tx: &mut Tx, run: &DagRun) -> Result<Self, Error> {
        let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
        let stored = match run.created_dag_version_id.filter(|_| is_tied) {
            Some(version) => serialized_dag::find(tx, version).await?,
            None => serialized_dag::latest(tx, &run.dag_id).await?,
        };
        Self::read(tx, &run.dag_id, stored).await
    }

    /// The DAG.
    pub fn dag(&self) -> &Arc<Dag> {
        self.plan.dag()
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
        let dag = Dag::decode(stored.data.text())
            .map_err(|problems| Error::Unreadable { dag_id: dag_id.to_owned(), problems })?;
        Ok(Self {
            weights: weights(&dag),
            mapped_over: mapped_over(&dag),
            plan: Arc::new(Plan::new(Arc::new(dag))),
            version: DagVersionRef { id: stored.dag_version_id },
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
