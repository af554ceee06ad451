//! What a task says of its own instance, and asks about it.

use rmpv::Value;
use serde::Deserialize;

use crate::message::{OfInstance, OfRun};
use crate::task::TaskRequests;
use crate::task_instance::SkippedTask;
use crate::value::{body, map, optional, time};
use crate::{Answer, Refusal, read};

/// The templates of a task as they were rendered.
#[derive(Deserialize)]
struct SetRenderedFields {
    rendered_fields: Value,
}

/// The name that people see in place of the map index.
#[derive(Deserialize)]
struct SetRenderedMapIndex {
    rendered_map_index: String,
}

/// Tasks that are not to run. Airflow's model is closed: no other key may be in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkipDownstreamTasks {
    #[serde(rename = "type")]
    _kind: String,
    tasks: Vec<SkippedTask>,
}

impl TaskRequests {
    /// The answer, if this is such a message.
    pub(crate) async fn answer_of_own(&self, kind: &str, body: &Value) -> Option<Result<Answer, Refusal>> {
        Some(match kind {
            "SetRenderedFields" => self.keep_rendered_fields(kind, body).await,
            "SetRenderedMapIndex" => self.name_map_index(kind, body).await,
            "SkipDownstreamTasks" => self.skip_tasks(kind, body).await,
            "ValidateInletsAndOutlets" => self.get_inactive_assets(kind, body).await,
            "GetTaskBreadcrumbs" => self.get_breadcrumbs(kind, body).await,
            "GetTaskRescheduleStartDate" => self.get_reschedule_start(kind, body).await,
            _ => return None,
        })
    }

    /// A try that is over has no fields to keep any more, and nobody minds.
    async fn keep_rendered_fields(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetRenderedFields { rendered_fields } = read(kind, message)?;
        if !rendered_fields.is_map() {
            let problem = format!("rendered_fields is {rendered_fields}, which is no map");
            return Err(Refusal::Unreadable { kind: kind.to_owned(), problem });
        }
        match self.service.rendered_fields(self.instance, &rendered_fields).await {
            Err(refusal) if refusal.status() != Some(410) => Err(refusal),
            _ => Ok(Answer::Done),
        }
    }

    async fn name_map_index(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetRenderedMapIndex { rendered_map_index } = read(kind, message)?;
        self.service.set_rendered_map_index(self.instance, &rendered_map_index).await?;
        Ok(Answer::Done)
    }

    async fn skip_tasks(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SkipDownstreamTasks { tasks, .. } = read(kind, message)?;
        self.service.skip_downstream(self.instance, &tasks).await?;
        Ok(Answer::Done)
    }

    async fn get_inactive_assets(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let OfInstance { ti_id } = read(kind, message)?;
        self.own(ti_id)?;
        let found = self.service.validate_inlets_and_outlets(ti_id).await?;
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
        let OfRun { dag_id, run_id } = read(kind, message)?;
        let found = self.service.task_breadcrumbs(&dag_id, &run_id).await?;
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
        let start = self.service.reschedule_start_date(ti_id).await?;
        Ok(body("TaskRescheduleStartDate", [("start_date", time(start))]))
    }
}
