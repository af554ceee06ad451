//! The requests of user code, as its messages name them. Those that are not here are those of the API in all fields.

mod assets;
mod hitl;
mod instances;
mod runs;
mod secrets;
mod stores;
mod xcoms;

use serde::{Deserialize as _, Deserializer, de};
use uuid::Uuid;

pub(super) use assets::{
    GetAssetByName, GetAssetByUri, GetAssetEventByAsset, GetAssetEventByAssetAlias, GetAssetsByAlias,
};
pub(super) use hitl::CreateHitlDetailPayload;
pub(super) use instances::{OfInstance, SetRenderedFields, SetRenderedMapIndex, SkipDownstreamTasks};
pub(super) use runs::{GetDag, TriggerDagRun};
pub(super) use secrets::{DeleteVariable, GetConnection, GetVariable, MaskSecret};
pub(super) use stores::{
    AssetStateKey, ClearAssetStateStore, SetAssetStateStore, SetTaskStateStore, TaskStateKey,
};
pub(super) use xcoms::{
    DeleteXCom, GetXCom, GetXComCount, GetXComSequenceItem, GetXComSequenceSlice, SetXCom,
};

/// An id that does not depend on whether the format says that people read it.
fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = String::deserialize(deserializer)?;
    Uuid::try_parse(&text).map_err(de::Error::custom)
}
