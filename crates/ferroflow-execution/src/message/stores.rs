//! What is kept for a task between its tries, and for an asset between its updates.

use jiff::Timestamp;
use rmpv::Value;
use serde::Deserialize;
use uuid::Uuid;

use super::uuid;
use crate::time_format::optional_time;

/// A value that a task keeps.
#[derive(Clone, Debug, Deserialize)]
pub struct TaskStateKey {
    /// The task instance.
    #[serde(deserialize_with = "uuid")]
    pub ti_id: Uuid,
    /// Under which key.
    pub key: String,
}

/// Keeps a value for a task.
#[derive(Clone, Debug, Deserialize)]
pub struct SetTaskStateStore {
    /// The task instance.
    #[serde(deserialize_with = "uuid")]
    pub ti_id: Uuid,
    /// Under which key.
    pub key: String,
    /// What.
    pub value: Value,
    /// Until when.
    #[serde(with = "optional_time")]
    pub expires_at: Option<Timestamp>,
}

/// An asset: by its name in `…ByName`, by its URI in `…ByUri`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssetOf {
    /// The active one of this name.
    Name(String),
    /// The active one of this URI.
    Uri(String),
}

/// A value that is kept for an asset.
#[derive(Clone, Debug, Deserialize)]
pub struct AssetStateKey {
    /// The asset.
    #[serde(flatten)]
    pub asset: AssetOf,
    /// Under which key.
    pub key: String,
}

/// Keeps a value for an asset.
#[derive(Clone, Debug, Deserialize)]
pub struct SetAssetStateStore {
    /// The asset.
    #[serde(flatten)]
    pub asset: AssetOf,
    /// Under which key.
    pub key: String,
    /// What.
    pub value: Value,
}

/// Drops all that is kept for an asset.
#[derive(Clone, Debug, Deserialize)]
pub struct ClearAssetStateStore {
    /// The asset.
    #[serde(flatten)]
    pub asset: AssetOf,
}
