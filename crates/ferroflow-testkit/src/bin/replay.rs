//! Replays recorded answers of real Airflow against ours.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool reports on its terminal")]

use std::path::Path;
use std::process::ExitCode;

use ferroflow_testkit::replay::{Report, replay_scheduling, replay_timetables};

const USAGE: &str = "\
Replays recorded answers of real Airflow against ours, and exits 1 when anything differs.

Usage: replay timetables FILE...
       replay scheduling FILE...

A FILE of timetables is a set of vectors (testdata/timetables/timetables.json.gz) or a list of cron expressions
(testdata/timetables/cron-syntax.json). A FILE of scheduling has one history of runs per line
(testdata/scheduling/scheduling.jsonl.gz). Both may be plain or gzip.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((kind, files)) if kind == "timetables" && !files.is_empty() => run(replay_timetables, files),
        Some((kind, files)) if kind == "scheduling" && !files.is_empty() => run(replay_scheduling, files),
        Some((flag, _)) if flag == "--help" || flag == "-h" => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run(replay: impl Fn(&Path) -> anyhow::Result<Report>, files: &[String]) -> ExitCode {
    let mut passed = true;
    for file in files {
        match replay(Path::new(file)) {
            Ok(report) => {
                print!("{report}");
                passed &= report.passed();
            }
            Err(error) => {
                eprintln!("error: {error:#}");
                passed = false;
            }
        }
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
