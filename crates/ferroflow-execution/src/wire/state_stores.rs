//! What tasks keep: for their own later tries, and for assets.

use ferroflow_model::{Json, standard_json};
use ferroflow_python::Answer;
use rmpv::Value;

use super::assets::named;
use super::message::{
    AssetStateKey, ClearAssetStateStore, OfInstance, SetAssetStateStore, SetTaskStateStore, TaskStateKey,
};
use super::read;
use super::task::TaskRequests;
use super::value::{NotFinite, body, error_response, map, to_json};
use crate::Refusal;
use crate::api::AssetRef;

impl TaskRequests {
    pub(super) async fn get_task_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let TaskStateKey { ti_id, key } = read(kind, message)?;
        self.own(ti_id)?;
        match self.client.api.task_state(ti_id, &key).await {
            Ok(text) => {
                let value = stored(|| format!("what the task keeps under {key:?}"), &text)?;
                Ok(body("TaskStateStoreResult", [("value", value)]))
            }
            Err(refusal) if refusal.status() == Some(404) => {
                let detail = map([("key", key.into())]);
                Ok(Answer::Body(error_response("TASK_STORE_NOT_FOUND", detail)))
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(super) async fn set_task_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetTaskStateStore { ti_id, key, value, expires_at } = read(kind, message)?;
        self.own(ti_id)?;
        self.client.api.set_task_state(ti_id, &key, &kept(kind, &value)?, expires_at).await?;
        Ok(ok())
    }

    pub(super) async fn delete_task_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let TaskStateKey { ti_id, key } = read(kind, message)?;
        self.own(ti_id)?;
        self.client.api.delete_task_state(ti_id, &key).await?;
        Ok(ok())
    }

    pub(super) async fn clear_task_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let OfInstance { ti_id } = read(kind, message)?;
        self.own(ti_id)?;
        self.client.api.clear_task_state(ti_id).await?;
        Ok(ok())
    }

    pub(super) async fn get_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let AssetStateKey { asset, key } = read(kind, message)?;
        usable(&asset, &key)?;
        match self.client.api.asset_state(&asset, &key).await {
            Ok(text) => {
                let value = stored(|| format!("what is kept for {asset:?} under {key:?}"), &text)?;
                Ok(body("AssetStateStoreResult", [("value", value)]))
            }
            Err(refusal) if refusal.status() == Some(404) => {
                let detail = map([("key", key.into())]);
                Ok(Answer::Body(error_response("ASSET_STORE_NOT_FOUND", detail)))
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(super) async fn set_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetAssetStateStore { asset, key, value } = read(kind, message)?;
        usable(&asset, &key)?;
        let value = kept(kind, &value)?;
        self.client.api.set_asset_state(&asset, &key, &value, self.instance).await?;
        Ok(ok())
    }

    pub(super) async fn delete_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let AssetStateKey { asset, key } = read(kind, message)?;
        usable(&asset, &key)?;
        self.client.api.delete_asset_state(&asset, &key).await?;
        Ok(ok())
    }

    pub(super) async fn clear_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let ClearAssetStateStore { asset } = read(kind, message)?;
        named(&asset)?;
        self.client.api.clear_asset_state(&asset).await?;
        Ok(ok())
    }
}

/// The value that a message wants to be kept. Airflow keeps no null.
fn kept(kind: &str, value: &Value) -> Result<Json, Refusal> {
    let unreadable = |problem| Refusal::Unreadable { kind: kind.to_owned(), problem };
    match to_json(value, NotFinite::Null).map_err(unreadable)? {
        serde_json::Value::Null => Err(Refusal::api(422, "invalid_value", "value cannot be null")),
        value => Ok(Json::from(value)),
    }
}

/// What is kept, as it is.
fn stored(what: impl FnOnce() -> String, text: &str) -> Result<Value, Refusal> {
    serde_json::from_str(&standard_json(text))
        .map_err(|error| Refusal::Stored { what: what(), source: error.into() })
}

fn usable(asset: &AssetRef, key: &str) -> Result<(), Refusal> {
    named(asset)?;
    if key.is_empty() {
        return Err(Refusal::api(422, "invalid_value", "the key is empty"));
    }
    Ok(())
}

fn ok() -> Answer {
    body("OKResponse", [("ok", true.into())])
}
