//! What a task that succeeded says of the assets that it writes.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_db::asset::registration::{self, ActiveAsset};
use ferroflow_db::task_instance::execution::Facts;
use ferroflow_db::{Error, Json, Tx, asset};
use ferroflow_model::asset::Asset;
use ferroflow_model::partition_mapper::MAX_KEY_LENGTH;
use ferroflow_operations::asset::{Change, EventRules, Mappings, Source, register};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{AssetProfile, Success};

/// What a task writes, and what it noted about that.
pub(super) struct Outlets {
    assets: BTreeSet<Key>,
    names: BTreeSet<String>,
    uris: BTreeSet<String>,
    aliases: BTreeSet<String>,
    events: Vec<OutletEvent>,
}

/// Why there is nothing to register.
pub(super) enum NoOutlets {
    /// A partition key that cannot be one.
    PartitionKey(String),
    /// Something that is no event.
    Unreadable(String),
}

/// An asset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    name: String,
    uri: String,
}

/// What a task noted about an asset, by itself or through an alias.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct OutletEvent {
    #[serde(default)]
    source_alias_name: Option<String>,
    dest_asset_key: Key,
    #[serde(default = "empty")]
    dest_asset_extra: Value,
    extra: Value,
    #[serde(default)]
    partition_key: Option<String>,
}

impl Outlets {
    pub(super) fn of(success: &Success) -> Result<Self, NoOutlets> {
        let outlets = success.task_outlets.as_deref().unwrap_or_default();
        let events = success.outlet_events.as_deref().unwrap_or_default();
        let events = events.iter().map(|event| {
            serde_json::from_value(event.clone()).map_err(|error| NoOutlets::Unreadable(error.to_string()))
        });
        let events: Vec<OutletEvent> = events.collect::<Result<_, _>>()?;
        events.iter().filter_map(|event| event.partition_key.as_deref()).try_for_each(check_key)?;
        Ok(Self {
            assets: outlets.iter().filter_map(asset_key).collect(),
            names: named(outlets, "AssetNameRef", |outlet| outlet.name.as_ref()),
            uris: named(outlets, "AssetUriRef", |outlet| outlet.uri.as_ref()),
            aliases: named(outlets, "AssetAlias", |outlet| outlet.name.as_ref()),
            events,
        })
    }

    /// Registers a change of each asset, or one for each thing that was noted about it, and says how many. Assets that
    /// are not in use are passed over.
    pub(super) async fn register(
        &self,
        tx: &mut Tx,
        (rules, mappings): (&EventRules, &Mappings),
        facts: &Facts,
        now: Timestamp,
    ) -> Result<usize, Error> {
        let mut changes = 0;
        for asset in self.active(tx).await? {
            changes += self.register_asset(tx, (rules, mappings), facts, &asset, now).await?;
        }
        for ((key, asset_extra, extra), aliases) in self.grouped_by_alias() {
            let asset_id = match registration::asset_id(tx, &key.name, &key.uri).await? {
                Some(id) => id,
                None => asset::insert_if_missing(tx, &key.as_asset(asset_extra), now).await?.id,
            };
            let change = Change {
                asset_id,
                name: &key.name,
                uri: &key.uri,
                aliases: &aliases,
                extra: &extra,
                ..of_run(facts)
            };
            register(tx, rules, &change, mappings, now).await?;
            changes += 1;
        }
        mappings.are_known()?;
        Ok(changes)
    }

    /// The assets in use, each as often as the task names it.
    async fn active(&self, tx: &mut Tx) -> Result<Vec<ActiveAsset>, Error> {
        let names: Vec<&str> =
            self.assets.iter().map(|key| key.name.as_str()).chain(strs(&self.names)).collect();
        let uris: Vec<&str> = strs(&self.uris).collect();
        if names.is_empty() && uris.is_empty() {
            return Ok(Vec::new());
        }
        let active = registration::active(tx, &names, &uris).await?;
        let by_key = self.assets.iter().map(|key| {
            let found = active.iter().find(|asset| asset.name == key.name && asset.uri == key.uri);
            (format!("Asset(name={}, uri={})", key.name, key.uri), found)
        });
        let by_name = self.names.iter().map(|name| {
            (format!("Asset.ref(name={name})"), active.iter().rfind(|asset| asset.name == *name))
        });
        let by_uri = self
            .uris
            .iter()
            .map(|uri| (format!("Asset.ref(uri={uri})"), active.iter().rfind(|asset| asset.uri == *uri)));
        let mut found = Vec::new();
        for (wanted, asset) in by_key.chain(by_name).chain(by_uri) {
            if let Some(asset) = asset {
                found.push(asset.clone());
            } else {
                tracing::warn!("a task writes {wanted}, which is not in use");
            }
        }
        Ok(found)
    }

