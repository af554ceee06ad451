//! Questions that tasks put to people.

use rmpv::Value;
use serde::Deserialize;
use uuid::Uuid;

use super::uuid;
use crate::api::HitlUser;

#[derive(Deserialize)]
pub(crate) struct CreateHitlDetailPayload {
    #[serde(deserialize_with = "uuid")]
    pub(crate) ti_id: Uuid,
    pub(crate) options: Vec<String>,
    pub(crate) subject: String,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) defaults: Option<Vec<String>>,
    /// Not, if this is left out.
    #[serde(default = "not_several")]
    pub(crate) multiple: Option<bool>,
    /// A map.
    #[serde(default)]
    pub(crate) params: Option<Value>,
    #[serde(default)]
    pub(crate) assigned_users: Option<Vec<HitlUser>>,
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null, too")]
fn not_several() -> Option<bool> {
    Some(false)
}
