//! Assets that have changed: for whom they wait, and what conditions make of them.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_db::asset::triggered_runs::QueuedAsset as QueuedRow;
use ferroflow_db::{Error as DbError, Tx, asset};
use ferroflow_model::asset::{AssetCondition, AssetRef};
use ferroflow_model::runs::assets::{AssetKey, KnownAssets, QueueVerdict, QueuedAsset, judge_queues};

/// A name and a URI.
type OwnedKey = (String, String);

/// What aliases and references stand for.
#[derive(Default)]
pub(crate) struct Assets {
    of_alias: BTreeMap<String, BTreeSet<OwnedKey>>,
    active_by_name: BTreeMap<String, OwnedKey>,
    active_by_uri: BTreeMap<String, OwnedKey>,
}

impl Assets {
    /// Looks up what some conditions mention.
    pub(crate) async fn load<'c>(
        tx: &mut Tx,
        conditions: impl Iterator<Item = &'c AssetCondition> + Send,
    ) -> Result<Self, DbError> {
        let mut known = Self::default();
        for condition in conditions {
            for alias in condition
                .aliases()
                .filter(|alias| !known.of_alias.contains_key(&alias.name))
                .collect::<Vec<_>>()
            {
                let assets = asset::of_alias(tx, &alias.name).await?;
                let keys = assets.into_iter().map(|asset| (asset.name, asset.uri)).collect();
                known.of_alias.insert(alias.name.clone(), keys);
            }
            for reference in condition.refs() {
                known.add_reference(tx, reference).await?;
            }
        }
        Ok(known)
    }

    pub(crate) fn known(&self) -> KnownAssets<'_> {
        let of_alias =
            self.of_alias.iter().map(|(name, keys)| (name.as_str(), keys.iter().map(asset_key).collect()));
        KnownAssets {
            of_alias: of_alias.collect(),
            active_by_name: keys_of(&self.active_by_name),
            active_by_uri: keys_of(&self.active_by_uri),
        }
    }

    async fn add_reference(&mut self, tx: &mut Tx, reference: &AssetRef) -> Result<(), DbError> {
        let (map, text, found) = match reference {
            AssetRef::Name(name) => (&mut self.active_by_name, name, asset::active_by_name(tx, name).await?),
            AssetRef::Uri(uri) => (&mut self.active_by_uri, uri, asset::active_by_uri(tx, uri).await?),
        };
        if let Some((_, asset)) = found {
            map.insert(text.clone(), (asset.name, asset.uri));
        }
        Ok(())
    }
}

/// What the queues amount to.
pub(super) fn judge<'a>(
    rows: &'a [QueuedRow],
    condition_of: impl Fn(&str) -> Option<&'a AssetCondition>,
    assets: &Assets,
) -> BTreeMap<&'a str, QueueVerdict<'a>> {
    let rows: Vec<QueuedAsset<'a>> = rows
        .iter()
        .map(|row| QueuedAsset {
            target_dag_id: &row.dag_id,
            asset: AssetKey { name: &row.name, uri: &row.uri },
            created_at: row.created_at,
            dag_has_asset_expression: row.has_expression,
        })
        .collect();
    judge_queues(&rows, condition_of, &assets.known())
}

fn asset_key((name, uri): &OwnedKey) -> AssetKey<'_> {
    AssetKey { name, uri }
}

fn keys_of(map: &BTreeMap<String, OwnedKey>) -> BTreeMap<&str, AssetKey<'_>> {
    map.iter().map(|(text, key)| (text.as_str(), asset_key(key))).collect()
}
