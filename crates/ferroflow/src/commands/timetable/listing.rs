//! Runs as they are printed.

use std::io::{self, Write};

use ferroflow_model::timetable::{RunInfo, Timetable, Zone};
use jiff::Timestamp;

use super::crons;
use super::moment::Style;
use crate::output::{Format, Records, note, on_one_line};

const COLUMNS: [&str; 7] = [
    "run",
    "run_after",
    "run_after_utc",
    "data_interval_start",
    "data_interval_end",
    "partition_key",
    "note",
];

/// What is known about the runs of a timetable.
pub(super) struct Listing<'t> {
    pub(super) timetable: &'t Timetable,
    /// The zone in which times are shown.
    pub(super) shown: &'t Zone,
    pub(super) runs: Vec<RunInfo>,
    /// One per run.
    pub(super) notes: Vec<Option<String>>,
    /// Why there are no more, if there are none.
    pub(super) ending: Option<String>,
}

impl Listing<'_> {
    pub(super) fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.print_for_people(out)?,
            Format::Plain => self.records(Style::Iso).without_empty_columns().print(format, out)?,
            Format::Json | Format::Yaml => self.records(Style::Iso).print(format, out)?,
        }
        match &self.ending {
            Some(ending) if format != Format::Table => note(ending),
            _ => Ok(()),
        }
    }

    fn print_for_people(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print_heading(out)?;
        if !self.runs.is_empty() {
            writeln!(out)?;
            let style = Style::for_people(self.times());
            self.records(style).without_empty_columns().print(Format::Table, out)?;
        }
        match &self.ending {
            Some(ending) => writeln!(out, "\n{}", on_one_line(ending)),
            None => Ok(()),
        }
    }

    fn print_heading(&self, out: &mut dyn Write) -> io::Result<()> {
        let own = crons(self.timetable).first().map_or(self.shown, |cron| cron.zone());
        let elsewhere =
            if own == self.shown { String::new() } else { format!(" (times are shown in {})", self.shown) };
        for (name, value) in [
            ("schedule", self.timetable.summary()),
            ("in words", self.timetable.description()),
            ("timetable", self.timetable.type_name().to_owned()),
            ("timezone", format!("{own}{elsewhere}")),
        ] {
            if !value.is_empty() {
                writeln!(out, "{name:<10} {}", on_one_line(&value))?;
            }
        }
        Ok(())
    }

    fn records(&self, style: Style) -> Records {
        let rows = (1..).zip(self.runs.iter().zip(&self.notes));
        let rows = rows.map(|(number, (run, note)): (u32, _)| self.row(number, run, note.as_ref(), style));
        Records::new(COLUMNS.to_vec(), rows.collect())
    }

    fn row(&self, number: u32, run: &RunInfo, note: Option<&String>, style: Style) -> Vec<Option<String>> {
        let is_for_people = style != Style::Iso;
        let is_utc_shown_twice = is_for_people && *self.shown == Zone::UTC;
        vec![
            Some(number.to_string()),
            Some(style.local_with_weekday(run.run_after, self.shown)),
            (!is_utc_shown_twice).then(|| style.utc(run.run_after)),
            run.data_interval.map(|interval| style.local(interval.start, self.shown)),
            run.data_interval.map(|interval| style.local(interval.end, self.shown)),
            run.partition_key.clone(),
            // In a table, nothing would be `None`.
            note.cloned().or(is_for_people.then(String::new)),
        ]
    }

    fn times(&self) -> impl Iterator<Item = Timestamp> {
        let of_interval = |run: &RunInfo| run.data_interval.map(|interval| [interval.start, interval.end]);
        let intervals = self.runs.iter().filter_map(of_interval).flatten();
        self.runs.iter().map(|run| run.run_after).chain(intervals)
    }
}
