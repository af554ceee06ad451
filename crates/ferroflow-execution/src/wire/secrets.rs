//! Variables and connections.

use ferroflow_python::Answer;
use rmpv::Value;

use super::client::Client;
use super::message::{DeleteVariable, GetConnection, GetVariable};
use super::value::{body, error_response, map, optional};
use super::{read, read_request};
use crate::Refusal;
use crate::api::{ConnectionResponse, PutVariable, VariableKeys, VariableKeysPage};
use crate::variables::not_empty;

impl Client {
    pub(super) async fn get_variable(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: GetVariable = read(kind, message)?;
        not_empty("GetVariable", &request.key)?;
        let key = Value::from(request.key.as_str());
        let Some(value) = self.api.variable(&request.key).await? else {
            return Ok(Answer::Body(error_response("VARIABLE_NOT_FOUND", map([("key", key)]))));
        };
        self.masker.add(&value.as_str().into(), Some(&request.key));
        Ok(body("VariableResult", [("key", key), ("value", value.into())]))
    }

    pub(super) async fn get_connection(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: GetConnection = read(kind, message)?;
        let Some(connection) = self.api.connection(&request.conn_id).await? else {
            let detail = map([("conn_id", request.conn_id.into())]);
            return Ok(Answer::Body(error_response("CONNECTION_NOT_FOUND", detail)));
        };
        self.mask_connection(&connection);
        Ok(connection_result(connection))
    }

    pub(super) fn mask_connection(&self, connection: &ConnectionResponse) {
        for secret in [&connection.password, &connection.extra].into_iter().flatten() {
            self.masker.add(&secret.as_str().into(), None);
        }
    }

    pub(super) async fn get_variable_keys(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let page: VariableKeys = read_request(kind, message)?;
        let VariableKeysPage { keys, total_entries } = self.api.variable_keys(&page).await?;
        let keys = keys.into_iter().map(Value::from).collect();
        Ok(body(
            "VariableKeysResult",
            [("keys", Value::Array(keys)), ("total_entries", total_entries.into())],
        ))
    }

    pub(super) async fn set_variable(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: PutVariable = read_request(kind, message)?;
        self.api.put_variable(&request).await?;
        Ok(Answer::Done)
    }

    pub(super) async fn unset_variable(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: DeleteVariable = read(kind, message)?;
        self.api.delete_variable(&request.key).await?;
        Ok(body("OKResponse", [("ok", true.into())]))
    }
}

fn connection_result(connection: ConnectionResponse) -> Answer {
    body(
        "ConnectionResult",
        [
            ("conn_id", connection.conn_id.into()),
            ("conn_type", connection.conn_type.into()),
            ("host", optional(connection.host)),
            ("schema", optional(connection.schema)),
            ("login", optional(connection.login)),
            ("password", optional(connection.password)),
            ("port", optional(connection.port)),
            ("extra", optional(connection.extra)),
        ],
    )
}
