//! Replaying what real Airflow answered, to see that we answer the same.
//!
//! A file of vectors holds records of several kinds. Each record is asked again and counted under its kind;
//! the first mismatches are kept in full.

mod cron_syntax;
mod timetables;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context as _, bail};
use flate2::read::GzDecoder;
use serde_json::Value;

/// How many mismatches are kept in full.
const MISMATCHES: usize = 10;

/// What came of a replay.
#[derive(Debug, Default)]
pub struct Report {
    kinds: BTreeMap<String, Count>,
    mismatches: Vec<String>,
}

#[derive(Debug, Default)]
struct Count {
    passed: usize,
    total: usize,
}

impl Report {
    /// Whether every record gave the same answer, of which there was at least one.
    pub fn passed(&self) -> bool {
        !self.kinds.is_empty() && self.kinds.values().all(|count| count.passed == count.total)
    }

    /// How many records of a kind there were.
    pub fn total(&self, kind: &str) -> usize {
        self.kinds.get(kind).map_or(0, |count| count.total)
    }

    fn count(&mut self, kind: &str, record: &Value, outcome: Result<(), String>) {
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
        for mismatch in &self.mismatches {
            writeln!(f, "\n{mismatch}")?;
        }
        Ok(())
    }
}

/// Replays a file of timetable vectors: an object with a list of records per kind, or the list of expressions
/// that croniter expanded. The file may be compressed with gzip.
pub fn replay_timetables(path: &Path) -> anyhow::Result<Report> {
    let content = read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut report = Report::default();
    match &content {
        Value::Object(kinds) => {
            for (kind, records) in kinds {
                if kind == "meta" {
                    continue;
                }
                let records =
                    records.as_array().with_context(|| format!("{kind} is not a list of records"))?;
                for record in records {
                    report.count(kind, record, timetables::check(kind, record));
                }
            }
        }
        Value::Array(expressions) => {
            for record in expressions {
                report.count("cron-syntax", record, cron_syntax::check(record));
            }
        }
        _ => bail!("{} holds neither an object of records nor a list of expressions", path.display()),
    }
    Ok(report)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let mut text = String::new();
    let mut file = BufReader::new(File::open(path)?);
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_string(&mut text)?;
    } else {
        file.read_to_string(&mut text)?;
    }
    Ok(serde_json::from_str(&text)?)
}

/// A text field that every record of its kind has.
fn text<'r>(record: &'r Value, key: &str) -> Result<&'r str, String> {
    record[key].as_str().ok_or_else(|| format!("the record has no {key}"))
}
