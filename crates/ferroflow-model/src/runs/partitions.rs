//! Which partitions of assets make a run.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::assets::{AssetKey, KnownAssets, Missing, missing};
use super::create::NewRun;
use super::turns::{Waiting, take_turns};
use crate::Json;
use crate::asset::AssetCondition;
use crate::partition_mapper::{KeyProblem, MAX_KEY_LENGTH, Shortfall, WaitPolicy};
use crate::state::{RunType, TriggeredBy};
use crate::timetable::PartitionDate;

/// A partition that waits for its assets.
#[derive(Clone, Debug)]
pub struct PendingPartition<'a> {
    /// The id of its row.
    pub id: i64,
    /// The DAG that waits.
    pub dag_id: &'a str,
    /// Whether the file of the DAG is gone.
    pub dag_is_stale: bool,
    /// The key of the partition.
    pub partition_key: &'a str,
    /// The date of the partition that came with the first event, if one did.
    pub partition_date: Option<Timestamp>,
    /// Since when it waits.
    pub created_at: Timestamp,
    /// What the DAG's mappers were when it began to wait. Rows of older versions have none.
    pub fingerprint: Option<&'a Json>,
    /// The active assets that have sent something for it.
    pub assets: &'a [AssetProgress<'a>],
    /// The [date](crate::timetable::PartitionedAsset::date_for) that the mappers of these assets see in its key.
    pub key_date: Result<PartitionDate, KeyProblem>,
}

/// What an asset has sent for a partition, and what its mapper makes of the partition's key.
#[derive(Clone, Debug)]
pub struct AssetProgress<'a> {
    /// The asset.
    pub asset: AssetKey<'a>,
    /// The keys that have come: at least one.
    pub received: BTreeSet<&'a str>,
    /// The keys that [are waited for](crate::partition_mapper::PartitionMapper::to_upstream); `None` if any
    /// will do.
    pub expected: Result<Option<BTreeSet<String>>, KeyProblem>,
    /// How many of them have to come.
    pub wait: WaitPolicy,
}

/// What the newest version of a DAG says of partitions.
#[derive(Clone, Copy, Debug)]
pub struct PartitionedDag<'a> {
    /// Its [mappers](crate::timetable::Timetable::rollup_fingerprint).
    pub fingerprint: &'a Value,
    /// Its condition.
    pub condition: &'a AssetCondition,
    /// Whether it has partitions at all.
    pub is_partitioned: bool,
}

/// What happens to a pending partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It gets this run.
    Create {
        /// The run.
        run: NewRun<'a>,
        /// Why the run has no date, if it should have one.
        no_date: Option<NoDate>,
    },
    /// It began to wait when the mappers were others: its rows are to be deleted.
    Outdated,
    /// It waits.
    Waiting {
        /// For this,
        missing: Missing<'a>,
        /// since these assets have not sent enough.
        lacking: Vec<(AssetKey<'a>, Lacking)>,
    },
    /// It gets no run, whatever comes.
    Refused(NotCreated),
    /// It would get one, but this pass has created enough.
    Postponed,
}

/// Why an asset that has sent something has not sent enough.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lacking {
    /// Keys are missing.
    #[error(transparent)]
    Keys(Shortfall),
    /// Its mapper cannot say what has to come.
    #[error("the partition mapper failed: {0}")]
    MapperFailed(KeyProblem),
}

/// Why a run has no partition date although its key has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDate {
    /// Mappers see different dates in the key.
    #[error("partition mappers see different dates in the key")]
    Conflict,
    /// A mapper cannot read it.
    #[error("the partition mapper failed: {0}")]
    MapperFailed(KeyProblem),
}

/// Why a pending partition gets no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreated {
    /// The file of the DAG is gone.
    #[error("the DAG is stale: its file is gone")]
    Stale,
    /// The DAG cannot be read.
    #[error("the serialized DAG is missing or cannot be read")]
    NoDefinition,
    /// The DAG has no partitions any more.
    #[error("the DAG has no partitions")]
    NotPartitioned,
    /// No run can have such a key.
    #[error("the partition key is blank or longer than {MAX_KEY_LENGTH} characters")]
    BadKey,
}

