//! Whether the assets that a DAG waits for are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;

use crate::asset::{AssetCondition, AssetRef};

/// What identifies an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssetKey<'a> {
    /// Its name,
    pub name: &'a str,
    /// and where it is.
    pub uri: &'a str,
}

/// What conditions mention by other means than an asset's name and URI.
#[derive(Clone, Debug, Default)]
pub struct KnownAssets<'a> {
    /// The assets that each alias stands for by now, active or not.
    pub of_alias: BTreeMap<&'a str, BTreeSet<AssetKey<'a>>>,
    /// The active asset of each name.
    pub active_by_name: BTreeMap<&'a str, AssetKey<'a>>,
    /// The active asset at each URI.
    pub active_by_uri: BTreeMap<&'a str, AssetKey<'a>>,
}

/// What a condition still waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing<'c> {
    /// This asset.
    Asset(AssetKey<'c>),
    /// An asset that this alias stands for; it may stand for none yet.
    Alias(&'c str),
    /// The asset of this name or URI; there may be none that is active.
    Ref(&'c AssetRef),
    /// Every one of these.
    AllOf(Vec<Missing<'c>>),
    /// At least one of these. If there are none, nothing can help.
    OneOf(Vec<Missing<'c>>),
}

/// An asset that waits in the queue of a DAG.
#[derive(Clone, Copy, Debug)]
pub struct QueuedAsset<'a> {
    /// The DAG.
    pub target_dag_id: &'a str,
    /// The asset.
    pub asset: AssetKey<'a>,
    /// When it was queued: at the first event that no run has consumed.
    pub created_at: Timestamp,
    /// Whether the row of the DAG has a condition on assets.
    pub dag_has_asset_expression: bool,
}

/// What the queue of a DAG amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueVerdict<'a> {
    /// The condition is met, since this time.
    Ready(Timestamp),
    /// It is not.
    Waiting(Missing<'a>),
    /// The DAG does not wait for assets any more: its rows are to be deleted.
    Stale,
    /// The condition cannot be read at the moment; the rows stay.
    NoCondition,
}

/// Judges the queue of every DAG that has one. The conditions are those of the newest serialized DAGs.
pub fn judge_queues<'a>(
    rows: &[QueuedAsset<'a>],
    condition_of: impl Fn(&str) -> Option<&'a AssetCondition>,
    known: &KnownAssets<'_>,
) -> BTreeMap<&'a str, QueueVerdict<'a>> {
    let mut queues: BTreeMap<&str, Vec<&QueuedAsset<'a>>> = BTreeMap::new();
    for row in rows {
        queues.entry(row.target_dag_id).or_default().push(row);
    }
    let judged = queues.into_iter().map(|(dag_id, rows)| {
        let verdict = match condition_of(dag_id) {
            _ if rows.iter().any(|row| !row.dag_has_asset_expression) => QueueVerdict::Stale,
            None => QueueVerdict::NoCondition,
            Some(condition) => judge_queue(condition, &rows, known),
        };
        (dag_id, verdict)
    });
    judged.collect()
}

fn judge_queue<'a>(
    condition: &'a AssetCondition,
    rows: &[&QueuedAsset<'a>],
    known: &KnownAssets<'_>,
) -> QueueVerdict<'a> {
    let there = rows.iter().map(|row| row.asset).collect();
    match (missing(condition, &there, known), rows.iter().map(|row| row.created_at).max()) {
        (Some(missing), _) => QueueVerdict::Waiting(missing),
        (None, Some(newest)) => QueueVerdict::Ready(newest),
        // A condition on nothing is always met, and never by an event.
        (None, None) => QueueVerdict::NoCondition,
    }
}

/// What a condition waits for, given the assets that are there; `None` if it is met.
pub fn missing<'c>(
    condition: &'c AssetCondition,
    there: &BTreeSet<AssetKey<'_>>,
    known: &KnownAssets<'_>,
) -> Option<Missing<'c>> {
    match condition {
        AssetCondition::Asset(asset) => {
            let key = AssetKey { name: &asset.name, uri: &asset.uri };
            (!there.contains(&key)).then_some(Missing::Asset(key))
        }
        AssetCondition::Alias(alias) => {
            let mut assets = known.of_alias.get(alias.name.as_str()).into_iter().flatten();
            (!assets.any(|key| there.contains(key))).then_some(Missing::Alias(&alias.name))
        }
        AssetCondition::Ref(reference) => {
            let key = match reference {
                AssetRef::Name(name) => known.active_by_name.get(name.as_str()),
                AssetRef::Uri(uri) => known.active_by_uri.get(uri.as_str()),
            };
            (!key.is_some_and(|key| there.contains(key))).then_some(Missing::Ref(reference))
        }
        AssetCondition::All(parts) => {
            let lacks: Vec<_> = parts.iter().filter_map(|part| missing(part, there, known)).collect();
            (!lacks.is_empty()).then(|| Missing::joined(lacks, Missing::AllOf))
        }
        AssetCondition::Any(parts) => {
            let lacks: Option<Vec<_>> = parts.iter().map(|part| missing(part, there, known)).collect();
            lacks.map(|lacks| Missing::joined(lacks, Missing::OneOf))
        }
    }
}

impl Missing<'_> {
    /// A list of one is that one.
    fn joined(mut lacks: Vec<Self>, join: impl Fn(Vec<Self>) -> Self) -> Self {
        match (lacks.pop(), lacks.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                lacks.extend(last);
                join(lacks)
            }
        }
    }
}

impl fmt::Display for AssetKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asset {:?} at {:?}", self.name, self.uri)
    }
}

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, parts) = match self {
            Self::Asset(key) => return key.fmt(f),
            Self::Alias(name) => return write!(f, "an asset of alias {name:?}"),
            Self::Ref(AssetRef::Name(name)) => return write!(f, "the active asset {name:?}"),
            Self::Ref(AssetRef::Uri(uri)) => return write!(f, "the active asset at {uri:?}"),
            Self::OneOf(parts) if parts.is_empty() => {
                return f.write_str("one of no assets, which cannot come");
            }
            Self::AllOf(parts) => ("all of", parts),
            Self::OneOf(parts) => ("one of", parts),
        };
        let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        write!(f, "{before} ({})", parts.join(", "))
    }
}
