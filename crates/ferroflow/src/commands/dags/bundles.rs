//! Bundles by their names.

use anyhow::Result;
use clap::Args;
use ferroflow_config::Settings;
use ferroflow_operations::dag::check_bundles;

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

    /// Refuses a name that no configured bundle has.
    pub(crate) fn check(&self, settings: &Settings) -> Result<()> {
        Ok(check_bundles(settings, &self.bundle_name)?)
    }
}
