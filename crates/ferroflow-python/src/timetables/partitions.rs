//! Partitions of DAGs with custom mappers, windows or timetables.

use std::collections::BTreeSet;
use std::num::NonZeroI32;

use ferroflow_model::Json;
use ferroflow_model::partition_mapper::{KeyProblem, WaitPolicy};
use ferroflow_model::timetable::PartitionDate;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::answers::Instant;
use super::{TimetableError, Timetables};

/// What a partition of an asset is to a DAG.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct MappedKey {
    /// The keys of the DAG that it belongs to.
    pub keys: Vec<String>,
    /// How many there may be, if the mapper says so.
    pub max_downstream_keys: Option<u32>,
    /// The date that the partition of the DAG takes over from that of the asset,
    #[serde(deserialize_with = "moment")]
    pub date: Option<Timestamp>,
    /// or why the mapper cannot say.
    pub date_problem: Option<String>,
    /// How the DAG maps keys.
    pub fingerprint: Value,
}

/// A partition that waits, and the assets that have sent something for it: names and URIs.
#[derive(Clone, Debug)]
pub struct WaitingPartition<'a> {
    /// Its key.
    pub key: &'a str,
    /// The assets.
    pub assets: Vec<(&'a str, &'a str)>,
}

/// What partitions of a DAG wait for.
#[derive(Clone, Debug, Deserialize)]
pub struct AwaitedPartitions {
    /// How the DAG maps keys now.
    pub fingerprint: Value,
    /// In the order in which they were asked about.
    pub partitions: Vec<AwaitedPartition>,
}

/// The keys that an asset has to send, and how many of them; no keys if any will do.
pub type ExpectedKeys = Result<Option<(BTreeSet<String>, WaitPolicy)>, KeyProblem>;

/// What a partition waits for.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Partition")]
pub struct AwaitedPartition {
    /// What each asset has to send.
    pub assets: Vec<ExpectedKeys>,
    /// The date that its mappers see in its key.
    pub date: Result<PartitionDate, KeyProblem>,
}

impl Timetables {
    /// Maps the key of an asset, which is given by its name and URI, as when it has changed. `date` is that of the run
    /// that changed it.
    pub async fn map_key(
        &self,
        timetable: &Json,
        (name, uri): (&str, &str),
        key: &str,
        date: Option<Timestamp>,
    ) -> Result<MappedKey, TimetableError> {
        let params = json!({"name": name, "uri": uri, "key": key, "date": date.map(Instant)});
        self.ask("partition.map", timetable, params).await
    }

    /// What partitions of one DAG wait for.
    pub async fn await_partitions(
        &self,
        timetable: &Json,
        waiting: &[WaitingPartition<'_>],
    ) -> Result<AwaitedPartitions, TimetableError> {
        let partitions: Vec<Value> =
            waiting.iter().map(|one| json!({"key": one.key, "assets": one.assets})).collect();
        self.ask("partition.await", timetable, json!({"partitions": partitions})).await
    }
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(Option::<Instant>::deserialize(deserializer)?.map(|instant| instant.0))
}

#[derive(Deserialize)]
struct Partition {
    assets: Vec<Expected>,
    date: Date,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Expected {
    Any,
    Window { keys: BTreeSet<String>, at_least: Option<NonZeroI32> },
    Problem(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Date {
    Moments(Vec<Instant>),
    Problem(String),
}

impl From<Partition> for AwaitedPartition {
    fn from(partition: Partition) -> Self {
        let assets = partition.assets.into_iter().map(|expected| match expected {
            Expected::Any => Ok(None),
            Expected::Window { keys, at_least } => {
                Ok(Some((keys, at_least.map_or(WaitPolicy::All, WaitPolicy::AtLeast))))
            }
            Expected::Problem(problem) => Err(KeyProblem::InPython(problem)),
        });
        let date = match partition.date {
            Date::Moments(moments) => Ok(match moments.as_slice() {
                [] => PartitionDate::NotATime,
                [date] => PartitionDate::At(date.0),
                _ => PartitionDate::Conflict,
            }),
            Date::Problem(problem) => Err(KeyProblem::InPython(problem)),
        };
        Self { assets: assets.collect(), date }
    }
}
