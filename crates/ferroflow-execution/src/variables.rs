//! Variables, as tasks ask for them.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::variable;
use ferroflow_operations::variable::NewVariable;

use crate::api::{PutVariable, VariableKeys};
use crate::{Refusal, Service};

/// The longest page of names.
const MAX_KEYS: i64 = 10_000;

impl Service {
    /// How many names of variables begin with a prefix, and a page of them.
    pub async fn variable_keys(&self, request: &VariableKeys) -> Result<(i64, Vec<String>), Refusal> {
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
}

pub(crate) fn not_empty(kind: &'static str, key: &str) -> Result<(), Refusal> {
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
