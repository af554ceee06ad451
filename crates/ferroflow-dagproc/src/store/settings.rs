//! What the configuration says about storing DAGs.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_db::encoding::fernet::Fernet;

/// What the configuration says about storing DAGs.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// `[core] dags_are_paused_at_creation`
    pub dags_are_paused_at_creation: bool,
    /// `[core] max_active_tasks_per_dag`
    pub max_active_tasks_per_dag: i32,
    /// `[core] max_active_runs_per_dag`
    pub max_active_runs_per_dag: i32,
    /// `[core] max_consecutive_failed_dag_runs_per_dag`
    pub max_consecutive_failed_dag_runs_per_dag: i32,
    /// `[operators] default_owner`
    pub default_owner: String,
    /// `[core] compress_serialized_dags`
    pub compress_serialized_dags: bool,
    /// `[core] min_serialized_dag_update_interval`
    pub min_serialized_dag_update_interval: Duration,
    /// `[core] multi_team`
    pub multi_team: bool,
    /// Encrypts the arguments of triggers.
    pub fernet: Arc<Fernet>,
}

impl StoreSettings {
    /// As the configuration says. Warns of what Airflow's DAG processor would do in addition.
    pub fn new(settings: &Settings, fernet: Arc<Fernet>) -> Self {
        let core = &settings.core;
        if leaves_permissions_out(&core.auth_manager) {
            tracing::warn!(
                auth_manager = core.auth_manager,
                "permissions of single DAGs (access_control) are not written to the database: run \
                 `airflow sync-perm --include-dags` when DAGs are added or their access_control changes"
            );
        }
        let limit = |limit: u32| i32::try_from(limit).unwrap_or(i32::MAX);
        Self {
            dags_are_paused_at_creation: core.dags_are_paused_at_creation,
            max_active_tasks_per_dag: limit(core.max_active_tasks_per_dag),
            max_active_runs_per_dag: limit(core.max_active_runs_per_dag),
            max_consecutive_failed_dag_runs_per_dag: core.max_consecutive_failed_dag_runs_per_dag,
            default_owner: settings.operators.default_owner.clone(),
            compress_serialized_dags: core.compress_serialized_dags,
            min_serialized_dag_update_interval: core.min_serialized_dag_update_interval,
            multi_team: core.multi_team,
            fernet,
        }
    }
}

/// Whether permissions of single DAGs are rows, which only Python code of that auth manager can write.
pub fn leaves_permissions_out(auth_manager: &str) -> bool {
    auth_manager.contains("FabAuthManager")
}

#[cfg(test)]
mod tests {
    use super::leaves_permissions_out;

    #[test]
    fn only_one_auth_manager_keeps_permissions_of_single_dags() {
        assert!(leaves_permissions_out("airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"));
        let simple = "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager";
        assert!(!leaves_permissions_out(simple));
    }
}
