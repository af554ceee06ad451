//! The assets of a file: which there are, who uses them, and what watches them.
//!
//! A file of which nothing has changed costs a read for each of: its assets, its aliases, what its DAGs refer to, and
//! the watchers that are not needed any longer.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::trigger::{self, FreeTrigger};
use ferroflow_db::{Error, Json, Tx, asset};
use ferroflow_model::asset::{Asset, AssetAlias};
use ferroflow_model::stored_assets::{
    AliasDifference, AssetDifference, DagAssets, EventTrigger, FileAssets, Ids, Reference, WantedWatcher,
    alias_difference, asset_difference, expression, reference_changes, references, wanted_watchers,
    watcher_changes,
};
use jiff::Timestamp;

/// What has to be known besides the DAGs.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'s> {
    /// Encrypts the arguments of triggers.
    pub fernet: &'s Fernet,
    /// The bundle of the file if `[core] multi_team` is on: its team's triggerers run the triggers.
    pub team_of_bundle: Option<&'s str>,
}

/// What storing the assets of a file has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetChanges {
    /// Assets that were added; listeners want to know.
    pub created_assets: Vec<Asset>,
    /// Aliases that were added; listeners want to know.
    pub created_aliases: Vec<AssetAlias>,
    /// How many rows were asked to change. None if everything was as it should be.
    pub writes: u64,
}

/// Stores what the DAGs of one file say about assets. Their rows in `dag` must be there already.
pub async fn sync(
    tx: &mut Tx,
    dags: &[DagAssets<'_>],
    settings: &Settings<'_>,
    now: Timestamp,
) -> Result<AssetChanges, Error> {
    let file = FileAssets::of(dags);
    let mut changes = AssetChanges::default();
    let assets = store_assets(tx, &file, &mut changes, now).await?;
    let aliases = store_aliases(tx, &file, &mut changes).await?;
    let ids = Ids { assets: assets.known, aliases };
    let left = store_references(tx, &file, &ids, &mut changes, now).await?;
    for key in assets.idle {
        asset::active::insert_unless_claimed(tx, key).await?;
        changes.writes += 1;
    }
    store_watchers(tx, &file, &ids, &assets.watched, settings, &mut changes, now).await?;
    // Those of others are no business of this file: a row of one may be locked, or refuse to go.
    for (asset_id, trigger_id) in asset::watcher::unscheduled(tx).await? {
        if left.contains(&asset_id) || ids.assets.values().any(|id| *id == asset_id) {
            asset::watcher::delete(tx, asset_id, trigger_id).await?;
            changes.writes += 1;
        }
    }
    Ok(changes)
}

/// Adds and rewrites assets. In what it gives back, all of them are known.
async fn store_assets<'d>(
    tx: &mut Tx,
    file: &FileAssets<'d>,
    changes: &mut AssetChanges,
    now: Timestamp,
) -> Result<AssetDifference<'d>, Error> {
    if file.assets.is_empty() {
        return Ok(AssetDifference::default());
    }
    let mut names: Vec<&str> = file.assets.keys().map(|(name, _)| *name).collect();
    names.dedup();
    let stored = asset::find_by_names(tx, &names).await?;
    let mut difference = asset_difference(file, &stored);
    changes.writes += (difference.changed.len() + difference.new.len()) as u64;
    for (id, asset) in &difference.changed {
        asset::update(tx, *id, asset, now).await?;
    }
    for asset in &difference.new {
        let inserted = asset::insert_if_missing(tx, asset, now).await?;
        difference.known.insert((&asset.name, &asset.uri), inserted.id);
        if inserted.is_new {
            changes.created_assets.push(Asset::clone(asset));
        }
    }
    Ok(difference)
}

async fn store_aliases<'d>(
    tx: &mut Tx,
    file: &FileAssets<'d>,
    changes: &mut AssetChanges,
) -> Result<BTreeMap<&'d str, i64>, Error> {
    if file.aliases.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names: Vec<&str> = file.aliases.keys().copied().collect();
    let stored = asset::alias::find_by_names(tx, &names).await?;
    let AliasDifference { mut known, new, changed } = alias_difference(file, &stored);
    changes.writes += (changed.len() + new.len()) as u64;
    for (id, alias) in changed {
        asset::alias::update(tx, id, alias).await?;
    }
    for alias in new {
        let inserted = asset::alias::insert_if_missing(tx, alias).await?;
        known.insert(&alias.name, inserted.id);
        if inserted.is_new {
            changes.created_aliases.push(alias.clone());
        }
    }
    Ok(known)
}

