//! `ferroflow dags report`

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use ferroflow_model::stored_dag::ParsedDag;

use super::VerboseArgs;
use super::bundles::BundleArgs;
use super::parsing::{self, LocalFile, Told, with_parser};
use crate::output::{Cell, OutputArgs, Records, note};
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    bundles: BundleArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

pub(super) fn run(args: &ReportArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    args.bundles.check(&session.settings)?;
    let files = with_parser(session, async |cx| {
        parsing::parse_all(cx, &args.bundles.bundle_name, args.output.output).await
    })?;
    for file in &files {
        for error in &file.errors {
            note(&format!("Error: {}: {}", error.filename, gist(&error.stacktrace)))?;
        }
    }
    Ok(records(files).print(args.output.output, out)?)
}

/// How many tasks a DAG has.
struct Tasks(usize);

impl Told for Tasks {
    fn of(dag: &ParsedDag) -> Self {
        Self(dag.dag.tasks().len())
    }
}

/// What a traceback ends with; of what is none, the first line.
fn gist(error: &str) -> &str {
    let mut lines = error.lines().filter(|line| !line.trim().is_empty());
    if !error.starts_with("Traceback") {
        return lines.next().unwrap_or_default();
    }
    // The exception comes after the last line of code, and may have more lines than one.
    let mut gist = "";
    let mut was_code = false;
    for line in lines {
        let is_code = line.starts_with(' ');
        if was_code && !is_code {
            gist = line;
        }
        was_code = is_code;
    }
    gist
}

const COLUMNS: [&str; 5] = ["file", "duration", "dag_num", "task_num", "dags"];

/// One row per file: bundle by bundle as they come, in each the slowest file first.
fn records(mut files: Vec<LocalFile<Tasks>>) -> Records {
    let mut bundles: Vec<String> = files.iter().map(|file| file.bundle_name.clone()).collect();
    bundles.dedup();
    files.sort_by_key(|file| {
        let bundle = bundles.iter().position(|name| *name == file.bundle_name);
        (bundle, std::cmp::Reverse(file.duration))
    });
    Records::new(COLUMNS.to_vec(), files.iter().map(row).collect())
}

fn row(file: &LocalFile<Tasks>) -> Vec<Cell> {
    let tasks: usize = file.dags.iter().map(|dag| dag.told.0).sum();
    let mut names: Vec<&str> = file.dags.iter().map(|dag| dag.dag_id.as_str()).collect();
    names.sort_unstable();
    vec![
        Cell::from(file.relative_path.as_str()),
        Cell::Text(python_timedelta(file.duration)),
        Cell::Text(file.dags.len().to_string()),
        Cell::Text(tasks.to_string()),
        Cell::List(names.into_iter().map(Cell::from).collect()),
    ]
}

/// `str(timedelta)` of less than a day.
fn python_timedelta(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let whole = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match duration.subsec_micros() {
        0 => whole,
        micros => format!("{whole}.{micros:06}"),
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_dagproc::once::FileParsed;
    use ferroflow_model::Json;
    use ferroflow_python::{ParseOutcome, ParsedFile};
    use ferroflow_testkit::repository;

    use super::*;
    use crate::output::Format;

    #[test]
    fn files_are_listed_by_bundle_and_by_how_long_they_take() {
        let document = |name: &str| {
            let path = repository("testdata/serialized").join(name);
            Json::from_text(std::fs::read_to_string(path).unwrap()).unwrap()
        };
        let file = |bundle: &str, path: &str, micros, documents: &[&str]| {
            let dags = documents.iter().map(|name| document(name)).collect();
            LocalFile::of(FileParsed {
                bundle_name: bundle.to_owned(),
                relative_path: path.to_owned(),
                duration: Duration::from_micros(micros),
                outcome: ParseOutcome::Parsed(ParsedFile { dags, ..ParsedFile::default() }),
            })
        };
        let files = vec![
            file("b", "fast.py", 1_250, &["tutorial.json"]),
            file("b", "slow.py", 61_000_000, &["example_task_group.json", "asset_s3_bucket_producer.json"]),
            file("a", "slowest.py", 86_399_999_999, &[]),
        ];
        let mut out = Vec::new();
        records(files).print(Format::Plain, &mut out).unwrap();
        let printed = String::from_utf8(out).unwrap();
        let words: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1][..4], ["slow.py", "0:01:01", "2", "10"], "{printed}");
        assert_eq!(words[2], ["fast.py", "0:00:00.001250", "1", "3", "['tutorial']"]);
        assert_eq!(words[3], ["slowest.py", "23:59:59.999999", "0", "0", "[]"]);
    }

    #[test]
    fn an_error_is_told_in_the_line_that_says_what_it_is() {
        let traceback = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    raise\n\
                         KeyError: 'a'\n\nDuring the handling:\n\nTraceback (most recent call last):\n\
                         \x20 File \"a.py\", line 5, in <module>\nValueError: no such day:\nor night\n";
        assert_eq!(gist(traceback), "ValueError: no such day:");
        assert_eq!(gist("It was killed.\n\nIts last lines of output:\nbye"), "It was killed.");
    }
}