    async fn register_asset(
        &self,
        tx: &mut Tx,
        (rules, mappings): (&EventRules, &Mappings),
        facts: &Facts,
        asset: &ActiveAsset,
        now: Timestamp,
    ) -> Result<usize, Error> {
        let none = BTreeSet::new();
        let change = Change {
            asset_id: asset.id,
            name: &asset.name,
            uri: &asset.uri,
            aliases: &none,
            ..of_run(facts)
        };
        let is_about = |event: &&OutletEvent| {
            let key = &event.dest_asset_key;
            event.source_alias_name.is_none() && key.name == asset.name && key.uri == asset.uri
        };
        let events: Vec<&OutletEvent> = self.events.iter().filter(is_about).collect();
        if events.is_empty() {
            register(tx, rules, &change, mappings, now).await?;
            return Ok(1);
        }
        for event in &events {
            let own = event.partition_key.as_deref();
            let partition_key = own.or(change.partition_key);
            // The date of the run is that of its own partition.
            let partition_date = change.partition_date.filter(|_| partition_key == change.partition_key);
            let change = Change { extra: &event.extra, partition_key, partition_date, ..change };
            register(tx, rules, &change, mappings, now).await?;
        }
        Ok(events.len())
    }

    /// What was noted through aliases, once for all aliases that say the same of an asset, in the order in which it
    /// was first said.
    fn grouped_by_alias(&self) -> Vec<((Key, Value, Value), BTreeSet<String>)> {
        let mut groups: Vec<((Key, Value, Value), BTreeSet<String>)> = Vec::new();
        let mut places: BTreeMap<(Key, String, String), usize> = BTreeMap::new();
        for event in &self.events {
            let alias = event.source_alias_name.as_ref().filter(|alias| self.aliases.contains(*alias));
            let Some(alias) = alias else { continue };
            let (asset_extra, extra) = (&event.dest_asset_extra, &event.extra);
            let same =
                (event.dest_asset_key.clone(), sorted(asset_extra).to_string(), sorted(extra).to_string());
            let place = *places.entry(same).or_insert_with(|| {
                let group = (event.dest_asset_key.clone(), sorted(asset_extra), sorted(extra));
                groups.push((group, BTreeSet::new()));
                groups.len() - 1
            });
            groups[place].1.insert(alias.clone());
        }
        groups
    }
}

impl Key {
    fn as_asset(&self, extra: Value) -> Asset {
        Asset {
            name: self.name.clone(),
            uri: self.uri.clone(),
            group: "asset".to_owned(),
            extra: Json::from(extra),
            watchers: Vec::new(),
            access_control: None,
        }
    }
}

/// What the run says of every change.
fn of_run(facts: &Facts) -> Change<'_> {
    static NO_ALIASES: BTreeSet<String> = BTreeSet::new();
    static NOTHING: Value = Value::Null;
    let source = Source {
        key: &facts.key,
        try_number: facts.try_number,
        logical_date: facts.run.logical_date,
        team_name: facts.team_name.as_deref(),
    };
    Change {
        asset_id: 0,
        name: "",
        uri: "",
        aliases: &NO_ALIASES,
        extra: &NOTHING,
        partition_key: facts.run.partition_key.as_deref(),
        partition_date: facts.run.partition_date,
        source: Some(source),
    }
}

fn check_key(key: &str) -> Result<(), NoOutlets> {
    let length = key.chars().count();
    if key.trim().is_empty() {
        let shown = key.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
        let message =
            format!("partition_key in outlet event must not be empty or whitespace-only; got '{shown}'.");
        return Err(NoOutlets::PartitionKey(message));
    }
    if length > MAX_KEY_LENGTH {
        let message = format!(
            "partition_key in outlet event must be at most {MAX_KEY_LENGTH} characters; got {length}."
        );
        return Err(NoOutlets::PartitionKey(message));
    }
    Ok(())
}

fn asset_key(outlet: &AssetProfile) -> Option<Key> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let is_asset = outlet.kind == "Asset";
    is_asset.then(|| Some(Key { name: given(&outlet.name)?, uri: given(&outlet.uri)? })).flatten()
}

fn named(
    outlets: &[AssetProfile],
    kind: &str,
    name: impl Fn(&AssetProfile) -> Option<&String>,
) -> BTreeSet<String> {
    let of_kind = outlets.iter().filter(|outlet| outlet.kind == kind);
    of_kind.filter_map(name).filter(|name| !name.is_empty()).cloned().collect()
}

fn strs(texts: &BTreeSet<String>) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str)
}

/// The same with the keys of every object in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let sorted: BTreeMap<&String, Value> =
                entries.iter().map(|(key, value)| (key, sorted(value))).collect();
            sorted.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        scalar => scalar.clone(),
    }
}

fn empty() -> Value {
    json!({})
}
