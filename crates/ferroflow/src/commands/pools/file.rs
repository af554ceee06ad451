//! Pools in a JSON file.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ferroflow_db::Db;
use ferroflow_db::pool::DescribedPool;
use ferroflow_model::indented_json;
use serde_json::{Map, Value, json};

use super::set;
use crate::session::Session;

/// Makes or changes what the file has, and says how many pools that are. Those that say too little are told at the end,
/// when the others are done.
pub(super) async fn import(session: &Session, db: &Db, path: &Path) -> Result<usize> {
    let Ok(text) = fs_err::read_to_string(path) else { bail!("Missing pools file {}", path.display()) };
    let pools: Map<String, Value> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a JSON object of pools", path.display()))?;
    let (mut number, mut failed) = (0, Vec::new());
    for (name, value) in &pools {
        match pool(name, value) {
            Some(pool) => {
                set(session, db, &pool).await?;
                number += 1;
            }
            None => failed.push(name.as_str()),
        }
    }
    if failed.is_empty() {
        return Ok(number);
    }
    bail!("Failed to update pool(s): {}; each needs slots, a number, and a description", failed.join(", "))
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

/// Writes all pools, and says how many there are.
pub(super) fn export(pools: &[DescribedPool], path: &Path) -> Result<usize> {
    let entry = |pool: &DescribedPool| {
        let mut entry = json!({
            "description": pool.description,
            "include_deferred": pool.include_deferred,
            "slots": pool.slots,
        });
        if let Some(team) = &pool.team_name {
            entry["team_name"] = json!(team);
        }
        (pool.name.clone(), entry)
    };
    let sorted: BTreeMap<String, Value> = pools.iter().map(entry).collect();
    fs_err::write(path, indented_json(&json!(sorted), 4))?;
    Ok(pools.len())
}
