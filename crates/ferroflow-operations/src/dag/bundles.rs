//! Bundles by their names.

use ferroflow_config::{Settings, nearest};

use crate::OperationError;

/// Refuses a name that no configured bundle has: it would find nothing, silently.
pub fn check_bundles(settings: &Settings, names: &[String]) -> Result<(), OperationError> {
    let known = configured(settings);
    let unknown: Vec<&str> = names.iter().filter(|name| !known.contains(name)).map(String::as_str).collect();
    let Some(first) = unknown.first() else { return Ok(()) };
    let near: Vec<&str> = nearest(first, known.iter().map(String::as_str).collect()).collect();
    let help = if near.is_empty() {
        format!("[dag_processor] dag_bundle_config_list has {}", known.join(", "))
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    Err(OperationError::not_found(format!("Bundles not found: {}; {help}", unknown.join(", "))))
}

/// The names in `[dag_processor] dag_bundle_config_list`, and that of the examples if they are loaded.
fn configured(settings: &Settings) -> Vec<String> {
    let list = settings.dag_processor.dag_bundle_config_list.as_ref().and_then(|list| list.as_array());
    let names = list.into_iter().flatten().filter_map(|bundle| bundle.get("name")?.as_str());
    let examples = settings.core.load_examples.then_some("example_dags");
    names.chain(examples).map(str::to_owned).collect()
}
