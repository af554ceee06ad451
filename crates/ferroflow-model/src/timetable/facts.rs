//! What the interface and the database say about a timetable.

use super::{CronTrigger, Timetable};
use crate::asset::AssetCondition;
use crate::timetable::schedule::Schedule;

/// A timetable in the words and flags that the `dag` table and the REST API show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// In a few characters: the expression, or what there is instead.
    pub summary: String,
    /// In words, where there are any.
    pub description: String,
    /// The name of the class; of a custom one its import path.
    pub type_name: String,
    /// Whether runs come back at some interval.
    pub periodic: bool,
    /// Whether the scheduler makes runs at all.
    pub can_be_scheduled: bool,
    /// Whether runs stand for partitions.
    pub partitioned: bool,
    /// How many runs may be active at once, if the timetable has a say.
    pub active_runs_limit: Option<u32>,
    /// The columns of a run that put runs in order.
    pub run_ordering: &'static [&'static str],
}

/// Why a timetable makes no sense, although it can be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimetable {
    /// A step that does not lead forward.
    #[error("the schedule interval must be positive, not {0}")]
    NotPositive(String),
    /// A step that leads nowhere.
    #[error("the schedule interval {0} leads to no date of the calendar (years 1 to 9999)")]
    NoDate(String),
    /// Assets within assets.
    #[error("AssetOrTimeSchedule needs a timetable of times, not another one of assets")]
    NestedAssets,
}

impl Timetable {
    /// Everything that is shown of it. A custom timetable has defaults here; the class itself knows better.
    pub fn facts(&self) -> Facts {
        Facts {
            summary: self.summary(),
            description: self.description(),
            type_name: self.type_name().to_owned(),
            periodic: self.is_periodic(),
            can_be_scheduled: self.can_be_scheduled(),
            partitioned: self.is_partitioned(),
            active_runs_limit: self.active_runs_limit(),
            run_ordering: self.run_ordering(),
        }
    }

    /// The schedule in a few characters.
    pub fn summary(&self) -> String {
        match self {
            Self::Null => "None".to_owned(),
            Self::PartitionedAtRuntime => "PartitionedAtRuntime".to_owned(),
            Self::Once => "@once".to_owned(),
            Self::Continuous => "@continuous".to_owned(),
            Self::AssetTriggered(_) => "Asset".to_owned(),
            Self::PartitionedAsset(_) => "Partitioned Asset".to_owned(),
            Self::AssetOrTime { time, .. } => format!("Asset or {}", time.summary()),
            Self::CronDataInterval(cron) => cron.expression().to_owned(),
            Self::DeltaDataInterval(delta) => delta.to_string(),
            Self::CronTrigger(trigger) => trigger.cron.expression().to_owned(),
            Self::DeltaTrigger(trigger) => trigger.delta.to_string(),
            Self::MultipleCronTrigger(triggers) => {
                joined(triggers.triggers(), |trigger| trigger.cron.expression().to_owned())
            }
            Self::CronPartition(partition) => partition.trigger.cron.expression().to_owned(),
            Self::Events(events) => events.summary.clone(),
            Self::Custom(custom) => class_name(&custom.class).to_owned(),
        }
    }

    /// The schedule in words; empty where there are none.
    pub fn description(&self) -> String {
        match self {
            Self::Null => "Never, external triggers only".to_owned(),
            Self::PartitionedAtRuntime => "Never, partition key(s) set at runtime".to_owned(),
            Self::Once => "Once, as soon as possible".to_owned(),
            Self::Continuous => "As frequently as possible, but only one run at a time.".to_owned(),
            Self::AssetTriggered(_) | Self::PartitionedAsset(_) => "Triggered by assets".to_owned(),
            Self::AssetOrTime { time, .. } => format!("Triggered by assets or {}", time.description()),
            Self::CronDataInterval(cron) => cron.description(),
            Self::CronTrigger(trigger) => trigger.cron.description(),
            Self::MultipleCronTrigger(triggers) => {
                joined(triggers.triggers(), |trigger| trigger.cron.description())
            }
            Self::CronPartition(partition) => partition.trigger.cron.description(),
            Self::Events(events) => events.description.clone(),
            Self::DeltaDataInterval(_) | Self::DeltaTrigger(_) | Self::Custom(_) => String::new(),
        }
    }

