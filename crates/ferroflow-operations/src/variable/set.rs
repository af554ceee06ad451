use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::variable::{self, Variable};
use ferroflow_model::indented_json;
use ferroflow_telemetry::clock;

use crate::secrets::Secrets;
use crate::{AuditAction, OperationError, Operations};

#[derive(Clone)]
pub struct SetRequest {
    pub variable: NewVariable,
    /// Whether the value is stored as a JSON text.
    pub as_json: bool,
}

#[derive(Clone)]
pub struct NewVariable {
    pub key: String,
    pub value: String,
    pub description: Option<String>,
}

pub async fn set(operations: &Operations, request: SetRequest) -> Result<(), OperationError> {
    operations.audit(&AuditAction::named("variables_set")).await;
    let SetRequest { mut variable, as_json } = request;
    if as_json {
        variable.value = indented_json(&variable.value.into(), 2);
    }
    store(&operations.secrets, &variable).await
}

/// Sets a variable in the database, whatever stands before it. It belongs to no team. What user code asks for is not in
/// the audit log.
pub async fn store(secrets: &Secrets, variable: &NewVariable) -> Result<(), OperationError> {
    let NewVariable { key, value, description } = variable;
    if key.is_empty() {
        return Err(OperationError::value_error("the key of a variable is empty; name one"));
    }
    if secrets.variable_outside(key).await.is_some() {
        tracing::warn!(
            "variable {key:?} is written to the metadata database, but read from the secrets backend or the \
             environment; delete it there to read what is written"
        );
    }
    let variable =
        &Variable { key: key.clone(), val: value.clone(), description: description.clone(), team_name: None };
    let (fernet, now) = (&secrets.fernet, clock::now());
    let stored =
        secrets.db.transact(|tx| async move { variable::set(tx, fernet, variable, now).await }.scope_boxed());
    Ok(stored.await?)
}
