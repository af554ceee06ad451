//! Task instances.

use rmpv::Value;
use serde::Deserialize;
use uuid::Uuid;

use super::uuid;
use crate::api::SkippedTask;

/// A message about a task instance, by the id of its try.
#[derive(Deserialize)]
pub(crate) struct OfInstance {
    #[serde(deserialize_with = "uuid")]
    pub(crate) ti_id: Uuid,
}

#[derive(Deserialize)]
pub(crate) struct SetRenderedFields {
    pub(crate) rendered_fields: Value,
}

#[derive(Deserialize)]
pub(crate) struct SetRenderedMapIndex {
    pub(crate) rendered_map_index: String,
}

/// Tasks that are not to run. Airflow's model is closed: no other key may be in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkipDownstreamTasks {
    #[serde(rename = "type")]
    _kind: String,
    pub(crate) tasks: Vec<SkippedTask>,
}