/// Returns the assets that a DAG of the file waits for no longer.
async fn store_references(
    tx: &mut Tx,
    file: &FileAssets<'_>,
    ids: &Ids<'_>,
    changes: &mut AssetChanges,
    now: Timestamp,
) -> Result<BTreeSet<i64>, Error> {
    let dag_ids: Vec<&str> = file.dags.iter().map(|dag| dag.dag_id).collect();
    let stored = asset::reference::find_by_dags(tx, &dag_ids).await?;
    let difference = reference_changes(references(file, ids), &stored.references);
    changes.writes += (difference.removed.len() + difference.changed.len() + difference.added.len()) as u64;
    for reference in &difference.removed {
        asset::reference::delete(tx, reference).await?;
    }
    for (reference, access) in &difference.changed {
        asset::reference::update(tx, reference, access, now).await?;
    }
    for (reference, access) in &difference.added {
        asset::reference::insert(tx, reference, access, now).await?;
    }
    let left = difference.removed.iter().filter_map(|reference| match reference {
        Reference::Schedule { asset_id, .. } => Some(*asset_id),
        _ => None,
    });
    let left = left.collect();
    for dag in file.dags {
        let wanted = dag.condition.map(|condition| expression(condition, ids));
        let there = stored.expressions.get(dag.dag_id).and_then(|json| json.value().ok());
        if wanted != there {
            asset::reference::set_expression(tx, dag.dag_id, wanted.map(Json::from)).await?;
            changes.writes += 1;
        }
    }
    Ok(left)
}

async fn store_watchers(
    tx: &mut Tx,
    file: &FileAssets<'_>,
    ids: &Ids<'_>,
    watched: &BTreeSet<i64>,
    settings: &Settings<'_>,
    changes: &mut AssetChanges,
    now: Timestamp,
) -> Result<(), Error> {
    let with_watchers = file.assets.iter().filter(|(_, asset)| !asset.watchers.is_empty());
    let to_be_watched: BTreeSet<i64> =
        with_watchers.filter_map(|(key, _)| ids.assets.get(key).copied()).collect();
    let concerned: Vec<i64> = to_be_watched.union(watched).copied().collect();
    if concerned.is_empty() {
        return Ok(());
    }
    let watchable = asset::watchable(tx, &Vec::from_iter(to_be_watched)).await?;
    let watchers = asset::watcher::find_by_assets(tx, settings.fernet, &concerned).await?;
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for (key, &asset_id) in &ids.assets {
        if !concerned.contains(&asset_id) {
            continue;
        }
        let wanted = match file.assets.get(key) {
            Some(asset) if watchable.contains(&asset_id) => wanted_watchers(asset),
            _ => Vec::new(),
        };
        let there: Vec<_> = watchers.iter().filter(|row| row.asset_id == asset_id).cloned().collect();
        let difference = watcher_changes(wanted, &there);
        added.extend(difference.added.into_iter().map(|watcher| (asset_id, watcher)));
        removed.extend(difference.removed.into_iter().map(|trigger_id| (asset_id, trigger_id)));
    }
    changes.writes += (added.len() + removed.len()) as u64;
    add_watchers(tx, added, settings, now).await?;
    for (asset_id, trigger_id) in removed {
        asset::watcher::delete(tx, asset_id, trigger_id).await?;
    }
    Ok(())
}

async fn add_watchers(
    tx: &mut Tx,
    added: Vec<(i64, WantedWatcher)>,
    settings: &Settings<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    if added.is_empty() {
        return Ok(());
    }
    let team_name = match settings.team_of_bundle {
        Some(bundle) => trigger::team_of_bundle(tx, bundle).await?,
        None => None,
    };
    let mut classpaths: Vec<&str> = added.iter().map(|(_, watcher)| &*watcher.trigger.classpath).collect();
    classpaths.sort_unstable();
    classpaths.dedup();
    let mut free = trigger::find_free(tx, settings.fernet, &classpaths).await?;
    free.retain(|row| row.team_name == team_name);
    let mut triggers: Vec<(EventTrigger, i64)> = Vec::new();
    for (asset_id, watcher) in added {
        let known = triggers.iter().find(|(trigger, _)| *trigger == watcher.trigger).map(|(_, id)| *id);
        let trigger_id = match known {
            Some(id) => id,
            None => match reusable(tx, &free, &watcher.trigger).await? {
                Some(id) => id,
                None => trigger::insert(tx, settings.fernet, &watcher, team_name.as_deref(), now).await?,
            },
        };
        asset::watcher::insert(tx, &watcher.name, asset_id, trigger_id).await?;
        triggers.push((watcher.trigger, trigger_id));
    }
    Ok(())
}

/// A trigger that is there and does the same, held until the transaction ends: a triggerer deletes those that nothing
/// uses.
async fn reusable(tx: &mut Tx, free: &[FreeTrigger], wanted: &EventTrigger) -> Result<Option<i64>, Error> {
    for row in free.iter().filter(|row| row.trigger.as_ref() == Some(wanted)) {
        if trigger::lock(tx, row.id).await? {
            return Ok(Some(row.id));
        }
    }
    Ok(None)
}
