//! Assets by name, by URI and by alias.

use ferroflow_db::asset::{self, FoundAsset};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx};
use rmpv::Value;

use crate::message::{AssetOf, GetAssetByName, GetAssetByUri, GetAssetsByAlias};
use crate::value::{body, error_response, json, map};
use crate::{Answer, Refusal, Service, read};

impl Service {
    /// An active asset.
    pub async fn asset(&self, of: &AssetOf) -> Result<FoundAsset, Refusal> {
        let found = self.db.read(|tx| async move { active(tx, of).await }.scope_boxed()).await?;
        found.map(|(_, asset)| asset).ok_or_else(|| match of {
            AssetOf::Name(name) => {
                Refusal::api(404, "not_found", format!("Asset with name {name} not found"))
            }
            AssetOf::Uri(uri) => Refusal::api(404, "not_found", format!("Asset with URI {uri} not found")),
        })
    }

    /// The assets that an alias was resolved to, active or not; none if there is no such alias.
    pub async fn assets_by_alias(&self, alias: &str) -> Result<Vec<FoundAsset>, Refusal> {
        let found = self.db.read(|tx| async move { asset::of_alias(tx, alias).await }.scope_boxed());
        Ok(found.await?)
    }

    pub(crate) async fn get_asset_by_name(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetAssetByName { name } = read(kind, message)?;
        self.get_asset(AssetOf::Name(name)).await
    }

    pub(crate) async fn get_asset_by_uri(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetAssetByUri { uri } = read(kind, message)?;
        self.get_asset(AssetOf::Uri(uri)).await
    }

    async fn get_asset(&self, of: AssetOf) -> Result<Answer, Refusal> {
        named(&of)?;
        match self.asset(&of).await {
            Ok(found) => {
                let mut fields = asset_fields(&found, Unset::LeftOut)?;
                fields.push(("type".into(), "AssetResult".into()));
                Ok(Answer::Body(Value::Map(fields)))
            }
            Err(refusal) if refusal.status() == Some(404) => {
                let detail = match of {
                    AssetOf::Name(name) => map([("name", name.into())]),
                    AssetOf::Uri(uri) => map([("uri", uri.into())]),
                };
                Ok(Answer::Body(error_response("ASSET_NOT_FOUND", detail)))
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(crate) async fn get_assets_by_alias(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetAssetsByAlias { alias_name } = read(kind, message)?;
        let found = self.assets_by_alias(&alias_name).await?;
        let assets = found.iter().map(|asset| {
            let mut fields = asset_fields(asset, Unset::Null)?;
            fields.push(("type".into(), "AssetResult".into()));
            Ok(Value::Map(fields))
        });
        let assets = assets.collect::<Result<Vec<_>, Refusal>>()?;
        Ok(body("AssetsByAliasResult", [("assets", Value::Array(assets))]))
    }
}

/// The active asset of a name or a URI, and its id.
pub(crate) async fn active(tx: &mut Tx, of: &AssetOf) -> Result<Option<(i64, FoundAsset)>, Error> {
    match of {
        AssetOf::Name(name) => asset::active_by_name(tx, name).await,
        AssetOf::Uri(uri) => asset::active_by_uri(tx, uri).await,
    }
}

/// Airflow's client asks for no asset without a name.
pub(crate) fn named(of: &AssetOf) -> Result<(), Refusal> {
    let (AssetOf::Name(text) | AssetOf::Uri(text)) = of;
    if text.is_empty() {
        return Err(Refusal::Unsendable("Either `name` or `uri` must be provided".to_owned()));
    }
    Ok(())
}

/// What becomes of a field that holds nothing.
#[derive(Clone, Copy)]
pub(super) enum Unset {
    LeftOut,
    Null,
}

pub(super) fn asset_fields(asset: &FoundAsset, unset: Unset) -> Result<Vec<(Value, Value)>, Refusal> {
    let mut fields: Vec<(Value, Value)> = vec![
        ("name".into(), asset.name.as_str().into()),
        ("uri".into(), asset.uri.as_str().into()),
        ("group".into(), asset.group.as_str().into()),
    ];
    let extra = json(|| format!("extra of asset {:?}", asset.name), &asset.extra)?;
    match (extra, unset) {
        (Value::Nil, Unset::LeftOut) => {}
        (extra, _) => fields.push(("extra".into(), extra)),
    }
    Ok(fields)
}
