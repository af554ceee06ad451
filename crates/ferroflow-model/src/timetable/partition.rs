//! A timetable whose runs stand for partitions: each has a date and a key made of it.

use jiff::Timestamp;

use super::error::{NoRun, Result};
use super::key_format::{self, KeyMismatch};
use super::local_time::{LocalTime, Place};
use super::trigger::CronTrigger;
use super::{Restriction, RunInfo};

/// Runs at the times of a cron expression, for the partition that lies some ticks away.
#[derive(Clone, Debug, PartialEq)]
pub struct CronPartition {
    /// When. The interval of the trigger has no length; runs of partitions have none at all.
    pub trigger: CronTrigger,
    /// How many ticks of the expression the partition lies after the run; negative for before.
    pub run_offset: i32,
    /// How the date becomes a key, in `strftime`'s terms.
    pub key_format: Box<str>,
}

impl CronPartition {
    pub(super) fn next_run(
        &self,
        last: Option<&RunInfo>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Result<Option<RunInfo>> {
        let last = last.map(|last| last.run_after);
        let Some(run_after) = self.trigger.next_time(last, restriction, now)? else { return Ok(None) };
        let date = self.partition_of(run_after)?;
        Ok(Some(RunInfo { run_after, ..self.partition(date) }))
    }

    /// The partitions between two bounds, both included. What the bounds' clocks show in UTC is read as time of
    /// the timetable's zone, so that a backfill "from the 1st" starts with the 1st there.
    pub(super) fn between(&self, earliest: Timestamp, latest: Timestamp) -> Result<Partitions<'_>> {
        let earliest = self.trigger.cron.localize(earliest)?;
        let latest = self.trigger.cron.localize(latest)?;
        Ok(Partitions { timetable: self, next: Some(self.trigger.cron.align_to_next(earliest)), latest })
    }

    /// The date that a key was made of.
    pub(super) fn date_of(&self, key: &str) -> Result<Timestamp> {
        let time = key_format::parse(key, &self.key_format)?;
        if time.place != Place::Nowhere {
            return Err(KeyMismatch::Offset.into());
        }
        self.trigger.cron.zone().instant(time.wall).ok_or(NoRun::OutOfRange)
    }

    fn partition_of(&self, run_after: Timestamp) -> Result<Timestamp> {
        let mut date = run_after;
        for _ in 0..self.run_offset.unsigned_abs() {
            let cron = &self.trigger.cron;
            date = if self.run_offset > 0 { cron.next(date)? } else { cron.previous(date)? };
        }
        Ok(date)
    }

    fn partition(&self, date: Timestamp) -> RunInfo {
        let key = key_format::format(&LocalTime::at(date, self.trigger.cron.zone()), &self.key_format);
        RunInfo { run_after: date, data_interval: None, partition_date: Some(date), partition_key: Some(key) }
    }
}

/// Partitions in the order of their dates.
pub(super) struct Partitions<'t> {
    timetable: &'t CronPartition,
    next: Option<Result<Timestamp>>,
    latest: Timestamp,
}

impl Iterator for Partitions<'_> {
    type Item = Result<RunInfo>;

    fn next(&mut self) -> Option<Result<RunInfo>> {
        match self.next.take()? {
            Ok(date) if date > self.latest => None,
            Ok(date) => {
                self.next = Some(self.timetable.trigger.cron.next(date));
                Some(Ok(self.timetable.partition(date)))
            }
            Err(reason) => Some(Err(reason)),
        }
    }
}
