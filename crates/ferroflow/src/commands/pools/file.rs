//! Pools in a JSON file.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ferroflow_model::indented_json;
use ferroflow_operations::{Operations, pool};
use serde_json::{Map, Value, json};

/// What the file has, by name.
pub(super) fn read(path: &Path) -> Result<Map<String, Value>> {
    let Ok(text) = fs_err::read_to_string(path) else { bail!("Missing pools file {}", path.display()) };
    serde_json::from_str(&text).with_context(|| format!("{} is not a JSON object of pools", path.display()))
}

/// Writes all pools, and says how many there are.
pub(super) async fn export(operations: &Operations, path: &Path) -> Result<usize> {
    let pools = pool::export(operations).await?;
    fs_err::write(path, indented_json(&json!(pools), 4))?;
    Ok(pools.len())
}
