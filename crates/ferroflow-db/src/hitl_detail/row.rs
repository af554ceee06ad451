//! `hitl_detail`: what a task asks a human, and the answer.

use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{binds, sql};
use crate::{Error, Json, Tx};

/// What a task asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The task instance that asks.
    pub ti_id: Uuid,
    /// What can be chosen: a list.
    pub options: Json,
    /// What it is about.
    pub subject: String,
    /// More about it.
    pub body: Option<String>,
    /// What is chosen without an answer: a list.
    pub defaults: Option<Json>,
    /// Whether more than one can be chosen.
    pub multiple: Option<bool>,
    /// What else can be filled in: a dict.
    pub params: Json,
    /// Who may answer: a list of users.
    pub assignees: Option<Json>,
    /// When it was answered.
    pub responded_at: Option<Timestamp>,
}

/// The question of a task instance.
pub async fn find(tx: &mut Tx, ti_id: Uuid) -> Result<Option<Question>, Error> {
    let Some(row) = tx.fetch_optional(sql!("hitl_detail/find"), binds![ti_id]).await? else {
        return Ok(None);
    };
    Ok(Some(Question {
        ti_id: row.get("ti_id")?,
        options: row.get("options")?,
        subject: row.get("subject")?,
        body: row.optional("body")?,
        defaults: row.json("defaults")?,
        multiple: row.optional("multiple")?,
        params: row.get("params")?,
        assignees: row.json("assignees")?,
        responded_at: row.optional("responded_at")?,
    }))
}

/// Adds a question without an answer. What is not given is JSON's `null`, as Airflow writes it.
pub async fn insert(tx: &mut Tx, question: &Question, now: Timestamp) -> Result<(), Error> {
    let binds = binds![
        question.ti_id,
        question.options.clone(),
        question.subject.as_str(),
        question.body.as_deref(),
        question.defaults.clone().unwrap_or_else(Json::null),
        question.multiple,
        question.params.clone(),
        question.assignees.clone().unwrap_or_else(Json::null),
        now,
        empty_dict(),
    ];
    tx.execute(sql!("hitl_detail/insert"), binds).await?;
    Ok(())
}

/// Drops the answer to a question that is put again.
pub async fn forget_response(tx: &mut Tx, ti_id: Uuid) -> Result<(), Error> {
    let binds = binds![Json::null(), Json::null(), empty_dict(), ti_id];
    tx.execute(sql!("hitl_detail/forget_response"), binds).await?;
    Ok(())
}

fn empty_dict() -> Json {
    Json::from(serde_json::Value::Object(serde_json::Map::new()))
}
