//! What tasks keep for an asset between its updates.

use ferroflow_db::{Json, ScopedFutureExt as _, asset};
use ferroflow_telemetry::clock;
use rmpv::Value;
use uuid::Uuid;

use super::{kept, ok, stored};
use crate::assets::{active, named};
use crate::message::{AssetOf, AssetStateKey, ClearAssetStateStore, SetAssetStateStore};
use crate::task::TaskRequests;
use crate::value::{body, error_response, map};
use crate::{Answer, Refusal, Service, read};

impl Service {
    /// What is kept for an active asset under a key, as JSON.
    pub async fn asset_state(&self, of: &AssetOf, key: &str) -> Result<String, Refusal> {
        let id = self.asset_id(of).await?;
        let found = self
            .db
            .read(|tx| async move { asset::state_store::find(tx, id, key).await }.scope_boxed())
            .await?;
        found
            .ok_or_else(|| Refusal::api(404, "not_found", format!("Asset state store key '{key}' not found")))
    }

    /// Keeps a value for an active asset, and notes which task instance gave it.
    pub async fn set_asset_state(
        &self,
        of: &AssetOf,
        key: &str,
        value: &Json,
        writer: Uuid,
    ) -> Result<(), Refusal> {
        let (id, writer, now) = (self.asset_id(of).await?, &self.key_of(writer).await?, clock::now());
        let written = self.db.transact(|tx| {
            async move { asset::state_store::set(tx, id, key, value, writer, now).await }.scope_boxed()
        });
        Ok(written.await?)
    }

    /// Drops what is kept for an active asset under a key, if there is something.
    pub async fn delete_asset_state(&self, of: &AssetOf, key: &str) -> Result<(), Refusal> {
        let id = self.asset_id(of).await?;
        let deleted =
            self.db.transact(|tx| async move { asset::state_store::delete(tx, id, key).await }.scope_boxed());
        Ok(deleted.await?)
    }

    /// Drops all that is kept for an active asset.
    pub async fn clear_asset_state(&self, of: &AssetOf) -> Result<(), Refusal> {
        let id = self.asset_id(of).await?;
        let cleared =
            self.db.transact(|tx| async move { asset::state_store::clear(tx, id).await }.scope_boxed());
        Ok(cleared.await?)
    }

    async fn asset_id(&self, of: &AssetOf) -> Result<i64, Refusal> {
        let found = self.db.read(|tx| async move { active(tx, of).await }.scope_boxed()).await?;
        found.map(|(id, _)| id).ok_or_else(|| {
            let which = match of {
                AssetOf::Name(name) => format!("name='{name}'"),
                AssetOf::Uri(uri) => format!("uri='{uri}'"),
            };
            Refusal::api(404, "not_found", format!("Asset with {which} not found"))
        })
    }
}

impl TaskRequests {
    pub(crate) async fn get_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let AssetStateKey { asset, key } = read(kind, message)?;
        usable(&asset, &key)?;
        match self.service.asset_state(&asset, &key).await {
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

    pub(crate) async fn set_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let SetAssetStateStore { asset, key, value } = read(kind, message)?;
        usable(&asset, &key)?;
        let value = kept(kind, &value)?;
        self.service.set_asset_state(&asset, &key, &value, self.instance).await?;
        Ok(ok())
    }

    pub(crate) async fn delete_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let AssetStateKey { asset, key } = read(kind, message)?;
        usable(&asset, &key)?;
        self.service.delete_asset_state(&asset, &key).await?;
        Ok(ok())
    }

    pub(crate) async fn clear_asset_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let ClearAssetStateStore { asset } = read(kind, message)?;
        named(&asset)?;
        self.service.clear_asset_state(&asset).await?;
        Ok(ok())
    }
}

fn usable(asset: &AssetOf, key: &str) -> Result<(), Refusal> {
    named(asset)?;
    if key.is_empty() {
        return Err(Refusal::api(422, "invalid_value", "the key is empty"));
    }
    Ok(())
}
