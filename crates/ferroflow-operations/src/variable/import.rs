use std::collections::BTreeSet;

use ferroflow_model::{indented_json, python_literal};
use serde_json::{Map, Value};

use super::names;
use super::set::{NewVariable, store};
use crate::{AuditAction, OperationError, Operations};

/// What [`import`] writes to the audit log.
pub const IMPORT: AuditAction<'static> = AuditAction::named("variables_import");

#[derive(Clone)]
pub struct ImportRequest {
    /// The values, by their names. One that is an object with a `value` in it is that, and its `description`.
    pub variables: Map<String, Value>,
    pub on_existing: OnExisting,
}

/// What becomes of a variable that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExisting {
    Overwrite,
    /// Nothing is written if there is any.
    Fail,
    Skip,
}

#[derive(Debug, Default)]
pub struct Imported {
    pub updated: usize,
    /// Why others could not be written.
    pub failed: Vec<OperationError>,
    pub skipped: BTreeSet<String>,
}

/// Sets many variables. `progress` is told how many are done.
pub async fn import(
    operations: &Operations,
    request: &ImportRequest,
    mut progress: impl FnMut(usize),
) -> Result<Imported, OperationError> {
    operations.audit(&IMPORT).await;
    let ImportRequest { variables, on_existing } = request;
    let known: BTreeSet<String> = names(operations).await?.into_iter().collect();
    let existing: BTreeSet<&str> =
        variables.keys().map(String::as_str).filter(|key| known.contains(*key)).collect();
    if *on_existing == OnExisting::Fail && !existing.is_empty() {
        let keys: Vec<String> = existing.iter().map(|key| python_literal(key)).collect();
        let problem = format!("Failed. These keys: [{}] already exists.", keys.join(", "));
        return Err(OperationError::conflict("already_exists", problem));
    }
    let mut imported = Imported::default();
    for (done, (key, value)) in variables.iter().enumerate() {
        progress(done);
        if *on_existing == OnExisting::Skip && existing.contains(key.as_str()) {
            imported.skipped.insert(key.clone());
            continue;
        }
        match store(&operations.secrets, &new_variable(key, value)).await {
            Ok(()) => imported.updated += 1,
            Err(error) => imported.failed.push(error),
        }
    }
    Ok(imported)
}

fn new_variable(key: &str, value: &Value) -> NewVariable {
    let (value, description) = match value.as_object().and_then(|object| Some((object, object.get("value")?)))
    {
        Some((object, value)) => (value, object.get("description").and_then(Value::as_str)),
        None => (value, None),
    };
    NewVariable {
        key: key.to_owned(),
        value: value.as_str().map_or_else(|| indented_json(value, 2), str::to_owned),
        description: description.map(str::to_owned),
    }
}
