//! `ferroflow timetable`

mod clock_changes;
mod document;
mod listing;
mod moment;
mod preview;
mod runs;
mod schedule;

use std::io::Write;

use anyhow::Result;
use clap::Subcommand;
use ferroflow_config::Environment;
use ferroflow_model::timetable::{Timetable, ZonedCron};

const EXAMPLE: &str = "\
Example: ferroflow timetable preview \"0 6 * * MON-FRI\" --timezone America/New_York --from 2026-03-01";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLE)]
pub(crate) enum TimetableCommand {
    /// List the runs that a schedule makes, with their data intervals and the changes of the clocks
    ///
    /// What is listed are the runs of a DAG with this schedule, the start date --from, the end date --until and
    /// catchup. Neither the database nor a DAG file is read, and nothing is changed.
    #[command(override_usage = preview::USAGE, after_help = preview::EXAMPLES)]
    Preview(preview::PreviewArgs),
}

pub(crate) fn run(command: &TimetableCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    match command {
        TimetableCommand::Preview(args) => preview::run(args, environment, out),
    }
}

/// The cron expressions of a timetable, which share one zone.
fn crons(timetable: &Timetable) -> Vec<&ZonedCron> {
    match without_assets(timetable) {
        Timetable::CronDataInterval(cron) => vec![cron],
        Timetable::CronTrigger(trigger) => vec![&trigger.cron],
        Timetable::CronPartition(partition) => vec![&partition.trigger.cron],
        Timetable::MultipleCronTrigger(triggers) => {
            triggers.triggers().iter().map(|trigger| &trigger.cron).collect()
        }
        _ => Vec::new(),
    }
}

/// What a timetable does by itself, whatever happens to assets.
fn without_assets(timetable: &Timetable) -> &Timetable {
    match timetable {
        Timetable::AssetOrTime { time, .. } => without_assets(time),
        timetable => timetable,
    }
}
