//! The requests of user code, as its messages name them.

mod assets;
mod hitl;
mod instances;
mod runs;
mod secrets;
mod stores;
mod xcoms;

use jiff::Timestamp;
use rmpv::Value;
use serde::{Deserialize as _, Deserializer, de};
use uuid::Uuid;

pub use assets::{
    GetAssetByName, GetAssetByUri, GetAssetEventByAsset, GetAssetEventByAssetAlias, GetAssetsByAlias,
};
pub use hitl::{CreateHitlDetailPayload, HitlUser};
pub use instances::{CountedStates, GetPreviousTi, Instances, OfInstance};
pub use runs::{GetDag, GetDrCount, GetPreviousDagRun, OfRun, TriggerDagRun};
pub use secrets::{DeleteVariable, GetConnection, GetVariable, GetVariableKeys, MaskSecret, PutVariable};
pub use stores::{
    AssetOf, AssetStateKey, ClearAssetStateStore, SetAssetStateStore, SetTaskStateStore, TaskStateKey,
};
pub use xcoms::{DeleteXCom, GetXCom, GetXComCount, GetXComSequenceItem, GetXComSequenceSlice, SetXCom};

use crate::value::read_time;

fn not_mapped() -> i64 {
    i64::from(ferroflow_model::id::NOT_MAPPED)
}

fn times<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Timestamp>>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Nil => Ok(None),
        Value::Array(values) => {
            let times = values.iter().map(read_time).collect::<Result<_, _>>();
            times.map(Some).map_err(de::Error::custom)
        }
        other => Err(de::Error::custom(format!("{other} is no list of times"))),
    }
}

/// An id that does not depend on whether the format says that people read it.
fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = String::deserialize(deserializer)?;
    Uuid::try_parse(&text).map_err(de::Error::custom)
}
