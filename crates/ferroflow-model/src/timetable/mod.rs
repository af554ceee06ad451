//! When a DAG runs: Airflow's timetables as values.
//!
//! A [`Timetable`] is decoded from a serialized DAG and then asked: what is the [next run](Timetable::next_run),
//! given the last one, the bounds of the DAG and the time; which [interval](Timetable::manual_interval) does a
//! manual run stand for; which [runs](Timetable::runs_between) does a backfill make. Answers are Airflow
//! 3.3.2's to the microsecond, also on days on which clocks change. Every evaluation takes bounded work.

mod calendar_names;
pub mod cron;
mod data_interval;
mod decode;
mod delta;
mod error;
mod events;
mod facts;
pub(crate) mod key_format;
pub(crate) mod local_time;
mod partition;
mod partitioned_asset;
mod relative_delta;
mod run_id;
mod runs_between;
mod schedule;
mod timedelta;
mod trigger;
mod zone;
mod zoned_cron;

use jiff::Timestamp;

use crate::Json;
use crate::asset::AssetCondition;

pub use delta::{Delta, InvalidDuration};
pub use error::NoRun;
pub use events::Events;
pub use facts::{Facts, InvalidTimetable};
pub use key_format::KeyMismatch;
pub use partition::CronPartition;
pub use partitioned_asset::{PartitionDate, PartitionMapperInfo, PartitionedAsset};
pub use relative_delta::RelativeDelta;
pub use run_id::{asset_run_id, backfill_run_id};
pub use runs_between::RunsBetween;
pub(crate) use timedelta::total_seconds;
pub use trigger::{CronTrigger, DeltaTrigger, MultipleCronTrigger, RunImmediately};
pub use zone::{UnknownZone, Zone};
pub use zoned_cron::ZonedCron;

use error::Result;

/// When a DAG runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Timetable {
    /// Never by itself: `schedule=None`.
    Null,
    /// Never by itself; a trigger names the partition of its run.
    PartitionedAtRuntime,
    /// One time, as soon as possible: `@once`.
    Once,
    /// Again and again, one run at a time: `@continuous`.
    Continuous,
    /// When assets are updated.
    AssetTriggered(AssetCondition),
    /// When partitions of assets are updated.
    PartitionedAsset(Box<PartitionedAsset>),
    /// When assets are updated, and at times.
    AssetOrTime {
        /// Which assets.
        assets: AssetCondition,
        /// At which times.
        time: Box<Timetable>,
    },
    /// At the end of each interval between two times of a cron expression.
    CronDataInterval(ZonedCron),
    /// At the end of each interval of a length.
    DeltaDataInterval(Delta),
    /// At the times of a cron expression.
    CronTrigger(CronTrigger),
    /// At steps of a length.
    DeltaTrigger(DeltaTrigger),
    /// At the times of several cron expressions.
    MultipleCronTrigger(MultipleCronTrigger),
    /// At the times of a cron expression, once per partition.
    CronPartition(CronPartition),
    /// At listed times.
    Events(Events),
    /// As a class of a plugin says, which the Python bridge evaluates.
    Custom(Custom),
}

/// A custom timetable.
#[derive(Clone, Debug, PartialEq)]
pub struct Custom {
    /// The import path of the class.
    pub class: String,
    /// What it serialized itself to.
    pub data: Json,
}

/// The span of data that a run works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataInterval {
    /// From here,
    pub start: Timestamp,
    /// up to here.
    pub end: Timestamp,
}

impl DataInterval {
    /// The interval of no length.
    pub fn exact(at: Timestamp) -> Self {
        Self { start: at, end: at }
    }
}

/// A run that a timetable asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// The earliest time at which it may start.
    pub run_after: Timestamp,
    /// What it works on; runs of partitions have none.
    pub data_interval: Option<DataInterval>,
    /// The date of its partition,
    pub partition_date: Option<Timestamp>,
    /// and the key made of it.
    pub partition_key: Option<String>,
}

impl RunInfo {
    /// The start of the data interval: what identifies a run of a schedule.
    pub fn logical_date(&self) -> Option<Timestamp> {
        self.data_interval.map(|interval| interval.start)
    }

    fn over(start: Timestamp, end: Timestamp) -> Self {
        let interval = DataInterval { start, end };
        Self { run_after: end, data_interval: Some(interval), partition_date: None, partition_key: None }
    }

    fn exact(at: Timestamp) -> Self {
        Self::over(at, at)
    }
}

/// The bounds that a DAG puts on its schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    /// No run stands for a time before this: the least start date of DAG and tasks.
    pub earliest: Option<Timestamp>,
    /// Nor for one after this: the end date.
    pub latest: Option<Timestamp>,
    /// Whether runs that were missed are made up for.
    pub catchup: bool,
}

impl Timetable {
    /// The custom timetable that says when runs come, alone or within one of Airflow's. Only Python can
    /// evaluate it.
    pub fn custom(&self) -> Option<&Custom> {
        match self {
            Self::Custom(own) => Some(own),
            Self::AssetOrTime { time, .. } => time.custom(),
            _ => None,
        }
    }

