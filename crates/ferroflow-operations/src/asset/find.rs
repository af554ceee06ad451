//! Assets and aliases by their names.

use ferroflow_config::nearest;
use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::asset::list::{self, ListedAsset, Which};
use ferroflow_model::stored_assets::StoredAlias;

use crate::{OperationError, Operations};

pub async fn list(operations: &Operations) -> Result<Vec<ListedAsset>, OperationError> {
    assets(operations, Which::default()).await
}

pub async fn aliases(operations: &Operations) -> Result<Vec<StoredAlias>, OperationError> {
    let read = operations.db.read(|tx| async move { list::aliases(tx).await }.scope_boxed());
    Ok(read.await?)
}

/// An alias by its name.
pub async fn alias(operations: &Operations, name: &str) -> Result<StoredAlias, OperationError> {
    let mut all = aliases(operations).await?;
    if let Some(place) = all.iter().position(|alias| alias.name == name) {
        return Ok(all.swap_remove(place));
    }
    let names = all.iter().map(|alias| alias.name.as_str()).collect();
    let help = help(name, names, " --alias");
    Err(OperationError::not_found(format!("Asset alias with name {name} does not exist{help}")))
}

/// The reason where a name means several assets, or several DAGs update one.
pub const AMBIGUOUS: &str = "ambiguous";

/// The one asset of a name, of a URI, or of both.
pub async fn find(operations: &Operations, which: Which<'_>) -> Result<ListedAsset, OperationError> {
    let mut found = assets(operations, which).await?;
    match (found.pop(), found.is_empty()) {
        (Some(asset), true) => Ok(asset),
        (Some(_), false) => {
            let message = format!("more than one asset exists with {}: name it by --uri", words(which));
            Err(OperationError::conflict(AMBIGUOUS, message))
        }
        (None, _) => {
            let all = assets(operations, Which::default()).await?;
            let (asked, names) = match which {
                Which { name: Some(name), .. } => {
                    (name, all.iter().map(|asset| asset.name.as_str()).collect())
                }
                Which { uri, .. } => {
                    (uri.unwrap_or_default(), all.iter().map(|asset| asset.uri.as_str()).collect())
                }
            };
            let help = help(asked, names, "");
            Err(OperationError::not_found(format!("Asset with {} does not exist{help}", words(which))))
        }
    }
}

/// How messages name what was asked for.
pub(super) fn words(which: Which<'_>) -> String {
    let name = which.name.map(|name| format!("name {name}"));
    let uri = which.uri.map(|uri| format!("URI {uri}"));
    name.into_iter().chain(uri).collect::<Vec<_>>().join(" and ")
}

async fn assets(operations: &Operations, which: Which<'_>) -> Result<Vec<ListedAsset>, OperationError> {
    Ok(operations.db.read(|tx| async move { list::list(tx, which).await }.scope_boxed()).await?)
}

/// What helps to find the right name.
fn help(asked: &str, mut names: Vec<&str>, option: &str) -> String {
    names.sort_unstable();
    names.dedup();
    let near: Vec<&str> = nearest(asked, names).filter(|name| *name != asked).collect();
    if near.is_empty() {
        return format!("; `ferroflow assets list{option}` shows those that do");
    }
    format!("; did you mean {}?", near.join(", "))
}
