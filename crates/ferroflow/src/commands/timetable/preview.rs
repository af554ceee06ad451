//! `ferroflow timetable preview`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use ferroflow_config::{Configuration, Environment};
use ferroflow_model::timetable::{Restriction, Timetable, Zone};
use ferroflow_telemetry::clock;

use super::clock_changes::Clocks;
use super::listing::Listing;
use super::moment::{Bound, default_zone, moment, zone};
use super::runs::first_runs;
use super::schedule::DataIntervals;
use super::{crons, document, schedule};
use crate::output::{OutputArgs, note};

pub(super) const USAGE: &str = "\
ferroflow timetable preview [OPTIONS] <SCHEDULE>...
       ferroflow timetable preview [OPTIONS] --file <FILE>";

pub(super) const EXAMPLES: &str = "\
Examples:

  Weekday mornings in New York, when the clocks change in March:
    ferroflow timetable preview \"0 6 * * MON-FRI\" --timezone America/New_York --from 2026-03-01

  The days of January, each with the data interval that its run stands for:
    ferroflow timetable preview @daily --data-intervals --from 2026-01-01 --until 2026-01-31 -n 99

  Every 90 minutes; every month:
    ferroflow timetable preview PT90M
    ferroflow timetable preview P1M --from 2026-01-31

  Several cron expressions, as MultipleCronTriggerTimetable takes them:
    ferroflow timetable preview \"0 6 * * *\" \"30 18 * * FRI\" --timezone Europe/London

  What Airflow has in `data` of the table serialized_dag:
    ferroflow timetable preview --file sales.json

  In a script:
    ferroflow timetable preview @weekly --count 1 -o json | jq -r '.[0].run_after'

JSON and YAML are a list with an object per run: run, run_after, run_after_utc, data_interval_start, \
data_interval_end, partition_key and note. All are texts, or null where there is nothing to say; times are in ISO \
8601. Plain and table leave out columns that have nothing in them, and table tells the schedule in words first. Why \
there are no more runs is said below a table, and for the other formats on standard error.

The exit status is 0 also if there are no runs. It is 1 if a schedule, a file, a time zone, --from, --until or the \
configuration cannot be read or used, and 2 if the command itself is wrong: an unknown option, options that exclude \
each other, a --count outside 1 to 100,000, or a format that -o does not know.";

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    /// A cron expression in quotes, a preset, an ISO 8601 duration, or several cron expressions
    ///
    /// A cron expression has 5 columns (minute, hour, day of month, month, day of week), 6 (and second) or 7 (and
    /// year). Presets are @once, @continuous, @hourly, @daily, @weekly, @monthly, @quarterly and @yearly. A
    /// duration is a step such as P1D, PT90M or P1M.
    #[arg(value_name = "SCHEDULE", required_unless_present = "file", conflicts_with = "file")]
    schedules: Vec<String>,
    /// Read a serialized timetable or DAG in place of SCHEDULE; - is standard input
    ///
    /// A timetable is an object with `__type` and `__var`: what Airflow has under `timetable` in the column `data` of
    /// the table `serialized_dag`. The whole of that column, or its `dag`, will do too.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Time zone of the schedule, and of the times shown: an IANA name, or an offset such as +05:30
    ///
    /// A timetable in a file has its own zone; then this is only where times are shown. Without this option the
    /// zone is that of the file, or else [core] `default_timezone`.
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// Start date: a date, or a time with or without an offset; the default is now
    ///
    /// Without an offset it is what the clocks show in the time zone. One that they skip is moved forward, of one
    /// that they show twice the second is taken, and either is said on standard error.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// End date: no run stands for a time after this; 9999-12-31 is for ever
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// How many runs to list, at most 100,000
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Let each run stand for the interval up to it, whatever [scheduler] `create_cron_data_intervals` says
    ///
    /// This is what Airflow makes of cron expressions, presets and durations where that option is true:
    /// `CronDataIntervalTimetable` and `DeltaDataIntervalTimetable` in place of `CronTriggerTimetable` and
    /// `DeltaTriggerTimetable`. The default of Airflow 3 is false.
    #[arg(long, overrides_with = "no_data_intervals", conflicts_with = "file")]
    data_intervals: bool,
    /// The opposite of --data-intervals
    #[arg(long, overrides_with = "data_intervals", conflicts_with = "file")]
    no_data_intervals: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &PreviewArgs, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let (timetable, shown) = timetable(args, environment)?;
    let told =
        |bound, text: &Option<String>| text.as_deref().map(|text| moment(bound, text, &shown)).transpose();
    let (from, until) = (told(Bound::From, &args.from)?, told(Bound::Until, &args.until)?);
    for remark in from.iter().chain(&until).flat_map(|(_, remarks)| remarks) {
        note(remark)?;
    }
    let (from, until) = (from.map_or_else(clock::now, |(at, _)| at), until.map(|(at, _)| at));
    timetable.validate(from).with_context(|| format!("{} cannot be used", args.source()))?;
    let restriction = Restriction { earliest: Some(from), latest: until, catchup: true };
    let (runs, ending) = first_runs(&timetable, &restriction, from, args.count);
    let notes = Clocks::of(&timetable, &shown).notes(from, &runs);
    Ok(Listing { timetable: &timetable, shown: &shown, runs, notes, ending }
        .print(args.output.output, out)?)
}

impl PreviewArgs {
    /// Where the timetable comes from, for messages.
    fn source(&self) -> String {
        match &self.file {
            Some(path) => format!("the timetable in {}", document::name(path)),
            None => format!("the schedule {:?}", self.schedules.join(" ")),
        }
    }
}

/// The timetable, and the zone to show its times in.
fn timetable(args: &PreviewArgs, environment: &Environment) -> Result<(Timetable, Zone)> {
    let configuration = Configuration::load(environment)?;
    for warning in configuration.warnings() {
        note(&format_args!("warning: {warning}"))?;
    }
    let asked = args.timezone.as_deref().map(zone).transpose().context("--timezone")?;
    let or_default = |zone: Option<Zone>| zone.map_or_else(|| default_zone(&configuration), Ok);
    if let Some(path) = &args.file {
        let timetable = document::read(path)?;
        let own = crons(&timetable).first().map(|cron| cron.zone().clone());
        return Ok((timetable, or_default(asked.or(own))?));
    }
    let zone = or_default(asked)?;
    let data_intervals = DataIntervals {
        wanted: (args.data_intervals || args.no_data_intervals).then_some(args.data_intervals),
        configured: || Ok(configuration.flag("scheduler", "create_cron_data_intervals")?),
    };
    Ok((schedule::timetable(&args.schedules, &zone, data_intervals)?, zone))
}
