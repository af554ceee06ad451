//! Questions that tasks put to people.

use ferroflow_model::Json;
use ferroflow_python::Answer;
use rmpv::Value;

use super::message::CreateHitlDetailPayload;
use super::read;
use super::task::TaskRequests;
use super::value::{NotFinite, json, to_json};
use crate::Refusal;
use crate::api::HitlDetail;

impl TaskRequests {
    pub(super) async fn create_question(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: CreateHitlDetailPayload = read(kind, message)?;
        self.own(request.ti_id)?;
        answer(&self.client.api.put_question(&question(kind, request)?).await?)
    }
}

/// The server's model is narrower than the message: it takes no null for what a question may lack.
fn question(kind: &str, request: CreateHitlDetailPayload) -> Result<HitlDetail, Refusal> {
    let unreadable = |problem| Refusal::Unreadable { kind: kind.to_owned(), problem };
    if request.options.is_empty() {
        return Err(unreadable("options is empty".to_owned()));
    }
    let refused = |field| Refusal::api(422, "invalid_value", format!("{field} cannot be null"));
    let multiple = request.multiple.ok_or_else(|| refused("multiple"))?;
    let params = request.params.ok_or_else(|| refused("params"))?;
    let users = request.assigned_users.ok_or_else(|| refused("assigned_users"))?;
    if !params.is_map() {
        return Err(unreadable("params is no map".to_owned()));
    }
    let users = users.into_iter().map(|user| serde_json::json!({"id": user.id, "name": user.name}));
    Ok(HitlDetail {
        ti_id: request.ti_id,
        options: Json::from(serde_json::Value::from(request.options)),
        subject: request.subject,
        body: request.body,
        defaults: request.defaults.map(|defaults| Json::from(serde_json::Value::from(defaults))),
        multiple: Some(multiple),
        params: Json::from(to_json(&params, NotFinite::Null).map_err(unreadable)?),
        assigned_users: Some(Json::from(serde_json::Value::Array(users.collect()))),
    })
}

/// What holds its default is left out.
fn answer(question: &HitlDetail) -> Result<Answer, Refusal> {
    let field = |name: &'static str, value: &Json| {
        json(|| format!("{name} of the question of task instance {}", question.ti_id), value)
    };
    let mut fields: Vec<(Value, Value)> = vec![
        ("ti_id".into(), question.ti_id.to_string().into()),
        ("options".into(), field("options", &question.options)?),
        ("subject".into(), question.subject.as_str().into()),
    ];
    if let Some(body) = &question.body {
        fields.push(("body".into(), body.as_str().into()));
    }
    if let Some(defaults) = &question.defaults {
        fields.push(("defaults".into(), field("defaults", defaults)?));
    }
    if question.multiple == Some(true) {
        fields.push(("multiple".into(), true.into()));
    }
    fields.push(("params".into(), field("params", &question.params)?));
    let users = question.assigned_users.as_ref().map(|users| field("assignees", users)).transpose()?;
    fields.push(("assigned_users".into(), users.unwrap_or_else(|| Value::Array(Vec::new()))));
    fields.push(("type".into(), "HITLDetailRequestResult".into()));
    Ok(Answer::Body(Value::Map(fields)))
}
