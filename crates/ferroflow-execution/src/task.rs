//! What a task may ask while it runs.

use std::time::Duration;

use ferroflow_operations::dag_run::RunMaking;
use ferroflow_python::Answers;
use rmpv::Value;
use uuid::Uuid;

use crate::patience::{Requests, ask_patiently};
use crate::sdk::SdkVersion;
use crate::{Answer, Asker, Refusal, Service};

/// So long a request is tried anew while the database does not answer. Airflow's client gives its API five attempts
/// with up to 90 seconds between them; a task that fails because a database was restarted helps nobody.
pub(crate) const LIMIT: Duration = Duration::from_mins(3);

/// Answers the messages that a running task sends, but for those that tell what became of it: on these, its
/// supervisor acts.
#[derive(Clone)]
pub struct TaskRequests {
    /// What answers.
    pub service: Service,
    /// The task instance that asks: the id of its try.
    pub instance: Uuid,
    /// The same, as logs name it.
    pub asker: Asker,
    /// What the child's own Airflow understands.
    pub sdk: SdkVersion,
    /// How runs are made that it asks for.
    pub runs: RunMaking,
}

impl Answers for TaskRequests {
    /// The answer to the request of this `type`. There always is one: a child waits for it, also while the database
    /// does not answer.
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = ask_patiently(self, kind, &body, LIMIT).await;
        answered.unwrap_or_else(|refusal| refusal.told(kind, "API_SERVER_ERROR", &self.asker))
    }
}

impl Requests for TaskRequests {
    fn service(&mut self) -> &mut Service {
        &mut self.service
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        if let Some(answered) = self.answer_of_own(kind, body).await {
            return answered;
        }
        match kind {
            "SetXCom" => self.service.leave_xcom(kind, body).await,
            "DeleteXCom" => self.service.drop_xcom(kind, body).await,
            "GetXComCount" => self.service.get_xcom_count(kind, body, self.sdk).await,
            "GetDag" => self.service.get_dag(kind, body).await,
            "GetDagRun" => self.service.get_dag_run(kind, body, self.sdk).await,
            "GetDagRunState" => self.service.get_dag_run_state(kind, body).await,
            "GetDRCount" => self.service.get_dr_count(kind, body).await,
            "GetPreviousDagRun" => self.service.get_previous_dag_run(kind, body, self.sdk).await,
            "GetPrevSuccessfulDagRun" => self.service.previous_success_of(self.instance).await,
            "GetAssetByName" => self.service.get_asset_by_name(kind, body).await,
            "GetAssetByUri" => self.service.get_asset_by_uri(kind, body).await,
            "GetAssetsByAlias" => self.service.get_assets_by_alias(kind, body).await,
            "GetAssetEventByAsset" => self.service.get_asset_events(kind, body, self.sdk).await,
            "GetAssetEventByAssetAlias" => self.service.get_alias_events(kind, body, self.sdk).await,
            "GetTaskStateStore" => self.get_task_state(kind, body).await,
            "SetTaskStateStore" => self.set_task_state(kind, body).await,
            "DeleteTaskStateStore" => self.delete_task_state(kind, body).await,
            "ClearTaskStateStore" => self.clear_task_state(kind, body).await,
            "GetAssetStateStoreByName" | "GetAssetStateStoreByUri" => self.get_asset_state(kind, body).await,
            "SetAssetStateStoreByName" | "SetAssetStateStoreByUri" => self.set_asset_state(kind, body).await,
            "DeleteAssetStateStoreByName" | "DeleteAssetStateStoreByUri" => {
                self.delete_asset_state(kind, body).await
            }
            "ClearAssetStateStoreByName" | "ClearAssetStateStoreByUri" => {
                self.clear_asset_state(kind, body).await
            }
            "TriggerDagRun" => self.trigger_dag_run(kind, body).await,
            "CreateHITLDetailPayload" => self.create_question(kind, body).await,
            _ => self.service.answer_common(kind, body).await,
        }
    }
}

impl TaskRequests {
    /// A task may only ask for what is its own where the Execution API says so.
    pub(crate) fn own(&self, instance: Uuid) -> Result<(), Refusal> {
        if instance == self.instance { Ok(()) } else { Err(Refusal::of_another()) }
    }
}
