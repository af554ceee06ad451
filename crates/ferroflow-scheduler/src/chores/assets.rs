//! Which assets are in use.
//!
//! No lock: what goes out of use is deleted by a statement that looks once more whether something refers to it, and what
//! two schedulers activate at once is activated once, since names and URIs are unique. A DAG that refers to an asset
//! while it goes out of use has it back by the next chore.

use ferroflow_db::asset_orphanage::{self, FoundAsset};
use ferroflow_db::dag_warning::{self, DagWarning};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, asset_active};
use ferroflow_model::stored_assets::{WaitingAsset, activation};
use jiff::Timestamp;

use crate::{Context, Error};

/// How many go out of use in one transaction.
const BATCH: u32 = 500;

/// How Airflow calls the warning about an asset that cannot be used.
const CONFLICT: &str = "asset conflict";

/// What has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    /// Names and URIs of those that went out of use.
    pub orphaned: Vec<(String, String)>,
    /// Names and URIs of those that came into use.
    pub activated: Vec<(String, String)>,
    /// The DAGs that are warned, each with the reason.
    pub warned: Vec<(String, String)>,
    /// How many values were dropped that were kept for assets out of use.
    pub dropped_values: u64,
}

/// Takes assets out of use that nothing refers to, and into use what something does.
pub async fn assets(cx: &Context, now: Timestamp) -> Result<Assets, Error> {
    let mut report = Assets::default();
    loop {
        let (looked_at, retired) = cx.db.transact(|tx| retire(tx).scope_boxed()).await?;
        let is_last = looked_at < BATCH as usize || retired.is_empty();
        report.orphaned.extend(retired);
        if is_last {
            break;
        }
    }
    let (activated, warned) = cx.db.transact(|tx| activate(tx, now).scope_boxed()).await?;
    (report.activated, report.warned) = (activated, warned);
    report.dropped_values =
        cx.db.transact(|tx| async move { asset_orphanage::drop_state(tx).await }.scope_boxed()).await?;
    Ok(report)
}

type Keys = Vec<(String, String)>;

async fn retire(tx: &mut Tx) -> Result<(usize, Keys), DbError> {
    let found = asset_orphanage::unreferenced(tx, BATCH).await?;
    let mut retired = Vec::new();
    for one in &found {
        if asset_orphanage::retire(tx, one).await? {
            retired.push((one.name.clone(), one.uri.clone()));
        }
    }
    Ok((found.len(), retired))
}

async fn activate(tx: &mut Tx, now: Timestamp) -> Result<(Keys, Keys), DbError> {
    let found = asset_orphanage::waiting(tx).await?;
    let key = |asset: &'_ FoundAsset| (asset.name.clone(), asset.uri.clone());
    let keys: Keys = found.iter().map(|(asset, _, _)| key(asset)).collect();
    let keys: Vec<(&str, &str)> = keys.iter().map(|(name, uri)| (name.as_str(), uri.as_str())).collect();
    let claims = if keys.is_empty() { Vec::new() } else { asset_orphanage::claims(tx, &keys).await? };
    let claims: Vec<(&str, &str)> = claims.iter().map(|(name, uri)| (name.as_str(), uri.as_str())).collect();
    let waiting: Vec<WaitingAsset<'_>> = found
        .iter()
        .zip(&keys)
        .map(|((_, group, dags), key)| WaitingAsset { key: *key, group, dags })
        .collect();
    let decided = activation(&waiting, &claims);
    for key in &decided.activated {
        asset_active::insert_unless_claimed(tx, *key).await?;
    }
    let warned: Keys =
        decided.warnings.iter().map(|(dag, message)| ((*dag).to_owned(), message.clone())).collect();
    warn(tx, &warned, now).await?;
    let owned = |(name, uri): &(&str, &str)| ((*name).to_owned(), (*uri).to_owned());
    Ok((decided.activated.iter().map(owned).collect(), warned))
}

/// Makes the warnings what they should be, and writes only what is not.
async fn warn(tx: &mut Tx, wanted: &[(String, String)], now: Timestamp) -> Result<(), DbError> {
    let stored = asset_orphanage::warnings(tx, CONFLICT).await?;
    for old in &stored {
        if !wanted.iter().any(|(dag, _)| *dag == old.dag_id) {
            dag_warning::delete(tx, &old.dag_id, CONFLICT).await?;
        }
    }
    for (dag_id, message) in wanted {
        if stored.iter().any(|old| old.dag_id == *dag_id && old.message == *message) {
            continue;
        }
        let warning = DagWarning {
            dag_id: dag_id.clone(),
            warning_type: CONFLICT.to_owned(),
            message: message.clone(),
        };
        asset_orphanage::warn(tx, &warning, now).await?;
    }
    Ok(())
}
