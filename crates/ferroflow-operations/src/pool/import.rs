use ferroflow_db::pool::DescribedPool;
use serde_json::{Map, Value};

use super::set::store;
use crate::{AuditAction, OperationError, Operations};

/// What [`import`] writes to the audit log.
pub const IMPORT: AuditAction<'static> = AuditAction::named("pool_import");

/// Makes or changes pools, each an object by its name, and says how many. Those that lack something do not keep the others
/// from being stored.
pub async fn import(operations: &Operations, pools: &Map<String, Value>) -> Result<usize, OperationError> {
    operations.audit(&IMPORT).await;
    let (mut number, mut failed) = (0, Vec::new());
    for (name, value) in pools {
        match pool(name, value) {
            Some(pool) => {
                store(operations, &pool).await?;
                number += 1;
            }
            None => failed.push(name.as_str()),
        }
    }
    if failed.is_empty() {
        return Ok(number);
    }
    Err(OperationError::value_error(format!(
        "Failed to update pool(s): {}; each needs slots, a number, and a description",
        failed.join(", ")
    )))
}

fn pool(name: &str, value: &Value) -> Option<DescribedPool> {
    let fields = value.as_object()?;
    let slots = match fields.get("slots")? {
        Value::String(text) => text.trim().parse().ok()?,
        number => i32::try_from(number.as_i64()?).ok()?,
    };
    Some(DescribedPool {
        name: name.to_owned(),
        slots,
        description: fields.get("description")?.as_str().map(str::to_owned),
        include_deferred: fields.get("include_deferred").and_then(Value::as_bool).unwrap_or(false),
        team_name: fields.get("team_name").and_then(Value::as_str).map(str::to_owned),
    })
}
