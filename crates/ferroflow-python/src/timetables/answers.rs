//! What Python says about timetables, as values.

use ferroflow_model::Json;
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::timetable::{DataInterval, RunInfo, Timetable};
use jiff::{Timestamp, tz::Offset};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// A custom timetable in the words and flags that the `dag` table and the REST API show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of Airflow's, and says nothing of the others"
)]
pub struct Described {
    /// The import path of the class.
    pub type_name: String,
    /// In a few characters.
    pub summary: Option<String>,
    /// In words, where there are any.
    pub description: Option<String>,
    /// Whether runs come back at some interval.
    pub periodic: bool,
    /// Whether the scheduler makes runs at all.
    pub can_be_scheduled: bool,
    /// Whether runs stand for partitions.
    pub partitioned: bool,
    /// The columns of a run that put runs in order.
    pub run_ordering: Vec<String>,
    /// How many runs may be active at once, if the timetable has a say.
    pub active_runs_limit: Option<u32>,
    /// The assets that trigger runs.
    #[serde(rename = "asset_condition", deserialize_with = "condition")]
    pub assets: Option<AssetCondition>,
    /// Whether it derives from the class whose runs official schedulers make when assets change.
    pub asset_triggered: bool,
    /// What the `dag` table keeps about the mappers of partitions: a list.
    #[serde(deserialize_with = "json_text")]
    pub partition_mapper_info: Json,
}

/// The runs that a backfill makes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Runs {
    /// The first of them, in order.
    #[serde(deserialize_with = "run_infos")]
    pub runs: Vec<RunInfo>,
    /// Whether there are more.
    pub truncated: bool,
}

#[derive(Deserialize)]
pub(super) struct Run {
    #[serde(rename = "run_after")]
    after: Instant,
    data_interval: Option<Interval>,
    partition_date: Option<Instant>,
    partition_key: Option<String>,
}

/// Start and end.
#[derive(Deserialize, Serialize)]
pub(super) struct Interval(Instant, Instant);

/// A time as the oldest Python that Airflow runs on reads it.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Instant(pub(super) Timestamp);

pub(super) fn last_run(run: &RunInfo) -> Value {
    json!({
        "run_after": Instant(run.run_after),
        "data_interval": run.data_interval.map(Interval::from),
        "partition_date": run.partition_date.map(Instant),
        "partition_key": run.partition_key,
    })
}

impl TryFrom<String> for Instant {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, jiff::Error> {
        text.parse().map(Self)
    }
}

impl From<Instant> for String {
    fn from(Instant(at): Instant) -> Self {
        at.display_with_offset(Offset::UTC).to_string()
    }
}

impl From<Run> for RunInfo {
    fn from(run: Run) -> Self {
        Self {
            run_after: run.after.0,
            data_interval: run.data_interval.map(DataInterval::from),
            partition_date: run.partition_date.map(|date| date.0),
            partition_key: run.partition_key,
        }
    }
}

impl From<Interval> for DataInterval {
    fn from(Interval(start, end): Interval) -> Self {
        Self { start: start.0, end: end.0 }
    }
}

impl From<DataInterval> for Interval {
    fn from(interval: DataInterval) -> Self {
        Self(Instant(interval.start), Instant(interval.end))
    }
}

fn run_infos<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RunInfo>, D::Error> {
    Ok(Vec::<Run>::deserialize(deserializer)?.into_iter().map(RunInfo::from).collect())
}

fn json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    Ok(Json::from(Value::deserialize(deserializer)?))
}

/// A condition is decoded as that of the timetable which consists of nothing else.
fn condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AssetCondition>, D::Error> {
    let Some(condition) = Option::<Value>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let class = "airflow.timetables.simple.AssetTriggeredTimetable";
    let document = json!({"__type": class, "__var": {"asset_condition": condition}});
    match Timetable::decode(&document.to_string()) {
        Ok(Timetable::AssetTriggered(condition)) => Ok(Some(condition)),
        Ok(_) => Ok(None),
        Err(problems) => Err(serde::de::Error::custom(problems)),
    }
}
