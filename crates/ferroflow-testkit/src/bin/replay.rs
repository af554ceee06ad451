//! Replays recorded answers of real Airflow against ours.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool reports on its terminal")]

use std::path::Path;
use std::process::ExitCode;

use ferroflow_testkit::replay::replay_timetables;

const USAGE: &str = "\
Replays recorded answers of real Airflow against ours, and exits 1 when anything differs.

Usage: replay timetables FILE...

FILE is a set of timetable vectors (testdata/timetables/timetables.json.gz) or a list of cron expressions
(testdata/timetables/cron-syntax.json), plain or gzip.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((kind, files)) if kind == "timetables" && !files.is_empty() => run(files),
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

fn run(files: &[String]) -> ExitCode {
    let mut passed = true;
    for file in files {
        match replay_timetables(Path::new(file)) {
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
