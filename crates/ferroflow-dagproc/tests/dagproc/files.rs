//! Which files are DAG files: as the real Airflow was seen to answer, and where it would have stopped.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::BufRead as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use ferroflow_dagproc::files::{
    Candidate, IgnoreSyntax, Lister, Listing, ListingError, ListingRules, Problem, SafeMode, SourceError,
    source,
};
use ferroflow_testkit::repository;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tempfile::TempDir;

const DAG: &str = "from airflow import DAG";

/// One line of the recording: a folder, and what Airflow makes of it.
#[derive(Deserialize)]
struct Case {
    syntax: String,
    safe_mode: bool,
    entries: Vec<Entry>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    observed: Vec<String>,
    #[serde(default)]
    warned: usize,
    #[serde(default)]
    sources: BTreeMap<String, Source>,
    error: Option<String>,
    /// What is found without the patterns that stop Airflow.
    rest: Option<Found>,
}

#[derive(Deserialize)]
struct Found {
    files: Vec<String>,
    observed: Vec<String>,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    text: Option<String>,
    base64: Option<String>,
    link: Option<String>,
}

#[derive(Deserialize)]
struct Source {
    text: Option<String>,
    error: Option<String>,
}

#[test]
fn airflow_finds_the_same_files() {
    let recorded = std::fs::File::open(repository("testdata/files/files.jsonl.gz")).unwrap();
    let lines = std::io::BufReader::new(flate2::read::GzDecoder::new(recorded)).lines();
    let cases: Vec<(usize, Case)> =
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).enumerate().collect();
    assert!(cases.len() > 400, "only {} folders were recorded", cases.len());
    let stopped = cases.iter().filter(|(_, case)| case.rest.is_some()).count();
    assert!(stopped > 20, "only {stopped} folders have patterns that stop Airflow");
    let differences: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            cases.chunks(cases.len().div_ceil(4)).map(|part| scope.spawn(|| differences(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

fn differences(cases: &[(usize, Case)]) -> Vec<String> {
    let told = |(number, case): &(usize, Case)| {
        let folder = made(&case.entries);
        let told = difference(case, folder.path())?;
        let ignore = case.entries.iter().filter(|entry| entry.path.ends_with(".airflowignore"));
        let ignore: Vec<_> = ignore.map(|entry| (&entry.path, &entry.text)).collect();
        Some(format!("line {}, {}: {told}\n    {ignore:?}", number + 1, case.syntax))
    };
    cases.iter().filter_map(told).collect()
}

fn made(entries: &[Entry]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in entries {
        let path = folder.path().join(&entry.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match (&entry.text, &entry.base64, &entry.link) {
            (Some(text), _, _) => std::fs::write(path, text).unwrap(),
            (_, Some(content), _) => {
                let content = base64::engine::general_purpose::STANDARD.decode(content).unwrap();
                std::fs::write(path, content).unwrap();
            }
            (_, _, Some(target)) => symlink(target, path).unwrap(),
            _ => std::fs::create_dir_all(path).unwrap(),
        }
    }
    folder
}

fn difference(case: &Case, root: &Path) -> Option<String> {
    let safe_mode = if case.safe_mode { SafeMode::Guess } else { SafeMode::Off };
    let syntax = IgnoreSyntax::parse(&case.syntax).unwrap();
    let listed =
        Lister::new(ListingRules { ignore_syntax: syntax, safe_mode }).list(root, Timestamp::UNIX_EPOCH);
    let bad_lines = |listing: &Listing| {
        listing.problems.iter().filter(|problem| matches!(problem, Problem::IgnoreLine { .. })).count()
    };
    let listing = match (case.error.as_deref(), &case.rest, listed) {
        (Some(_), None, Err(ListingError::Loop { .. })) => return None,
        // One pattern that means nothing stops Airflow's DAG processor; here it is a problem of its line, and the
        // other lines count.
        (Some("GitIgnorePatternError" | "error" | "ValueError"), Some(rest), Ok(listing))
            if bad_lines(&listing) > 0 =>
        {
            return found_difference(&listing, &rest.files, &rest.observed);
        }
        (None, _, Ok(listing)) => listing,
        (error, _, listed) => return Some(format!("Airflow: {error:?}, here: {listed:?}")),
    };
    let found = found_difference(&listing, &case.files, &case.observed);
    if found.is_some() {
        return found;
    }
    if bad_lines(&listing) != case.warned {
        return Some(format!("{} warnings, here: {:?}", case.warned, listing.problems));
    }
    case.sources.iter().find_map(|(path, expected)| source_difference(&root.join(path), expected))
}

fn found_difference(listing: &Listing, files: &[String], observed: &[String]) -> Option<String> {
    let found: Vec<&String> = listing.files.iter().map(|file| &file.relative).collect();
    if !found.iter().copied().eq(files) {
        return Some(format!("files: {files:?}, here: {found:?}"));
    }
    let differs = !listing.observed.iter().eq(observed);
    differs.then(|| format!("observed: {observed:?}, here: {:?}", listing.observed))
}

fn source_difference(path: &Path, expected: &Source) -> Option<String> {
    let found = source(path);
    let is_same = match (&found, &expected.text, expected.error.as_deref()) {
        (Ok(found), Some(text), _) => found == text,
        (Err(SourceError::NotUtf8 { .. }), _, error) => error == Some("UnicodeDecodeError"),
        (Err(SourceError::NoMember { .. }), _, error) => error == Some("KeyError"),
        (Err(SourceError::Unreadable { .. }), _, error) => {
            matches!(error, Some("FileNotFoundError" | "NotADirectoryError" | "IsADirectoryError"))
        }
        _ => false,
    };
    (!is_same)
        .then(|| format!("{}: {:?} {:?}, here: {found:?}", path.display(), expected.text, expected.error))
}

fn lister() -> Lister {
    Lister::new(ListingRules { ignore_syntax: IgnoreSyntax::Glob, safe_mode: SafeMode::Guess })
}

fn folder(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, DAG).unwrap();
    }
    folder
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|file| file.relative.as_str()).collect()
}

/// Long after everything that the test wrote.
fn later() -> Timestamp {
    ferroflow_telemetry::clock::now() + SignedDuration::from_hours(1)
}

#[test]
fn a_folder_that_is_missing_is_an_error_and_not_an_empty_bundle() {
    let folder = folder(&[]);
    let error = lister().list(&folder.path().join("unmounted"), later()).unwrap_err();
    assert!(matches!(error, ListingError::Root { .. }));
    assert!(error.to_string().contains("unmounted"), "{error}");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_served() {
    let folder = folder(&["a.py", "z.py"]);
    // Even root cannot open a path that is too long: two long ones are put into each other.
    let long = |name: &str| [name; 12].map(|part| part.repeat(200)).join("/");
    std::fs::create_dir_all(folder.path().join(long("b"))).unwrap();
    std::fs::create_dir_all(folder.path().join(long("c"))).unwrap();
    std::fs::rename(folder.path().join("c".repeat(200)), folder.path().join(long("b")).join("c")).unwrap();
    symlink("nowhere", folder.path().join("broken.py")).unwrap();
    symlink("user@host", folder.path().join(".#edited.py")).unwrap();
    std::fs::write(folder.path().join(OsStr::from_bytes(b"\xff.py")), DAG).unwrap();
    let listing = lister().list(folder.path(), later()).unwrap();
    assert_eq!(names(&listing), ["a.py", "z.py"]);
    let kinds = |is: fn(&Problem) -> bool| listing.problems.iter().filter(|problem| is(problem)).count();
    assert_eq!(
        kinds(|problem| matches!(problem, Problem::UnreadableFolder { path, .. } if path.len() > 3000)),
        1
    );
    assert_eq!(kinds(|problem| matches!(problem, Problem::BrokenLink { path } if path == "broken.py")), 1);
    assert_eq!(
        kinds(|problem| matches!(problem, Problem::NameIsNotText { path } if path == "\u{fffd}.py")),
        1
    );
    assert_eq!(listing.problems.len(), 3, "{:?}", listing.problems);
}

#[test]
fn an_unchanged_file_is_not_read_again_and_a_changed_one_is() {
    let folder = folder(&["a.py"]);
    let path = folder.path().join("a.py");
    let mut lister = lister();
    assert_eq!(names(&lister.list(folder.path(), later()).unwrap()), ["a.py"]);
    let stamps: Vec<_> = lister.list(folder.path(), later()).unwrap().files;
    assert_eq!(stamps[0].size, DAG.len() as u64);
    // Another text of the same length.
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&path, "x".repeat(DAG.len())).unwrap();
    assert!(names(&lister.list(folder.path(), later()).unwrap()).is_empty());
}

#[test]
fn what_changed_just_now_is_not_trusted() {
    let folder = folder(&["a.py"]);
    let path = folder.path().join("a.py");
    let mut lister = lister();
    let now = ferroflow_telemetry::clock::now();
    assert_eq!(names(&lister.list(folder.path(), now).unwrap()), ["a.py"]);
    // As if within one tick of the file system's clock.
    std::fs::write(&path, "x".repeat(DAG.len())).unwrap();
    assert!(names(&lister.list(folder.path(), now).unwrap()).is_empty());
}

#[test]
fn somebody_else_may_say_what_holds_dags() {
    let folder = folder(&["a.py", "b.py", "sub/a.py", "note.txt"]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let ask = move |questions: &[Candidate]| {
        noted.lock().unwrap().push(questions.len());
        Ok(questions.iter().map(|question| question.path.ends_with("a.py")).collect())
    };
    let safe_mode = SafeMode::Ask(Box::new(ask));
    let mut lister = Lister::new(ListingRules { ignore_syntax: IgnoreSyntax::Glob, safe_mode });
    for _ in 0..2 {
        let listing = lister.list(folder.path(), later()).unwrap();
        assert_eq!(names(&listing), ["a.py", "sub/a.py"]);
        assert_eq!(listing.observed.len(), 2);
    }
    assert_eq!(*asked.lock().unwrap(), [3, 3]);

    let safe_mode = SafeMode::Ask(Box::new(|_| Ok(vec![true])));
    let mut lister = Lister::new(ListingRules { ignore_syntax: IgnoreSyntax::Glob, safe_mode });
    assert!(matches!(lister.list(folder.path(), later()), Err(ListingError::Asking { .. })));
}