/// Answers every pending partition: first those that get a run, in the order of their turns, which DAGs take
/// in turn, then those whose turn comes in a later pass, then the others by id. At most `limit` get one.
pub fn decide<'a>(
    pending: &[PendingPartition<'a>],
    dag_of: impl Fn(&str) -> Option<PartitionedDag<'a>>,
    known: &KnownAssets<'_>,
    now: Timestamp,
    limit: usize,
) -> Vec<(i64, Verdict<'a>)> {
    let mut sorted: Vec<&PendingPartition<'a>> = pending.iter().collect();
    sorted.sort_by_key(|row| (row.created_at, row.id));
    let mut lanes: BTreeMap<&str, Vec<Waiting<_>>> = BTreeMap::new();
    let mut others = Vec::new();
    for row in sorted {
        match judge(row, &dag_of, known, now) {
            create @ Verdict::Create { .. } => {
                let waiting = Waiting { since: row.created_at, what: (row.id, create) };
                lanes.entry(row.dag_id).or_default().push(waiting);
            }
            other => others.push((row.id, other)),
        }
    }
    others.sort_by_key(|(id, _)| *id);
    let in_turn = take_turns(lanes.into_values()).into_iter().enumerate().map(|(place, waiting)| {
        let (id, create) = waiting.what;
        (id, if place < limit { create } else { Verdict::Postponed })
    });
    in_turn.chain(others).collect()
}

/// What a partition would get if there were no other.
fn judge<'a>(
    row: &PendingPartition<'a>,
    dag_of: impl Fn(&str) -> Option<PartitionedDag<'a>>,
    known: &KnownAssets<'_>,
    now: Timestamp,
) -> Verdict<'a> {
    if row.dag_is_stale {
        return Verdict::Refused(NotCreated::Stale);
    }
    let Some(dag) = dag_of(row.dag_id) else { return Verdict::Refused(NotCreated::NoDefinition) };
    if !row.fingerprint.is_some_and(|stamped| is_same(stamped, dag.fingerprint)) {
        return Verdict::Outdated;
    }
    if !dag.is_partitioned {
        return Verdict::Refused(NotCreated::NotPartitioned);
    }
    if row.partition_key.trim().is_empty() || row.partition_key.chars().count() > MAX_KEY_LENGTH {
        return Verdict::Refused(NotCreated::BadKey);
    }
    let (mut there, mut lacking) = (BTreeSet::new(), Vec::new());
    for asset in row.assets {
        match has_enough(asset) {
            Ok(()) => _ = there.insert(asset.asset),
            Err(reason) => lacking.push((asset.asset, reason)),
        }
    }
    if let Some(missing) = missing(dag.condition, &there, known) {
        lacking.sort_by_key(|(asset, _)| *asset);
        return Verdict::Waiting { missing, lacking };
    }
    let (partition_date, no_date) = match partition_date(row) {
        Ok(date) => (date, None),
        Err(reason) => (None, Some(reason)),
    };
    let run = NewRun {
        run_type: RunType::AssetTriggered,
        triggered_by: TriggeredBy::Asset,
        run_after: now,
        logical_date: None,
        data_interval: None,
        partition_key: Some(row.partition_key),
        partition_date,
    };
    Verdict::Create { run, no_date }
}

/// Whether two fingerprints mean the same. The first has passed through a database, which may order keys in its
/// own way.
fn is_same(stamped: &Json, current: &Value) -> bool {
    stamped.value().is_ok_and(|stamped| is_same_value(&stamped, current))
}

fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| is_same_value(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_value(one, other))
        }
        // Databases write 1.0 as 1.
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

fn has_enough(asset: &AssetProgress<'_>) -> Result<(), Lacking> {
    match &asset.expected {
        Err(problem) => Err(Lacking::MapperFailed(problem.clone())),
        Ok(None) => Ok(()),
        Ok(Some(keys)) => asset.wait.judge(keys, &asset.received).map_err(Lacking::Keys),
    }
}

/// The date of a run: the one that all mappers of time see in its key. If none is one of time, the date that
/// the first event had.
fn partition_date(row: &PendingPartition<'_>) -> Result<Option<Timestamp>, NoDate> {
    match &row.key_date {
        Ok(PartitionDate::NotATime) => Ok(row.partition_date),
        Ok(PartitionDate::At(date)) => Ok(Some(*date)),
        Ok(PartitionDate::Conflict) => Err(NoDate::Conflict),
        Err(problem) => Err(NoDate::MapperFailed(problem.clone())),
    }
}
