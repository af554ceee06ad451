//! DAGs, as tasks ask for them.

use ferroflow_db::{ScopedFutureExt as _, dag};

use crate::api::DagResponse;
use crate::{Refusal, Service};

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
}
