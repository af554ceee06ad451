//! The names of runs.

use jiff::Timestamp;
use jiff::tz::Offset;

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
                Ok(format!("{run_type}__{}{key}__{}", iso_format(run_after, Offset::UTC), letters(random)))
            }
            _ => Ok(format!("{run_type}__{}", iso_format(run_after, Offset::UTC))),
        }
    }
}

/// The id of a run that assets asked for. It ends in eight letters drawn from `random`, since nothing else
/// tells two of them apart.
pub fn asset_run_id(run_after: Timestamp, random: [u8; 8]) -> String {
    format!("{}__{}_{}", RunType::AssetTriggered, iso_format(run_after, Offset::UTC), letters(random))
}

/// The id of a run of a backfill that stands for a date, whatever the timetable calls its runs.
pub fn backfill_run_id(run_after: Timestamp) -> String {
    format!("{}__{}", RunType::Backfill, iso_format(run_after, Offset::UTC))
}

fn letters(random: [u8; 8]) -> String {
    random.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

/// An instant as Python's `isoformat` has it: microseconds only if there are any, and seconds of the offset.
pub(super) fn iso_format(at: Timestamp, offset: Offset) -> String {
    let wall = offset.to_datetime(at);
    let micros = wall.subsec_nanosecond() / 1000;
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    let sign = if offset.is_negative() { '-' } else { '+' };
    let away = offset.seconds().abs();
    let seconds = if away % 60 == 0 { String::new() } else { format!(":{:02}", away % 60) };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{fraction}{sign}{:02}:{:02}{seconds}",
        wall.year(),
        wall.month(),
        wall.day(),
        wall.hour(),
        wall.minute(),
        wall.second(),
        away / 3600,
        away / 60 % 60
    )
}
