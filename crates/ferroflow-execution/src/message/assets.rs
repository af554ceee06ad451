//! Assets and their events.

use jiff::Timestamp;
use serde::Deserialize;

use crate::time_format::optional_time;

/// The active asset of a name.
#[derive(Clone, Debug, Deserialize)]
pub struct GetAssetByName {
    /// The name.
    pub name: String,
}

/// The active asset of a URI.
#[derive(Clone, Debug, Deserialize)]
pub struct GetAssetByUri {
    /// The URI.
    pub uri: String,
}

/// The assets that an alias was resolved to.
#[derive(Clone, Debug, Deserialize)]
pub struct GetAssetsByAlias {
    /// The name of the alias.
    pub alias_name: String,
}

/// The events of an asset.
#[derive(Clone, Debug, Deserialize)]
pub struct GetAssetEventByAsset {
    /// The name of the asset.
    pub name: Option<String>,
    /// Its URI.
    pub uri: Option<String>,
    /// Not before.
    #[serde(default, with = "optional_time")]
    pub after: Option<Timestamp>,
    /// Not after.
    #[serde(default, with = "optional_time")]
    pub before: Option<Timestamp>,
    /// How many at most.
    #[serde(default)]
    pub limit: Option<i64>,
    /// Whether the oldest come first.
    #[serde(default = "yes")]
    pub ascending: bool,
}

/// The events that were emitted through an alias.
#[derive(Clone, Debug, Deserialize)]
pub struct GetAssetEventByAssetAlias {
    /// The name of the alias.
    pub alias_name: String,
    /// Not before.
    #[serde(default, with = "optional_time")]
    pub after: Option<Timestamp>,
    /// Not after.
    #[serde(default, with = "optional_time")]
    pub before: Option<Timestamp>,
    /// How many at most.
    #[serde(default)]
    pub limit: Option<i64>,
    /// Whether the oldest come first.
    #[serde(default = "yes")]
    pub ascending: bool,
}

fn yes() -> bool {
    true
}
