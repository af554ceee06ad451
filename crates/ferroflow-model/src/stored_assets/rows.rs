//! Which assets and aliases are new, or not as they should be.

use std::collections::{BTreeMap, BTreeSet};

use super::used::{AssetKey, FileAssets};
use crate::Json;
use crate::asset::{Asset, AssetAlias};

/// An asset as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAsset {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
    /// Its group.
    pub group: String,
    /// What its author attached to it.
    pub extra: Json,
    /// Whether an asset of this name, or of this URI, is active: this one, or one that it conflicts with.
    pub is_claimed: bool,
    /// Whether triggers watch it.
    pub is_watched: bool,
}

/// An alias as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAlias {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
}

/// What to do about the assets of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetDifference<'d> {
    /// The ids of those that are stored.
    pub known: BTreeMap<AssetKey<'d>, i64>,
    /// To be added.
    pub new: Vec<&'d Asset>,
    /// To be rewritten: the id, and what should be there.
    pub changed: Vec<(i64, &'d Asset)>,
    /// To be made active if nothing conflicts with them. Those that were there before come before new ones, and then
    /// whichever is mentioned first.
    pub idle: Vec<AssetKey<'d>>,
    /// The ids of those that triggers watch.
    pub watched: BTreeSet<i64>,
}

/// What to do about the aliases of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AliasDifference<'d> {
    /// The ids of those that are stored.
    pub known: BTreeMap<&'d str, i64>,
    /// To be added.
    pub new: Vec<&'d AssetAlias>,
    /// To be rewritten: the id, and what should be there.
    pub changed: Vec<(i64, &'d AssetAlias)>,
}

/// Compares the assets of a file with those of their names that are stored.
pub fn asset_difference<'d>(file: &FileAssets<'d>, stored: &[StoredAsset]) -> AssetDifference<'d> {
    let rows: BTreeMap<AssetKey<'_>, &StoredAsset> =
        stored.iter().map(|row| ((&*row.name, &*row.uri), row)).collect();
    let mut difference = AssetDifference::default();
    for (&key, &asset) in &file.assets {
        let Some(row) = rows.get(&key) else {
            difference.new.push(asset);
            continue;
        };
        difference.known.insert(key, row.id);
        if row.group != asset.group || !same_json(&row.extra, &asset.extra) {
            difference.changed.push((row.id, asset));
        }
        if row.is_watched {
            difference.watched.insert(row.id);
        }
    }
    let (known, new): (Vec<_>, Vec<_>) = file.first_mentions.iter().partition(|key| rows.contains_key(*key));
    let idle = known.into_iter().filter(|key| rows.get(key).is_some_and(|row| !row.is_claimed));
    difference.idle = idle.chain(new).collect();
    difference
}

/// Compares the aliases of a file with those that are stored.
pub fn alias_difference<'d>(file: &FileAssets<'d>, stored: &[StoredAlias]) -> AliasDifference<'d> {
    let rows: BTreeMap<&str, &StoredAlias> = stored.iter().map(|row| (&*row.name, row)).collect();
    let mut difference = AliasDifference::default();
    for (&name, &alias) in &file.aliases {
        let Some(row) = rows.get(name) else {
            difference.new.push(alias);
            continue;
        };
        difference.known.insert(name, row.id);
        if row.group != alias.group {
            difference.changed.push((row.id, alias));
        }
    }
    difference
}

/// Databases give JSON back with other spaces, and some with its keys in another order.
fn same_json(one: &Json, other: &Json) -> bool {
    one == other || matches!((one.value(), other.value()), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::super::used::tests::{alias, asset};
    use super::super::used::{DagAssets, FileAssets};
    use super::*;
    use crate::asset::AssetCondition;
    use serde_json::json;

    fn stored(id: i64, name: &str, group: &str, extra: serde_json::Value) -> StoredAsset {
        StoredAsset {
            id,
            name: name.to_owned(),
            uri: "u".to_owned(),
            group: group.to_owned(),
            extra: Json::from(extra),
            is_claimed: true,
            is_watched: false,
        }
    }

    #[test]
    fn only_what_is_new_or_changed_is_written() {
        let parts = ["same", "new", "group", "extra", "idle"].map(|name| asset(name, "u", "g"));
        let condition =
            AssetCondition::All(parts.into_iter().chain([alias("x"), alias("y"), alias("z")]).collect());
        let dags = [DagAssets { dag_id: "d", condition: Some(&condition), tasks: Vec::new() }];
        let file = FileAssets::of(&dags);
        let mut rows = vec![
            stored(1, "same", "g", json!({})),
            stored(2, "group", "other", json!({})),
            stored(3, "extra", "g", json!({"k": 1})),
            stored(4, "idle", "g", json!({})),
            StoredAsset { uri: "elsewhere".to_owned(), ..stored(5, "new", "g", json!({})) },
        ];
        rows[3].is_claimed = false;
        rows[0].is_watched = true;
        let changes = asset_difference(&file, &rows);
        let ids: Vec<_> = changes.changed.iter().map(|(id, asset)| (*id, &*asset.name)).collect();
        assert_eq!(ids, [(3, "extra"), (2, "group")]);
        assert_eq!(changes.new.iter().map(|asset| &*asset.name).collect::<Vec<_>>(), ["new"]);
        assert_eq!(changes.idle, [("idle", "u"), ("new", "u")]);
        assert_eq!(changes.known.get(&("group", "u")), Some(&2));
        assert_eq!(changes.known.get(&("new", "u")), None);
        assert_eq!(changes.watched, [1].into());

        let row =
            |id, name: &str, group: &str| StoredAlias { id, name: name.to_owned(), group: group.to_owned() };
        let changes = alias_difference(&file, &[row(1, "x", "g"), row(2, "y", "other")]);
        assert_eq!(changes.new.iter().map(|alias| &*alias.name).collect::<Vec<_>>(), ["z"]);
        assert_eq!(changes.changed.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn the_spaces_of_json_and_the_order_of_its_keys_are_no_change() {
        let text = |text: &str| Json::from_text(text.to_owned()).unwrap();
        assert!(same_json(&text(r#"{"a": 1, "b": [2]}"#), &text(r#"{"b":[2],"a":1}"#)));
        assert!(!same_json(&text("[1, 2]"), &text("[2, 1]")));
    }
}
