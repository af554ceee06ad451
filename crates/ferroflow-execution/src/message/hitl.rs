//! What tasks ask people.

use rmpv::Value;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::uuid;

/// Puts a question to people.
#[derive(Clone, Debug, Deserialize)]
pub struct CreateHitlDetailPayload {
    /// The task instance that asks.
    #[serde(deserialize_with = "uuid")]
    pub ti_id: Uuid,
    /// What can be chosen.
    pub options: Vec<String>,
    /// What it is about.
    pub subject: String,
    /// More about it.
    #[serde(default)]
    pub body: Option<String>,
    /// What is chosen if nobody answers.
    #[serde(default)]
    pub defaults: Option<Vec<String>>,
    /// Whether more than one can be chosen; not, if this is left out.
    #[serde(default = "not_several")]
    pub multiple: Option<bool>,
    /// What else can be filled in: a map.
    #[serde(default)]
    pub params: Option<Value>,
    /// Who may answer.
    #[serde(default)]
    pub assigned_users: Option<Vec<HitlUser>>,
}

/// Somebody who may answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HitlUser {
    /// The id of the account.
    pub id: String,
    /// The name of the account.
    pub name: String,
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null, too")]
fn not_several() -> Option<bool> {
    Some(false)
}
