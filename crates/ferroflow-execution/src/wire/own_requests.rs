//! What a task says of its own instance, and asks about it.

use ferroflow_model::Json;
use ferroflow_model::key::RunKey;
use ferroflow_python::Answer;
use rmpv::Value;

use super::message::{OfInstance, SetRenderedFields, SetRenderedMapIndex, SkipDownstreamTasks};
use super::plain::plain;
use super::task::TaskRequests;
use super::value::{body, map, optional, time};
use super::{read, read_request};
use crate::Refusal;

impl TaskRequests {
    /// The answer, if this is such a message.
    pub(super) async fn answer_of_own(&self, kind: &str, body: &Value) -> Option<Result<Answer, Refusal>> {
        Some(match kind {
            "SetRenderedFields" => self.set_rendered_fields(kind, body).await,
            "SetRenderedMapIndex" => self.set_rendered_map_index(kind, body).await,
            "SkipDownstreamTasks" => self.skip_downstream(kind, body).await,
            "ValidateInletsAndOutlets" => self.get_inactive_assets(kind, body).await,
            "GetTaskBreadcrumbs" => self.get_breadcrumbs(kind, body).await,
            "GetTaskRescheduleStartDate" => self.get_reschedule_start(kind, body).await,
            _ => return None,
        })
    }

    /// Secrets in them are masked. A try that is over has no fields to keep any more, which is no error.
    async fn set_rendered_fields(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetRenderedFields { rendered_fields } = read(kind, message)?;
        if !rendered_fields.is_map() {
            let problem = format!("rendered_fields is {rendered_fields}, which is no map");
            return Err(Refusal::Unreadable { kind: kind.to_owned(), problem });
        }
        let mut fields = plain(&rendered_fields);
        self.client.masker.redact_json(&mut fields);
        match self.client.api.set_rendered_fields(self.instance, &Json::from(fields)).await {
            Err(refusal) if refusal.status() != Some(410) => Err(refusal),
            _ => Ok(Answer::Done),
        }
    }

    async fn set_rendered_map_index(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetRenderedMapIndex { rendered_map_index } = read(kind, message)?;
        self.client.api.set_rendered_map_index(self.instance, &rendered_map_index).await?;
        Ok(Answer::Done)
    }

    async fn skip_downstream(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SkipDownstreamTasks { tasks, .. } = read(kind, message)?;
        self.client.api.skip_downstream(self.instance, &tasks).await?;
        Ok(Answer::Done)
    }

    async fn get_inactive_assets(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let OfInstance { ti_id } = read(kind, message)?;
        self.own(ti_id)?;
        let found = self.client.api.inactive_assets(ti_id).await?;
        let assets = found.into_iter().map(|asset| {
            let mut fields: Vec<(Value, Value)> = Vec::new();
            fields.extend(asset.name.map(|name| ("name".into(), name.into())));
            fields.extend(asset.uri.map(|uri| ("uri".into(), uri.into())));
            fields.push(("type".into(), asset.kind.into()));
            Value::Map(fields)
        });
        Ok(body("InactiveAssetsResult", [("inactive_assets", Value::Array(assets.collect()))]))
    }

    async fn get_breadcrumbs(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let of: RunKey = read_request(kind, message)?;
        let found = self.client.api.task_breadcrumbs(&of).await?;
        let breadcrumbs = found.into_iter().map(|crumb| {
            map([
                ("task_id", crumb.task_id.into()),
                ("map_index", crumb.map_index.into()),
                ("state", optional(crumb.state)),
                ("operator", optional(crumb.operator)),
                ("duration", optional(crumb.duration)),
            ])
        });
        Ok(body("TaskBreadcrumbsResult", [("breadcrumbs", Value::Array(breadcrumbs.collect()))]))
    }

    async fn get_reschedule_start(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let OfInstance { ti_id } = read(kind, message)?;
        self.own(ti_id)?;
        let start = self.client.api.reschedule_start_date(ti_id).await?;
        Ok(body("TaskRescheduleStartDate", [("start_date", time(start))]))
    }
}
