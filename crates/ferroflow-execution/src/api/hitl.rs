//! Questions that tasks put to people.

use ferroflow_model::Json;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The question of a task instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HitlDetail {
    pub ti_id: Uuid,
    /// What can be chosen: a list.
    pub options: Json,
    pub subject: String,
    #[serde(default)]
    pub body: Option<String>,
    /// What is chosen if no answer comes in time: a list.
    #[serde(default)]
    pub defaults: Option<Json>,
    /// Whether more than one option can be chosen.
    #[serde(default)]
    pub multiple: Option<bool>,
    /// What else can be filled in: a dict.
    pub params: Json,
    /// Who may answer: a list of [`HitlUser`].
    #[serde(default)]
    pub assigned_users: Option<Json>,
}

/// A user who may answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HitlUser {
    pub id: String,
    pub name: String,
}