    /// The next run, given the last one that the schedule or a backfill made.
    pub fn next_run(
        &self,
        last: Option<&RunInfo>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Result<Option<RunInfo>> {
        let interval = last.and_then(|last| last.data_interval);
        match self {
            Self::Null | Self::PartitionedAtRuntime | Self::AssetTriggered(_) | Self::PartitionedAsset(_) => {
                Ok(None)
            }
            Self::Once => Ok(once(interval, restriction, now)),
            Self::Continuous => continuous(interval, restriction, now),
            // It has no partitions, nor has what is within: that is asked for the times alone.
            Self::AssetOrTime { time, .. } => match time.as_ref() {
                Self::CronPartition(partition) => partition.trigger.next_run(interval, restriction, now),
                time => time.next_run(last, restriction, now),
            },
            Self::CronDataInterval(cron) => data_interval::next_cron_run(cron, interval, restriction, now),
            Self::DeltaDataInterval(delta) => {
                data_interval::next_delta_run(delta, interval, restriction, now)
            }
            Self::CronTrigger(trigger) => trigger.next_run(interval, restriction, now),
            Self::DeltaTrigger(trigger) => trigger.next_run(interval, restriction, now),
            Self::MultipleCronTrigger(triggers) => triggers.next_run(interval, restriction, now),
            Self::CronPartition(partition) => partition.next_run(last, restriction, now),
            Self::Events(events) => Ok(events.next_run(interval, restriction, now)),
            Self::Custom(custom) => Err(NoRun::Custom(custom.class.clone())),
        }
    }

    /// The data interval of a run that is triggered.
    pub fn manual_interval(&self, run_after: Timestamp) -> Result<DataInterval> {
        match self {
            Self::Null
            | Self::PartitionedAtRuntime
            | Self::Once
            | Self::Continuous
            | Self::AssetTriggered(_)
            | Self::PartitionedAsset(_) => Ok(DataInterval::exact(run_after)),
            Self::AssetOrTime { time, .. } => time.manual_interval(run_after),
            Self::CronDataInterval(cron) => data_interval::manual_cron_interval(cron, run_after),
            Self::DeltaDataInterval(delta) => data_interval::manual_delta_interval(delta, run_after),
            Self::CronTrigger(trigger) => trigger.manual_interval(run_after),
            Self::DeltaTrigger(trigger) => trigger.manual_interval(run_after),
            Self::MultipleCronTrigger(triggers) => triggers.manual_interval(run_after),
            Self::CronPartition(partition) => partition.trigger.manual_interval(run_after),
            Self::Events(events) => Ok(events.manual_interval(run_after)),
            Self::Custom(custom) => Err(NoRun::Custom(custom.class.clone())),
        }
    }

    /// The date that a partition key stands for; `None` if it stands for none.
    pub fn partition_date(&self, key: &str) -> Result<Option<Timestamp>> {
        match self {
            Self::CronPartition(partition) => partition.date_of(key).map(Some),
            Self::PartitionedAsset(partitioned) => match partitioned.date(key)? {
                PartitionDate::At(date) => Ok(Some(date)),
                PartitionDate::NotATime | PartitionDate::Conflict => Ok(None),
            },
            Self::Custom(custom) => Err(NoRun::Custom(custom.class.clone())),
            _ => Ok(None),
        }
    }

    /// How keys of assets are mapped: empty but for partitions of assets. What has come for a partition of the DAG
    /// is thrown away when this changes.
    pub fn rollup_fingerprint(&self) -> Result<serde_json::Value> {
        match self {
            Self::PartitionedAsset(partitioned) => Ok(partitioned.rollup_fingerprint()),
            Self::Custom(custom) => Err(NoRun::Custom(custom.class.clone())),
            _ => Ok(serde_json::json!({})),
        }
    }

    /// A bound on partition dates as a user typed it: what it shows in UTC, read in the timetable's zone.
    pub fn localize_partition_bound(&self, bound: Timestamp) -> Result<Timestamp> {
        match self {
            Self::CronPartition(CronPartition { trigger: CronTrigger { cron, .. }, .. })
            | Self::CronTrigger(CronTrigger { cron, .. })
            | Self::CronDataInterval(cron) => cron.localize(bound),
            Self::Custom(custom) => Err(NoRun::Custom(custom.class.clone())),
            _ => Ok(bound),
        }
    }
}

fn once(last: Option<DataInterval>, restriction: &Restriction, now: Timestamp) -> Option<RunInfo> {
    let at = restriction.earliest.unwrap_or(now);
    let is_over = last.is_some() || restriction.latest.is_some_and(|latest| at > latest);
    (!is_over).then(|| RunInfo::exact(at))
}

fn continuous(
    last: Option<DataInterval>,
    restriction: &Restriction,
    now: Timestamp,
) -> Result<Option<RunInfo>> {
    let first = restriction.earliest.unwrap_or(now);
    let (start, end) = match last {
        // The start date lies ahead and its run exists: the same run again, as long as the last.
        Some(last) if last.end > now => {
            let length = last.end.duration_since(last.start);
            (first, first.checked_add(length).map_err(|_| NoRun::OutOfRange)?)
        }
        Some(last) => (last.end, now),
        None => (first, first.max(now)),
    };
    let is_over = restriction.latest.is_some_and(|latest| end > latest);
    Ok((!is_over).then(|| RunInfo::over(start, end)))
}
