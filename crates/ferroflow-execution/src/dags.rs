//! DAGs, as tasks ask for them.

use ferroflow_db::{ScopedFutureExt as _, dag};
use jiff::Timestamp;
use rmpv::Value;

use crate::message::GetDag;
use crate::value::{body, optional, time};
use crate::{Answer, Refusal, Service, read};

/// A DAG, as tasks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagResponse {
    /// Its name.
    pub dag_id: String,
    /// Whether no runs are scheduled.
    pub is_paused: bool,
    /// The bundle its file is in.
    pub bundle_name: String,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// Its file, within its bundle.
    pub relative_fileloc: Option<String>,
    /// The owners of its tasks, separated by commas.
    pub owners: Option<String>,
    /// Its tags, in order.
    pub tags: Vec<String>,
    /// The logical date of its next run.
    pub next_dagrun: Option<Timestamp>,
}

impl Service {
    /// A DAG, stale or not.
    pub async fn dag(&self, dag_id: &str) -> Result<DagResponse, Refusal> {
        let found = self.db.read(|tx| {
            async move {
                let Some(dag) = dag::find(tx, dag_id).await? else { return Ok(None) };
                let tags = dag::tag::of_dags(tx, &[dag_id.to_owned()]).await?;
                Ok(Some((dag, tags)))
            }
            .scope_boxed()
        });
        let (dag, tags) = found.await?.ok_or_else(|| {
            Refusal::api(404, "not_found", format!("The Dag with dag_id: `{dag_id}` was not found"))
        })?;
        let mut tags: Vec<String> = tags.into_iter().map(|(_, tag)| tag).collect();
        tags.sort_unstable();
        Ok(DagResponse {
            dag_id: dag.dag_id,
            is_paused: dag.is_paused,
            bundle_name: dag.bundle_name,
            bundle_version: dag.bundle_version,
            relative_fileloc: dag.relative_fileloc,
            owners: dag.owners,
            tags,
            next_dagrun: dag.next_dagrun,
        })
    }

    pub(crate) async fn get_dag(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetDag { dag_id } = read(kind, message)?;
        let dag = self.dag(&dag_id).await?;
        let tags = dag.tags.into_iter().map(Value::from).collect();
        let fields = [
            ("dag_id", dag.dag_id.into()),
            ("is_paused", dag.is_paused.into()),
            ("bundle_name", dag.bundle_name.into()),
            ("bundle_version", optional(dag.bundle_version)),
            ("relative_fileloc", optional(dag.relative_fileloc)),
            ("owners", optional(dag.owners)),
            ("tags", Value::Array(tags)),
            ("next_dagrun", time(dag.next_dagrun)),
        ];
        Ok(body("DagResult", fields))
    }
}
