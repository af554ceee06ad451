//! Assets and their events.

use jiff::Timestamp;
use serde::Deserialize;

use super::super::time_format::optional_time;

#[derive(Deserialize)]
pub(crate) struct GetAssetByName {
    pub(crate) name: String,
}

#[derive(Deserialize)]
pub(crate) struct GetAssetByUri {
    pub(crate) uri: String,
}

#[derive(Deserialize)]
pub(crate) struct GetAssetsByAlias {
    pub(crate) alias_name: String,
}

#[derive(Deserialize)]
pub(crate) struct GetAssetEventByAsset {
    pub(crate) name: Option<String>,
    pub(crate) uri: Option<String>,
    #[serde(default, with = "optional_time")]
    pub(crate) after: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub(crate) before: Option<Timestamp>,
    #[serde(default)]
    pub(crate) limit: Option<i64>,
    #[serde(default = "yes")]
    pub(crate) ascending: bool,
}

#[derive(Deserialize)]
pub(crate) struct GetAssetEventByAssetAlias {
    pub(crate) alias_name: String,
    #[serde(default, with = "optional_time")]
    pub(crate) after: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub(crate) before: Option<Timestamp>,
    #[serde(default)]
    pub(crate) limit: Option<i64>,
    #[serde(default = "yes")]
    pub(crate) ascending: bool,
}

fn yes() -> bool {
    true
}
