//! Variables and connections, as messages ask for them.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection::Connection;
use ferroflow_db::variable;
use ferroflow_operations::variable::NewVariable;
use rmpv::Value;

use crate::message::{DeleteVariable, GetConnection, GetVariable, GetVariableKeys, PutVariable};
use crate::value::{body, error_response, map, optional};
use crate::{Answer, Refusal, Service, read};

/// The longest page of names.
const MAX_KEYS: i64 = 10_000;

impl Service {
    /// How many names of variables begin with a prefix, and a page of them.
    pub async fn variable_keys(&self, request: &GetVariableKeys) -> Result<(i64, Vec<String>), Refusal> {
        let refused = |field, value: i64, expected| {
            Err(Refusal::Invalid { kind: "GetVariableKeys", field, value: value.to_string(), expected })
        };
        if !(1..=MAX_KEYS).contains(&request.limit) {
            return refused("limit", request.limit, "give 1 to 10000");
        }
        if request.offset < 0 {
            return refused("offset", request.offset, "give 0 or more");
        }
        let prefix = request.prefix.as_deref().unwrap_or_default();
        let (limit, offset) = (request.limit, request.offset);
        let found =
            self.db.read(|tx| async move { variable::keys(tx, prefix, limit, offset).await }.scope_boxed());
        Ok(found.await?)
    }

    /// Sets a variable in the database, whatever stands before it. No value is stored as Python writes it:
    /// `None`.
    pub async fn put_variable(&self, request: &PutVariable) -> Result<(), Refusal> {
        not_empty("PutVariable", &request.key)?;
        let variable = NewVariable {
            key: request.key.clone(),
            value: request.value.clone().unwrap_or_else(|| "None".to_owned()),
            description: request.description.clone(),
        };
        Ok(ferroflow_operations::variable::store(&self.secrets(), &variable).await?)
    }

    /// Deletes a variable that belongs to no team, if there is one.
    pub async fn delete_variable(&self, key: &str) -> Result<bool, Refusal> {
        not_empty("DeleteVariable", key)?;
        let deleted =
            self.db.transact(|tx| async move { variable::delete_visible(tx, key, None).await }.scope_boxed());
        Ok(deleted.await?)
    }

    pub(crate) async fn get_variable(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: GetVariable = read(kind, message)?;
        not_empty("GetVariable", &request.key)?;
        let key = Value::from(request.key.as_str());
        let Some(value) = self.secrets().variable(&request.key).await? else {
            return Ok(Answer::Body(error_response("VARIABLE_NOT_FOUND", map([("key", key)]))));
        };
        let value = Value::from(value);
        self.masker.add(&value, Some(&request.key));
        Ok(body("VariableResult", [("key", key), ("value", value)]))
    }

    pub(crate) async fn get_connection(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: GetConnection = read(kind, message)?;
        let Some(connection) = self.secrets().connection(&request.conn_id).await? else {
            let detail = map([("conn_id", request.conn_id.into())]);
            return Ok(Answer::Body(error_response("CONNECTION_NOT_FOUND", detail)));
        };
        for secret in [&connection.password, &connection.extra].into_iter().flatten() {
            self.masker.add(&secret.as_str().into(), None);
        }
        Ok(connection_result(connection))
    }

    pub(crate) async fn get_variable_keys(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let (total, keys) = self.variable_keys(&read(kind, message)?).await?;
        let keys = keys.into_iter().map(Value::from).collect();
        Ok(body("VariableKeysResult", [("keys", Value::Array(keys)), ("total_entries", total.into())]))
    }

    pub(crate) async fn set_variable(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        self.put_variable(&read(kind, message)?).await?;
        Ok(Answer::Done)
    }

    pub(crate) async fn unset_variable(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let request: DeleteVariable = read(kind, message)?;
        self.delete_variable(&request.key).await?;
        Ok(body("OKResponse", [("ok", true.into())]))
    }
}

fn not_empty(kind: &'static str, key: &str) -> Result<(), Refusal> {
    if key.is_empty() {
        return Err(Refusal::Invalid {
            kind,
            field: "key",
            value: "empty".to_owned(),
            expected: "name a variable",
        });
    }
    Ok(())
}

fn connection_result(connection: Connection) -> Answer {
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
