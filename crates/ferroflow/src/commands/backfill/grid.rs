//! Runs in a table with lines all around, as Airflow shows those of a dry run.

use std::io::{self, Write};

use ferroflow_model::python_datetime;
use ferroflow_model::timetable::RunInfo;

const COLUMNS: [&str; 3] = ["logical_date", "partition_key", "partition_date"];
/// A column is so much wider than its name.
const ROOM: usize = 2;

pub(super) fn print(runs: &[RunInfo], out: &mut dyn Write) -> io::Result<()> {
    if runs.is_empty() {
        return writeln!(out);
    }
    let rows: Vec<[String; 3]> = runs.iter().map(cells).collect();
    let width = |n: usize| {
        let widest = rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
        widest.max(COLUMNS[n].len() + ROOM)
    };
    let widths = [width(0), width(1), width(2)];
    let rule = |mark: &str| {
        let parts = widths.map(|width| mark.repeat(width + 2));
        format!("+{}+", parts.join("+"))
    };
    let line = |cells: [&str; 3]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!(" {cell:<width$} "));
        format!("|{}|", padded.collect::<Vec<_>>().join("|"))
    };
    writeln!(out, "{}\n{}\n{}", rule("-"), line(COLUMNS), rule("="))?;
    for row in &rows {
        writeln!(out, "{}\n{}", line(row.each_ref().map(String::as_str)), rule("-"))?;
    }
    Ok(())
}

fn cells(run: &RunInfo) -> [String; 3] {
    let time = |at: Option<jiff::Timestamp>| at.map(python_datetime).unwrap_or_default();
    [time(run.logical_date()), run.partition_key.clone().unwrap_or_default(), time(run.partition_date)]
}
