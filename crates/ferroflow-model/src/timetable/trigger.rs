//! Timetables that run at given times; a data interval, if wanted, ends with the run.

use jiff::{SignedDuration, Timestamp};

use super::delta::Delta;
use super::error::Result;
use super::schedule::Schedule;
use super::zoned_cron::ZonedCron;
use super::{DataInterval, Restriction, RunInfo};

/// Runs at the times of a cron expression.
#[derive(Clone, Debug, PartialEq)]
pub struct CronTrigger {
    /// When.
    pub cron: ZonedCron,
    /// How far back the data interval of a run reaches.
    pub interval: Delta,
    /// What to do about the time just passed when nothing says when to start.
    pub run_immediately: RunImmediately,
}

/// Runs at fixed steps.
#[derive(Clone, Debug, PartialEq)]
pub struct DeltaTrigger {
    /// The step.
    pub delta: Delta,
    /// How far back the data interval of a run reaches.
    pub interval: Delta,
}

/// Runs whenever one of several cron expressions says so.
#[derive(Clone, Debug, PartialEq)]
pub struct MultipleCronTrigger(Vec<CronTrigger>);

/// Whether a DAG without a start date begins with the time that has just passed or with the one to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunImmediately {
    /// With the past one.
    Always,
    /// With the past one if it is no longer ago than this.
    Within(SignedDuration),
    /// With the past one if no more than a tenth of the time to the next has gone by, or five minutes. This is
    /// also what `False` means in Airflow.
    WithinATenth,
}

impl CronTrigger {
    pub(super) fn next_run(
        &self,
        last: Option<DataInterval>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Result<Option<RunInfo>> {
        let time = self.next_time(last.map(|last| last.end), restriction, now)?;
        time.map(|time| ending(time, &self.interval)).transpose()
    }

    /// The time of the next run, given the time of the last one.
    pub(super) fn next_time(
        &self,
        last: Option<Timestamp>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Result<Option<Timestamp>> {
        next_time(&self.cron, last, restriction, now, || self.first_time(now))
    }

    pub(super) fn manual_interval(&self, run_after: Timestamp) -> Result<DataInterval> {
        interval_before(run_after, &self.interval)
    }

    fn first_time(&self, now: Timestamp) -> Result<Timestamp> {
        let past = self.cron.align_to_previous(now)?;
        let next = self.cron.align_to_next(now)?;
        let patience = match self.run_immediately {
            RunImmediately::Always => return Ok(past),
            RunImmediately::Within(patience) => patience,
            RunImmediately::WithinATenth => {
                let tenth = tenth_of(next.duration_since(past));
                tenth.max(SignedDuration::from_mins(5))
            }
        };
        Ok(if now.duration_since(past) <= patience { past } else { next })
    }
}

impl DeltaTrigger {
    pub(super) fn next_run(
        &self,
        last: Option<DataInterval>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Result<Option<RunInfo>> {
        let time = next_time(&self.delta, last.map(|last| last.end), restriction, now, || Ok(now))?;
        time.map(|time| ending(time, &self.interval)).transpose()
    }

    pub(super) fn manual_interval(&self, run_after: Timestamp) -> Result<DataInterval> {
        interval_before(run_after, &self.interval)
    }
}

impl MultipleCronTrigger {
    /// Several triggers, of which there must be at least one; they share zone, interval and beginning.
    pub fn new(triggers: Vec<CronTrigger>) -> Option<Self> {
        (!triggers.is_empty()).then_some(Self(triggers))
    }

    /// The triggers, one per expression.
    pub fn triggers(&self) -> &[CronTrigger] {
        &self.0
    }

    /// Asks every expression. With catchup the earliest run is next; without, the latest of those that are
    /// due, or else the earliest to come. What counts is the logical date, which is the start of the interval.
    pub(super) fn next_run(
        &self,
        last: Option<DataInterval>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Result<Option<RunInfo>> {
        let mut best: Option<(i64, RunInfo)> = None;
        for trigger in &self.0 {
            let Some(run) = trigger.next_run(last, restriction, now)? else { continue };
            let Some(interval) = run.data_interval else { continue };
            let is_due = !restriction.catchup && interval.start <= now;
            let order =
                if is_due { -interval.start.as_microsecond() } else { interval.start.as_microsecond() };
            if best.as_ref().is_none_or(|(first, _)| order < *first) {
                best = Some((order, run));
            }
        }
        Ok(best.map(|(_, run)| run))
    }

    pub(super) fn manual_interval(&self, run_after: Timestamp) -> Result<DataInterval> {
        // The triggers share one interval, so the first speaks for all.
        self.0[0].manual_interval(run_after)
    }
}

fn next_time(
    schedule: &impl Schedule,
    last: Option<Timestamp>,
    restriction: &Restriction,
    now: Timestamp,
    first_time: impl FnOnce() -> Result<Timestamp>,
) -> Result<Option<Timestamp>> {
    let time = if restriction.catchup {
        match (last, restriction.earliest) {
            (Some(last), _) => schedule.next(last)?,
            (None, None) => first_time()?,
            (None, Some(earliest)) => schedule.align_to_next(earliest)?,
        }
    } else {
        let mut time = schedule.align_to_previous(now)?;
        match (last, restriction.earliest) {
            (Some(last), _) => time = time.max(schedule.next(last)?),
            (None, None) => time = time.max(first_time()?),
            (None, Some(_)) => {}
        }
        if let Some(earliest) = restriction.earliest {
            time = time.max(schedule.align_to_next(earliest)?);
        }
        time
    };
    let is_over = restriction.latest.is_some_and(|latest| latest < time);
    Ok((!is_over).then_some(time))
}

fn ending(time: Timestamp, interval: &Delta) -> Result<RunInfo> {
    let interval = interval_before(time, interval)?;
    Ok(RunInfo::over(interval.start, interval.end))
}

fn interval_before(end: Timestamp, interval: &Delta) -> Result<DataInterval> {
    Ok(DataInterval { start: interval.previous(end)?, end })
}

/// A tenth, rounded to the microsecond as Python divides.
fn tenth_of(duration: SignedDuration) -> SignedDuration {
    let micros = duration.as_micros();
    let (tenth, rest) = (micros.div_euclid(10), micros.rem_euclid(10));
    let rounds_up = rest > 5 || (rest == 5 && tenth.rem_euclid(2) == 1);
    let tenth = tenth + i128::from(rounds_up);
    SignedDuration::from_micros(i64::try_from(tenth).unwrap_or(i64::MAX))
}
