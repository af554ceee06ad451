//! What is kept for a task between its tries, and for an asset between its updates.

use jiff::Timestamp;
use rmpv::Value;
use serde::Deserialize;
use uuid::Uuid;

use super::super::time_format::optional_time;
use super::uuid;
use crate::api::AssetRef;

#[derive(Deserialize)]
pub(crate) struct TaskStateKey {
    #[serde(deserialize_with = "uuid")]
    pub(crate) ti_id: Uuid,
    pub(crate) key: String,
}

#[derive(Deserialize)]
pub(crate) struct SetTaskStateStore {
    #[serde(deserialize_with = "uuid")]
    pub(crate) ti_id: Uuid,
    pub(crate) key: String,
    pub(crate) value: Value,
    #[serde(with = "optional_time")]
    pub(crate) expires_at: Option<Timestamp>,
}

/// The asset is named by `name` in `…ByName`, by `uri` in `…ByUri`.
#[derive(Deserialize)]
pub(crate) struct AssetStateKey {
    #[serde(flatten)]
    pub(crate) asset: AssetRef,
    pub(crate) key: String,
}

#[derive(Deserialize)]
pub(crate) struct SetAssetStateStore {
    #[serde(flatten)]
    pub(crate) asset: AssetRef,
    pub(crate) key: String,
    pub(crate) value: Value,
}

#[derive(Deserialize)]
pub(crate) struct ClearAssetStateStore {
    #[serde(flatten)]
    pub(crate) asset: AssetRef,
}
