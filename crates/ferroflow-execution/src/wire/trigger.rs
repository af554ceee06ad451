//! Runs that tasks ask for.

use ferroflow_model::key::RunKey;
use ferroflow_python::Answer;
use rmpv::Value;
use serde_json::Map;

use super::message::TriggerDagRun;
use super::read;
use super::repeat::LIMIT;
use super::task::TaskRequests;
use super::value::{NotFinite, body, error_response, to_json};
use crate::api::TriggerRun;
use crate::{Patience, Refusal};

impl TaskRequests {
    pub(super) async fn trigger_dag_run(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: TriggerDagRun = read(kind, message)?;
        let unreadable = |problem: String| Refusal::Unreadable { kind: kind.to_owned(), problem };
        let conf = match request.conf.as_ref().map(|conf| to_json(conf, NotFinite::Null)) {
            None | Some(Ok(serde_json::Value::Null)) => Map::new(),
            Some(Ok(serde_json::Value::Object(conf))) => conf,
            Some(Ok(other)) => return Err(unreadable(format!("conf is {other}, which is no map"))),
            Some(Err(problem)) => return Err(unreadable(problem)),
        };
        // What the client sends for it, the server does not take.
        let Some(is_reset) = request.reset_dag_run else {
            return Err(Refusal::api(422, "invalid_value", "reset_dag_run cannot be null"));
        };
        // Airflow's supervisor does not hand on the partition key.
        let TriggerDagRun { dag_id, run_id, logical_date, run_after, note, .. } = request;
        let wanted = TriggerRun { dag_id, run_id, logical_date, run_after, conf, note };
        match self.trigger(kind, &wanted).await {
            Ok(()) => Ok(ok()),
            Err(refusal) if refusal.status() == Some(409) && is_reset => {
                let TriggerRun { dag_id, run_id, .. } = wanted;
                self.client.api.clear_run(&RunKey { dag_id, run_id }).await?;
                Ok(ok())
            }
            Err(refusal) if refusal.status() == Some(409) => {
                Ok(Answer::Body(error_response("DAGRUN_ALREADY_EXISTS", Value::Nil)))
            }
            Err(refusal) => Err(refusal),
        }
    }

    async fn trigger(&self, kind: &str, wanted: &TriggerRun) -> Result<(), Refusal> {
        let mut may_be_made = false;
        let mut patience = Patience::new(kind);
        loop {
            match self.client.api.trigger_run(wanted, self.instance).await {
                // A run that is there keeps one from being made; so it is the one that was made here.
                Err(refusal) if may_be_made && refusal.status() == Some(409) => return Ok(()),
                Err(refusal) => {
                    may_be_made |= refusal.is_outcome_unknown();
                    if !may_be_made || !patience.again(&refusal, LIMIT).await {
                        return Err(refusal);
                    }
                }
                Ok(()) => return Ok(()),
            }
        }
    }
}

fn ok() -> Answer {
    body("OKResponse", [("ok", true.into())])
}
