//! What tasks keep for an asset between its updates.

use ferroflow_db::{Json, ScopedFutureExt as _, asset};
use ferroflow_telemetry::clock;
use uuid::Uuid;

use crate::api::AssetRef;
use crate::assets::active;
use crate::{Refusal, Service};

impl Service {
    /// What is kept for an active asset under a key, as JSON.
    pub async fn asset_state(&self, of: &AssetRef, key: &str) -> Result<String, Refusal> {
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
        of: &AssetRef,
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
    pub async fn delete_asset_state(&self, of: &AssetRef, key: &str) -> Result<(), Refusal> {
        let id = self.asset_id(of).await?;
        let deleted =
            self.db.transact(|tx| async move { asset::state_store::delete(tx, id, key).await }.scope_boxed());
        Ok(deleted.await?)
    }

    /// Drops all that is kept for an active asset.
    pub async fn clear_asset_state(&self, of: &AssetRef) -> Result<(), Refusal> {
        let id = self.asset_id(of).await?;
        let cleared =
            self.db.transact(|tx| async move { asset::state_store::clear(tx, id).await }.scope_boxed());
        Ok(cleared.await?)
    }

    async fn asset_id(&self, of: &AssetRef) -> Result<i64, Refusal> {
        let found = self.db.read(|tx| async move { active(tx, of).await }.scope_boxed()).await?;
        found.map(|(id, _)| id).ok_or_else(|| {
            let which = match of {
                AssetRef::Name(name) => format!("name='{name}'"),
                AssetRef::Uri(uri) => format!("uri='{uri}'"),
            };
            Refusal::api(404, "not_found", format!("Asset with {which} not found"))
        })
    }
}
