//! Replaying what real Airflow answered, to see that we answer the same.
//!
//! A file of vectors holds records of several kinds. Each record is asked again and counted under its kind;
//! the first mismatches are kept in full.

mod cron_syntax;
mod record;
mod scheduling;
mod timetables;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;
use serde_json::value::RawValue;

pub use scheduling::replay_scheduling;
use timetables::Kind;
pub use vectors::read;
use vectors::{Entries, Shape};

/// How many mismatches are kept in full.
const MISMATCHES: usize = 10;

/// The kind of the records of a list of expressions.
const LISTED: &str = "cron-syntax";

/// What came of a replay.
#[derive(Debug, Default)]
pub struct Report {
    kinds: BTreeMap<String, Count>,
    /// What is wrong with the file, besides its records.
    problems: Vec<String>,
    mismatches: Vec<String>,
    /// What the file says beyond what is compared. Vectors may come to say more.
    notes: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Count {
    passed: usize,
    total: usize,
}

impl Report {
    /// Whether the file is as it should be and every record gave the same answer, of which there was at least
    /// one.
    pub fn passed(&self) -> bool {
        let mut counts = self.kinds.values();
        !self.kinds.is_empty() && self.problems.is_empty() && counts.all(|count| count.passed == count.total)
    }

    /// How many records of a kind there were.
    pub fn total(&self, kind: &str) -> usize {
        self.kinds.get(kind).map_or(0, |count| count.total)
    }

    /// Replays the records of a kind.
    fn replay(
        &mut self,
        kind: &str,
        records: &[&RawValue],
        mut check: impl FnMut(&Value) -> Result<(), String>,
    ) {
        self.kinds.entry(kind.to_owned()).or_default();
        if records.is_empty() {
            self.problems.push(format!("{kind}: there are no records"));
        }
        for text in records {
            match vectors::record(text) {
                Ok(record) => self.count(kind, &record, check(&record)),
                Err(problem) => self.count(kind, text, Err(problem)),
            }
        }
    }

    /// Counts one record under several kinds. Its difference is told once.
    fn count_as(&mut self, kinds: &[String], record: &impl fmt::Display, outcome: Result<(), String>) {
        for kind in kinds {
            let count = self.kinds.entry(kind.clone()).or_default();
            count.total += 1;
            count.passed += usize::from(outcome.is_ok());
        }
        if let Err(difference) = outcome
            && self.mismatches.len() < MISMATCHES
        {
            self.mismatches.push(format!("{record}: {difference}"));
        }
    }

    fn count(&mut self, kind: &str, record: &impl fmt::Display, outcome: Result<(), String>) {
        let count = self.kinds.entry(kind.to_owned()).or_default();
        count.total += 1;
        match outcome {
            Ok(()) => count.passed += 1,
            Err(difference) if self.mismatches.len() < MISMATCHES => {
                self.mismatches.push(format!("{kind}: {difference}\n  of {record}"));
            }
            Err(_) => {}
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, Count { passed, total }) in &self.kinds {
            writeln!(f, "{kind:<16} {passed} of {total}")?;
        }
        if self.kinds.is_empty() {
            writeln!(f, "nothing to replay: 0 of 0")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for problem in self.problems.iter().chain(&self.mismatches) {
            writeln!(f, "\n{problem}")?;
        }
        Ok(())
    }
}

/// Replays a file of timetable vectors: an object with a list of records per kind, or the list of expressions
/// that croniter expanded. The file may be compressed with gzip.
pub fn replay_timetables(path: &Path) -> anyhow::Result<Report> {
    let text = vectors::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let invalid = || format!("{} is not JSON", path.display());
    let content: &RawValue = serde_json::from_str(&text).with_context(invalid)?;
    let mut report = Report::default();
    match Shape::of(content) {
        Shape::Object => {
            let Entries(kinds) = serde_json::from_str(content.get()).with_context(invalid)?;
            replay_kinds(&mut report, kinds);
        }
        Shape::List => {
            let expressions: Vec<&RawValue> = serde_json::from_str(content.get()).with_context(invalid)?;
            report.replay(LISTED, &expressions, cron_syntax::listed);
        }
        Shape::Other => {
            bail!("{} holds neither an object of records nor a list of expressions", path.display())
        }
    }
    Ok(report)
}

fn replay_kinds(report: &mut Report, kinds: Vec<(String, &RawValue)>) {
    let mut seen = BTreeSet::new();
    for (name, records) in kinds {
        if name == "meta" {
            if !matches!(Shape::of(records), Shape::Object) {
                report.problems.push(format!("meta is not an object, but {records}"));
            }
        } else {
            replay_kind(report, &name, records);
        }
        if let Some(name) = seen.replace(name) {
            report.problems.push(format!("{name}: stands twice in the file"));
        }
    }
}

fn replay_kind(report: &mut Report, name: &str, records: &RawValue) {
    let Ok(records) = serde_json::from_str::<Vec<&RawValue>>(records.get()) else {
        report.kinds.entry(name.to_owned()).or_default();
        report.problems.push(format!("{name}: is not a list of records, but {records}"));
        return;
    };
    if let Some(kind) = Kind::find(name) {
        let mut unknown = BTreeSet::new();
        report.replay(name, &records, |record| {
            unknown.extend(kind.unknown_fields(record).into_iter().map(str::to_owned));
            kind.check(record)
        });
        let note = |field| format!("{name}: the field {field} is not known here, and was not compared");
        report.notes.extend(unknown.into_iter().map(note));
    } else {
        report.problems.push(format!("{name}: there is no such kind of record"));
        report.replay(name, &records, |_| Err("there is no such kind of record".to_owned()));
    }
}
