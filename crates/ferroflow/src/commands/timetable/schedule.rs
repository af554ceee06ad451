//! A schedule as it stands in a DAG file: cron expressions, a preset or a duration.

use anyhow::{Result, anyhow, bail};
use ferroflow_model::timetable::cron::CronError;
use ferroflow_model::timetable::{
    CronTrigger, Delta, DeltaTrigger, MultipleCronTrigger, RunImmediately, Timetable, Zone, ZonedCron,
};
use jiff::SignedDuration;

const PRESETS: &str = "@once, @continuous, @hourly, @daily, @weekly, @monthly, @quarterly and @yearly";

/// Whether runs stand for data intervals: as asked for, or as configured.
pub(super) struct DataIntervals<F> {
    pub(super) wanted: Option<bool>,
    pub(super) configured: F,
}

/// The timetable that Airflow makes of `schedule=`. Several cron expressions are what
/// `MultipleCronTriggerTimetable` takes.
pub(super) fn timetable(
    schedules: &[String],
    zone: &Zone,
    data_intervals: DataIntervals<impl FnOnce() -> Result<bool>>,
) -> Result<Timetable> {
    match schedules {
        [schedule] => one(schedule, zone, data_intervals),
        several if data_intervals.wanted == Some(true) => bail!(
            "--data-intervals: {} cron expressions together cut time into no intervals; \
             Airflow's MultipleCronTriggerTimetable runs at their times",
            several.len()
        ),
        several => many(several, zone),
    }
}

fn one(
    schedule: &str,
    zone: &Zone,
    data_intervals: DataIntervals<impl FnOnce() -> Result<bool>>,
) -> Result<Timetable> {
    match schedule {
        "None" => return Ok(Timetable::Null),
        "@once" => return Ok(Timetable::Once),
        "@continuous" => return Ok(Timetable::Continuous),
        _ => {}
    }
    // What can be wrong with the schedule comes before what can be wrong with the configuration.
    let with_intervals = || data_intervals.wanted.map_or_else(data_intervals.configured, Ok);
    if is_duration(schedule) {
        let delta: Delta = schedule.parse().map_err(|error| unreadable(schedule, &error))?;
        return Ok(if with_intervals()? {
            Timetable::DeltaDataInterval(delta)
        } else {
            Timetable::DeltaTrigger(DeltaTrigger { delta, interval: NO_INTERVAL })
        });
    }
    let cron = ZonedCron::new(schedule, zone.clone())
        .map_err(|error| unreadable(schedule, &explained(schedule, &error)))?;
    Ok(if with_intervals()? {
        Timetable::CronDataInterval(cron)
    } else {
        Timetable::CronTrigger(trigger(cron))
    })
}

fn many(schedules: &[String], zone: &Zone) -> Result<Timetable> {
    if schedules.iter().all(|schedule| !schedule.contains(char::is_whitespace) && !schedule.starts_with('@'))
    {
        let joined = schedules.join(" ");
        bail!("{joined:?} came as {} schedules: put a cron expression in quotes", schedules.len());
    }
    let mut triggers = Vec::new();
    for schedule in schedules {
        if matches!(schedule.as_str(), "None" | "@once" | "@continuous") || is_duration(schedule) {
            bail!("{schedule:?} stands alone or not at all: only cron expressions can be combined");
        }
        let cron = ZonedCron::new(schedule, zone.clone())
            .map_err(|error| unreadable(schedule, &explained(schedule, &error)))?;
        triggers.push(trigger(cron));
    }
    MultipleCronTrigger::new(triggers)
        .map(Timetable::MultipleCronTrigger)
        .ok_or_else(|| anyhow!("there is no schedule"))
}

const NO_INTERVAL: Delta = Delta::Fixed(SignedDuration::ZERO);

fn trigger(cron: ZonedCron) -> CronTrigger {
    CronTrigger { cron, interval: NO_INTERVAL, run_immediately: RunImmediately::WithinATenth }
}

/// No cron expression begins so.
fn is_duration(schedule: &str) -> bool {
    schedule.trim_start_matches(['+', '-']).starts_with(['P', 'p'])
}

fn unreadable(schedule: &str, reason: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow!("the schedule {schedule:?} cannot be read: {reason}")
}

/// What is wrong, and what helps to mend it.
fn explained(schedule: &str, error: &CronError) -> String {
    match error {
        CronError::Columns(_) if schedule.starts_with('@') => {
            format!("there is no such preset; there are {PRESETS}")
        }
        CronError::Columns(_) => {
            format!("{error}; a step of time is an ISO 8601 duration such as P1D or PT90M")
        }
        CronError::Field { .. } => {
            let more = match schedule.split_whitespace().count() {
                6 => ", second",
                7 => ", second, year",
                _ => "",
            };
            format!("{error}; the columns are minute, hour, day of month, month, day of week{more}")
        }
    }
}
