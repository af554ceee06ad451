//! What a running task instance asks about itself and its run.

use ferroflow_db::asset::registration;
use ferroflow_db::task_instance::siblings::{self, Breadcrumb};
use ferroflow_db::{ScopedFutureExt as _, dag_run, task_instance};
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::dag::Dag;
use jiff::Timestamp;
use uuid::Uuid;

use super::attempt::{dag_of_run, not_found};
use crate::api::AssetProfile;
use crate::{Refusal, Service};

impl Service {
    /// The assets that a task reads or writes and that are not in use.
    pub async fn validate_inlets_and_outlets(&self, id: Uuid) -> Result<Vec<AssetProfile>, Refusal> {
        let found = self.db.read(|tx| {
            async move {
                let Some(instance) = task_instance::find(tx, id).await? else { return Ok(None) };
                let key = instance.key;
                let Some(run) = dag_run::find(tx, &key.dag_id, &key.run_id).await? else { return Ok(None) };
                let bundle_version = run.bundle_version.as_deref();
                let dag = dag_of_run(tx, &key.dag_id, bundle_version, run.created_dag_version_id).await?;
                let used = dag.map(|dag| used_assets(&dag, &key.task_id)).unwrap_or_default();
                let names: Vec<&str> = used.iter().map(|(name, _)| name.as_str()).collect();
                let active =
                    if names.is_empty() { Vec::new() } else { registration::active_keys(tx, &names).await? };
                let inactive = used.into_iter().filter(|key| !active.contains(key));
                Ok(Some(inactive.collect::<Vec<_>>()))
            }
            .scope_boxed()
        });
        let inactive = found.await?.ok_or_else(not_found)?;
        let profiles = inactive.into_iter().map(|(name, uri)| AssetProfile {
            name: Some(name),
            uri: Some(uri),
            kind: "Asset".to_owned(),
        });
        Ok(profiles.collect())
    }

    /// The task instances of a run that have ended.
    pub async fn task_breadcrumbs(&self, dag_id: &str, run_id: &str) -> Result<Vec<Breadcrumb>, Refusal> {
        let found =
            self.db.read(|tx| async move { siblings::breadcrumbs(tx, dag_id, run_id).await }.scope_boxed());
        Ok(found.await?)
    }

    /// When a try that was put off began for the first time.
    pub async fn reschedule_start_date(&self, id: Uuid) -> Result<Option<Timestamp>, Refusal> {
        let found = self
            .db
            .read(|tx| async move { task_instance::reschedule::first_start(tx, id).await }.scope_boxed());
        Ok(found.await?)
    }
}

/// Names and URIs of the assets that a task reads and writes, each once.
fn used_assets(dag: &Dag, task_id: &str) -> Vec<(String, String)> {
    let Some(index) = dag.find(task_id) else { return Vec::new() };
    let details = dag.tasks()[index.position()].details();
    let mut used = Vec::new();
    for condition in details.inlets.iter().chain(&details.outlets) {
        if let AssetCondition::Asset(asset) = condition {
            let key = (asset.name.clone(), asset.uri.clone());
            if !used.contains(&key) {
                used.push(key);
            }
        }
    }
    used
}
