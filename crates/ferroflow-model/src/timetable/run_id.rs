//! The names of runs.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::error::{NoRun, Result};
use super::{Custom, Timetable};
use crate::state::RunType;

/// What the random part of a run id is made of.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

impl Timetable {
    /// The id of a run: its type and the time after which it runs. The runs of a cron schedule of partitions
    /// also have the key in it and eight letters drawn from `random`, since several may be due at one time.
    pub fn run_id(
        &self,
        run_type: RunType,
        run_after: Timestamp,
        partition_key: Option<&str>,
        random: [u8; 8],
    ) -> Result<String> {
        match self {
            Self::Custom(Custom { class, .. }) => Err(NoRun::Custom(class.clone())),
            Self::AssetOrTime { time, .. } if run_type != RunType::AssetTriggered => {
                time.run_id(run_type, run_after, partition_key, random)
            }
            Self::CronPartition(_) => {
                let key = partition_key.filter(|key| !key.is_empty());
                let key = key.map(|key| format!("__{key}")).unwrap_or_default();
                let letters: String = random
                    .iter()
                    .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]))
                    .collect();
                Ok(format!("{run_type}__{}{key}__{letters}", iso_format(run_after)))
            }
            _ => Ok(format!("{run_type}__{}", iso_format(run_after))),
        }
    }
}

/// An instant as Python's `isoformat` has it in UTC: microseconds only if there are any.
pub(super) fn iso_format(at: Timestamp) -> String {
    let at = TimeZone::UTC.to_datetime(at);
    let micros = at.subsec_nanosecond() / 1000;
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{fraction}+00:00",
        at.year(),
        at.month(),
        at.day(),
        at.hour(),
        at.minute(),
        at.second()
    )
}
