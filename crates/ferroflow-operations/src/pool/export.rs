use std::collections::BTreeMap;

use ferroflow_db::pool::DescribedPool;
use serde_json::{Value, json};

use super::list;
use crate::{OperationError, Operations};

/// All pools, as [`import`](super::import()) takes them.
pub async fn export(operations: &Operations) -> Result<BTreeMap<String, Value>, OperationError> {
    Ok(list(operations).await?.into_iter().map(entry).collect())
}

fn entry(pool: DescribedPool) -> (String, Value) {
    let mut entry = json!({
        "description": pool.description,
        "include_deferred": pool.include_deferred,
        "slots": pool.slots,
    });
    if let Some(team) = &pool.team_name {
        entry["team_name"] = json!(team);
    }
    (pool.name, entry)
}
