//! Bundles by their names.

use anyhow::{Result, bail};
use clap::Args;
use ferroflow_config::{Settings, nearest};

/// The option that picks bundles.
#[derive(Args, Debug)]
pub(crate) struct BundleArgs {
    /// Only what is in this bundle; may be given more than once
    #[arg(short = 'B', long = "bundle-name", value_name = "NAME")]
    pub(crate) bundle_name: Vec<String>,
}

impl BundleArgs {
    /// Whether what is in this bundle was asked for.
    pub(crate) fn includes(&self, bundle: Option<&str>) -> bool {
        self.bundle_name.is_empty() || bundle.is_some_and(|name| self.bundle_name.iter().any(|b| b == name))
    }

    /// Refuses a name that no configured bundle has: it would find nothing, silently.
    pub(crate) fn check(&self, settings: &Settings) -> Result<()> {
        let known = configured(settings);
        let unknown: Vec<&str> =
            self.bundle_name.iter().filter(|name| !known.contains(name)).map(String::as_str).collect();
        let Some(first) = unknown.first() else { return Ok(()) };
        let near: Vec<&str> = nearest(first, known.iter().map(String::as_str).collect()).collect();
        let help = if near.is_empty() {
            format!("[dag_processor] dag_bundle_config_list has {}", known.join(", "))
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        bail!("Bundles not found: {}; {help}", unknown.join(", "))
    }
}

/// The names in `[dag_processor] dag_bundle_config_list`, and that of the examples if they are loaded.
fn configured(settings: &Settings) -> Vec<String> {
    let list = settings.dag_processor.dag_bundle_config_list.as_ref().and_then(|list| list.as_array());
    let names = list.into_iter().flatten().filter_map(|bundle| bundle.get("name")?.as_str());
    let examples = settings.core.load_examples.then_some("example_dags");
    names.chain(examples).map(str::to_owned).collect()
}
