//! Assets by name, by URI and by alias.

use ferroflow_db::asset::{self, FoundAsset};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx};

use crate::api::AssetRef;
use crate::{Refusal, Service};

impl Service {
    /// An active asset.
    pub async fn asset(&self, of: &AssetRef) -> Result<FoundAsset, Refusal> {
        let found = self.db.read(|tx| async move { active(tx, of).await }.scope_boxed()).await?;
        found.map(|(_, asset)| asset).ok_or_else(|| match of {
            AssetRef::Name(name) => {
                Refusal::api(404, "not_found", format!("Asset with name {name} not found"))
            }
            AssetRef::Uri(uri) => Refusal::api(404, "not_found", format!("Asset with URI {uri} not found")),
        })
    }

    /// The assets that an alias was resolved to, active or not; none if there is no such alias.
    pub async fn assets_by_alias(&self, alias: &str) -> Result<Vec<FoundAsset>, Refusal> {
        let found = self.db.read(|tx| async move { asset::of_alias(tx, alias).await }.scope_boxed());
        Ok(found.await?)
    }
}

/// The active asset of a name or a URI, and its id.
pub(crate) async fn active(tx: &mut Tx, of: &AssetRef) -> Result<Option<(i64, FoundAsset)>, Error> {
    match of {
        AssetRef::Name(name) => asset::active_by_name(tx, name).await,
        AssetRef::Uri(uri) => asset::active_by_uri(tx, uri).await,
    }
}