    /// The name of the class; of a custom one its import path.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "NullTimetable",
            Self::PartitionedAtRuntime => "PartitionedAtRuntime",
            Self::Once => "OnceTimetable",
            Self::Continuous => "ContinuousTimetable",
            Self::AssetTriggered(_) => "AssetTriggeredTimetable",
            Self::PartitionedAsset(_) => "PartitionedAssetTimetable",
            Self::AssetOrTime { .. } => "AssetOrTimeSchedule",
            Self::CronDataInterval(_) => "CronDataIntervalTimetable",
            Self::DeltaDataInterval(_) => "DeltaDataIntervalTimetable",
            Self::CronTrigger(_) => "CronTriggerTimetable",
            Self::DeltaTrigger(_) => "DeltaTriggerTimetable",
            Self::MultipleCronTrigger(_) => "MultipleCronTriggerTimetable",
            Self::CronPartition(_) => "CronPartitionTimetable",
            Self::Events(_) => "EventsTimetable",
            Self::Custom(custom) => match custom.class.strip_prefix("airflow.sdk.definitions.timetables.") {
                Some(_) => class_name(&custom.class),
                None => &custom.class,
            },
        }
    }

    /// Whether runs come back at some interval.
    pub fn is_periodic(&self) -> bool {
        match self {
            Self::AssetOrTime { time, .. } => time.is_periodic(),
            timetable => !timetable.is_trivial(),
        }
    }

    /// Whether the scheduler makes runs at all.
    pub fn can_be_scheduled(&self) -> bool {
        match self {
            Self::AssetOrTime { time, .. } => time.can_be_scheduled(),
            timetable => !matches!(timetable, Self::Null | Self::PartitionedAtRuntime),
        }
    }

    /// Whether runs stand for partitions.
    pub fn is_partitioned(&self) -> bool {
        matches!(self, Self::CronPartition(_) | Self::PartitionedAsset(_))
    }

    /// How many runs may be active at once, if the timetable has a say.
    pub fn active_runs_limit(&self) -> Option<u32> {
        match self {
            Self::Continuous => Some(1),
            Self::AssetOrTime { time, .. } => time.active_runs_limit(),
            _ => None,
        }
    }

    /// The columns of a run that put runs in order.
    pub fn run_ordering(&self) -> &'static [&'static str] {
        if self.is_trivial() { &["logical_date"] } else { &["data_interval_end", "logical_date"] }
    }

    /// The assets that trigger runs.
    pub fn assets(&self) -> Option<&AssetCondition> {
        match self {
            Self::AssetTriggered(assets) | Self::AssetOrTime { assets, .. } => Some(assets),
            Self::PartitionedAsset(partitioned) => Some(&partitioned.assets),
            _ => None,
        }
    }

    /// Whether the schedule makes sense. A DAG whose schedule does not is not accepted.
    pub fn validate(&self, now: jiff::Timestamp) -> Result<(), InvalidTimetable> {
        let delta = match self {
            Self::DeltaDataInterval(delta) => delta,
            Self::DeltaTrigger(trigger) => &trigger.delta,
            Self::AssetOrTime { time, .. } if time.assets().is_some() => {
                return Err(InvalidTimetable::NestedAssets);
            }
            _ => return Ok(()),
        };
        match delta.next(now) {
            Ok(next) if next <= now => Err(InvalidTimetable::NotPositive(delta.to_string())),
            Ok(_) => Ok(()),
            Err(_) => Err(InvalidTimetable::NoDate(delta.to_string())),
        }
    }

    fn is_trivial(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::PartitionedAtRuntime
                | Self::Once
                | Self::Continuous
                | Self::AssetTriggered(_)
                | Self::PartitionedAsset(_)
                | Self::AssetOrTime { .. }
        )
    }
}

fn joined(triggers: &[CronTrigger], text: impl Fn(&CronTrigger) -> String) -> String {
    triggers.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn class_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
