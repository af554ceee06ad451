//! What a task may ask while it runs.

use std::sync::Arc;

use ferroflow_python::{Answer, Answers};
use rmpv::Value;
use uuid::Uuid;

use super::Asker;
use super::client::Client;
use super::repeat::{LIMIT, Requests, answer_patiently};
use super::sdk::SdkVersion;
use crate::Refusal;
use crate::api::ExecutionApi;

/// Answers the messages that a running task sends, but for those that report its state: on these, its supervisor acts.
#[derive(Clone)]
pub struct TaskRequests {
    pub client: Client,
    /// The task instance that asks: the id of its try.
    pub instance: Uuid,
    /// The same, as logs name it.
    pub asker: Asker,
    /// What the child's own Airflow understands.
    pub sdk: SdkVersion,
}

impl Answers for TaskRequests {
    /// The answer to the request of this `type`. There always is one: a child waits for it, also while the API does not
    /// answer.
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = answer_patiently(self, kind, &body, LIMIT).await;
        answered.unwrap_or_else(|refusal| refusal.logged_answer(kind, "API_SERVER_ERROR", &self.asker))
    }
}

impl Requests for TaskRequests {
    fn api(&mut self) -> &mut Arc<dyn ExecutionApi> {
        &mut self.client.api
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        if let Some(answered) = self.answer_of_own(kind, body).await {
            return answered;
        }
        let client = &self.client;
        match kind {
            "SetXCom" => client.push_xcom(kind, body).await,
            "DeleteXCom" => client.drop_xcom(kind, body).await,
            "GetXComCount" => client.get_xcom_count(kind, body, self.sdk).await,
            "GetDag" => client.get_dag(kind, body).await,
            "GetDagRun" => client.get_dag_run(kind, body, self.sdk).await,
            "GetDagRunState" => client.get_dag_run_state(kind, body).await,
            "GetDRCount" => client.get_dr_count(kind, body).await,
            "GetPreviousDagRun" => client.get_previous_dag_run(kind, body, self.sdk).await,
            "GetPrevSuccessfulDagRun" => client.previous_success_of(self.instance).await,
            "GetAssetByName" => client.get_asset_by_name(kind, body).await,
            "GetAssetByUri" => client.get_asset_by_uri(kind, body).await,
            "GetAssetsByAlias" => client.get_assets_by_alias(kind, body).await,
            "GetAssetEventByAsset" => client.get_asset_events(kind, body, self.sdk).await,
            "GetAssetEventByAssetAlias" => client.get_alias_events(kind, body, self.sdk).await,
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
            _ => client.answer_common(kind, body).await,
        }
    }
}

impl TaskRequests {
    /// A task may only ask for what is its own where the Execution API says so.
    pub(super) fn own(&self, instance: Uuid) -> Result<(), Refusal> {
        if instance == self.instance { Ok(()) } else { Err(Refusal::of_another()) }
    }
}
