//! Airflow's Task Execution API: what user code may ask and report while it runs.
//!
//! [`api`] has the operations ([`ExecutionApi`](api::ExecutionApi)) and their models, [`wire`] the messages in which user
//! code asks for them. [`Service`] has the operations on the metadata database: each works in one transaction, and refuses
//! with the API's status and reason ([`Refusal`]). [`InProcessApi`] offers it as the API. A supervisor needs only the API:
//! [`Reports`] is what it says of a task instance, [`Masker`] what it keeps out of its log.

pub mod api;
pub mod assets;
mod callbacks;
mod connection_tests;
mod dags;
mod hitl;
mod host;
mod in_process;
mod instances;
mod masker;
mod operation_refusal;
mod patience;
mod refusal;
mod reports;
mod run_response;
mod runs;
mod state_store;
pub mod task_instance;
mod unreadable;
mod variables;
pub mod wire;
mod xcom_writes;
mod xcoms;

use std::sync::Arc;

use ferroflow_config::{Environment, Settings};
use ferroflow_db::Db;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_operations::asset::EventRules;
use ferroflow_operations::secrets::{Secrets, SecretsBackend};
use ferroflow_python::timetables::Timetables;

pub use assets::AssetEvents;
pub use callbacks::EXECUTION_FAILED;
pub use host::Host;
pub use in_process::InProcessApi;
pub use masker::{MaskRules, Masker};
pub use patience::{InTurn, LOCK_PATIENCE, Patience};
pub use refusal::Refusal;
pub use reports::{Delivered, HeldSlot, Reports, Undelivered};
pub use run_response::{BesideRun, api_time, run_response};
pub use unreadable::tell_unreadable;

/// Answers requests from the metadata database, and from what stands before it.
#[derive(Clone)]
pub struct Service {
    /// The metadata database.
    pub db: Db,
    /// What encrypts variables and connections.
    pub fernet: Arc<Fernet>,
    /// Where `AIRFLOW_VAR_…` and `AIRFLOW_CONN_…` are.
    pub environment: Arc<Environment>,
    /// The backend of `[secrets] backend`, which is asked first.
    pub backend: Option<Arc<dyn SecretsBackend>>,
    /// Who maps partition keys where a mapper or a timetable is somebody's own; none where there is no Python.
    pub timetables: Option<Arc<Timetables>>,
    /// What the configuration says about running tasks.
    pub rules: Rules,
}

/// What the configuration says about running tasks, as far as the service keeps to it.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// `[core] max_map_length`: a longer list cannot be mapped over.
    pub max_map_length: i64,
    /// `[core] num_dag_runs_to_retain_rendered_fields`: of as many runs of a task, what was rendered is kept; of all
    /// if not given.
    pub rendered_fields_runs: Option<u32>,
    /// `[core] multi_team`.
    pub multi_team: bool,
    /// `[scheduler] partition_mapper_max_downstream_keys`: one partition of an asset is for at most as many partitions
    /// of a DAG.
    pub max_downstream_keys: u32,
    /// `[state_store] clear_on_success`: what a task kept between its tries goes when it succeeds.
    pub clear_state_on_success: bool,
}

impl Rules {
    /// Those that concern changes of assets.
    pub fn of_events(&self) -> EventRules {
        EventRules { multi_team: self.multi_team, max_downstream_keys: self.max_downstream_keys }
    }

    /// As the configuration says.
    pub fn of(settings: &Settings) -> Self {
        Self {
            max_map_length: settings.core.max_map_length.into(),
            rendered_fields_runs: settings.core.num_dag_runs_to_retain_rendered_fields,
            multi_team: settings.core.multi_team,
            max_downstream_keys: settings.scheduler.partition_mapper_max_downstream_keys,
            clear_state_on_success: settings.state_store.clear_on_success,
        }
    }
}

impl Service {
    /// Looks up variables and connections where this does.
    pub fn secrets(&self) -> Secrets {
        Secrets {
            db: self.db.clone(),
            fernet: Arc::clone(&self.fernet),
            environment: Arc::clone(&self.environment),
            backend: self.backend.clone(),
        }
    }
}
