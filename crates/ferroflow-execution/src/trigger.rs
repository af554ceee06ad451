//! Runs that tasks ask for.

use ferroflow_operations::dag_run::{self, RequestedRun, trigger_by_task};
use rmpv::Value;
use serde_json::Map;

use crate::message::TriggerDagRun;
use crate::task::{LIMIT, TaskRequests};
use crate::value::{NotFinite, body, error_response, to_json};
use crate::{Answer, Patience, Refusal, read};

impl TaskRequests {
    pub(crate) async fn trigger_dag_run(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
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
        let asked = RequestedRun {
            dag_id: request.dag_id,
            run_id: request.run_id,
            logical_date: request.logical_date,
            run_after: request.run_after,
            conf,
            // Airflow's supervisor does not hand it on.
            partition_key: None,
            note: request.note,
        };
        let mut may_be_made = false;
        let mut patience = Patience::new(kind);
        let made = loop {
            let secrets = self.service.secrets();
            let made = trigger_by_task(&secrets, &self.runs, &asked, self.instance).await;
            match made.map_err(Refusal::from) {
                // A run that is there keeps one from being made; so it is the one that was made here.
                Err(refusal) if may_be_made && refusal.status() == Some(409) => break Ok(()),
                Err(refusal) => {
                    may_be_made |= refusal.is_outcome_unknown();
                    if !may_be_made || !patience.again(&refusal, LIMIT).await {
                        break Err(refusal);
                    }
                }
                Ok(()) => break Ok(()),
            }
        };
        match made {
            Ok(()) => Ok(ok()),
            Err(refusal) if refusal.status() == Some(409) && is_reset => {
                dag_run::clear(&self.service.db, &self.runs, &asked.dag_id, &asked.run_id).await?;
                Ok(ok())
            }
            Err(refusal) if refusal.status() == Some(409) => {
                Ok(Answer::Body(error_response("DAGRUN_ALREADY_EXISTS", Value::Nil)))
            }
            Err(refusal) => Err(refusal),
        }
    }
}

fn ok() -> Answer {
    body("OKResponse", [("ok", true.into())])
}
