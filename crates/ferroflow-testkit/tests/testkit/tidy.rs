//! The rules of ARCHITECTURE.md that the compiler does not hold.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ferroflow_testkit::repository;

/// A source file: its path from the root, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The part before the tests that stand beside the code.
    fn without_tests(&self) -> &str {
        self.text.split("#[cfg(test)]\nmod ").next().unwrap_or(&self.text)
    }

    fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }
}

/// Every Rust file of the crates, in folders named `src`.
fn sources() -> Vec<Source> {
    let found: Vec<Source> = files(&repository("crates"), "rs")
        .into_iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"))
        .map(|path| Source { text: std::fs::read_to_string(&path).unwrap(), path: from_root(&path) })
        .collect();
    assert!(found.len() > 30, "the sources were found");
    found
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn from_root(path: &Path) -> String {
    let root = repository("").canonicalize().unwrap();
    path.canonicalize().unwrap().strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}

/// Nothing outside `places` holds any of `words`.
fn assert_only_in(places: &[&str], words: &[&str]) {
    let strays: Vec<String> = sources()
        .iter()
        .filter(|source| !source.is_in(places))
        .flat_map(|source| strays(&source.path, source.without_tests(), words))
        .collect();
    assert!(strays.is_empty(), "{}", strays.join("\n"));
}

/// Each line of code with one of the words, by its place. Comments may speak of anything.
fn strays(path: &str, text: &str, words: &[&str]) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines
        .filter_map(|(number, line)| {
            let word = words.iter().find(|word| line.contains(*word))?;
            Some(format!("{path}:{}: {word:?} does not belong here: {}", number + 1, line.trim()))
        })
        .collect()
}

#[test]
fn sql_is_only_in_the_db_crate() {
    // The testkit makes and drops whole databases.
    let places = ["crates/ferroflow-db/", "crates/ferroflow-testkit/"];
    let words =
        ["sqlx", "SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE ", "DROP TABLE "];
    assert_only_in(&places, &words);
    for manifest in files(&repository("crates"), "toml") {
        let path = from_root(&manifest);
        let text = std::fs::read_to_string(&manifest).unwrap();
        assert!(
            path.starts_with("crates/ferroflow-db/") || !text.contains("sqlx"),
            "{path} names the driver"
        );
    }
}

/// One looks up a table by its folder, and finds there what files it has.
#[test]
fn folders_of_the_db_crate_are_outlines() {
    let words = ["fn ", "struct ", "enum ", "impl", "const ", "static "];
    let found: Vec<String> = sources()
        .iter()
        .filter(|source| source.is_in(&["crates/ferroflow-db/src/"]) && source.path.ends_with("/mod.rs"))
        .flat_map(|source| strays(&source.path, source.without_tests(), &words))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn msgpack_is_only_where_frames_are_read_and_written() {
    let places =
        ["crates/ferroflow-python/", "crates/ferroflow-execution/src/wire/", "crates/ferroflow-supervisor/"];
    assert_only_in(&places, &["rmpv"]);
}

#[test]
fn the_supervisor_and_its_api_do_not_know_the_database() {
    let manifest = std::fs::read_to_string(repository("crates/ferroflow-supervisor/Cargo.toml")).unwrap();
    assert!(!manifest.contains("ferroflow-db"), "a worker on another host has no database");
    let places = ["api/", "wire/", "reports.rs", "masker.rs"]
        .map(|place| format!("crates/ferroflow-execution/src/{place}"));
    for source in sources().iter().filter(|source| places.iter().any(|place| source.path.starts_with(place)))
    {
        assert_eq!(strays(&source.path, source.without_tests(), &["ferroflow_db"]), Vec::<String>::new());
    }
}

#[test]
fn the_clock_is_read_only_in_its_module() {
    let words = ["Timestamp::now", "Zoned::now", "SystemTime::now", "Instant::now", "Utc::now", "now_v7("];
    assert_only_in(&["crates/ferroflow-telemetry/src/clock.rs"], &words);
}

#[test]
fn the_environment_is_read_only_by_the_configuration() {
    let places = ["crates/ferroflow-config/src/environment.rs", "crates/ferroflow-testkit/"];
    assert_only_in(&places, &["env::var", "env::home_dir", "env::current_dir", "env::args"]);
}

#[test]
fn processes_are_started_only_for_commands_of_the_configuration_and_for_python() {
    let places = [
        // The program itself, in the background.
        "crates/ferroflow/src/daemon.rs",
        "crates/ferroflow-config/src/command.rs",
        "crates/ferroflow-python/src/",
        "crates/ferroflow-testkit/",
    ];
    assert_only_in(&places, &["process::Command", "Command::new("]);
}

#[test]
fn the_model_is_pure() {
    let manifest = std::fs::read_to_string(repository("crates/ferroflow-model/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names: BTreeSet<&str> = dependencies
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(
        names,
        BTreeSet::from([
            "bumpalo",
            "foldhash",
            "jiff",
            "md-5",
            "serde",
            "serde_json",
            "sha1",
            "thiserror",
            "uuid"
        ])
    );
    let words = [
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "std::thread",
        "std::time",
        "async ",
        ".await",
        "tokio",
        "rand::",
        "println!",
        "static mut",
    ];
    for source in sources().iter().filter(|source| source.is_in(&["crates/ferroflow-model/"])) {
        assert_eq!(strays(&source.path, source.without_tests(), &words), Vec::<String>::new());
    }
}

#[test]
fn files_and_functions_stay_short() {
    const FILE: usize = 400;
    const FUNCTION: usize = 60;
    let mut long = Vec::new();
    for source in sources() {
        let code = source.without_tests();
        let lines = code.lines().count();
        if lines > FILE {
            long.push(format!("{}: {lines} lines", source.path));
        }
        for (name, lines) in functions(code).into_iter().filter(|(_, lines)| *lines > FUNCTION) {
            long.push(format!("{}: fn {name} has {lines} lines", source.path));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The functions of a formatted file and their lengths: each ends at a brace as far in as it began, or in its line.
fn functions(code: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let declaration = line.trim_start();
        let Some(rest) = declaration.split("fn ").nth(1).filter(|_| {
            let words = declaration.split("fn ").next().unwrap_or("x");
            words
                .split_whitespace()
                .all(|word| word.starts_with("pub") || ["async", "const", "unsafe"].contains(&word))
        }) else {
            continue;
        };
        let indent = &line[..line.len() - declaration.len()];
        let is_one_line = line.ends_with(['}', ';']);
        let body_ends = |line: &&str| **line == format!("{indent}}}");
        // A method of a trait may have no body.
        let has_none = |line: &&str| line.starts_with(&format!("{indent})")) && line.ends_with(';');
        let end = lines[start..].iter().position(|line| body_ends(line) || has_none(line));
        let name = rest.split(['(', '<']).next().unwrap_or(rest);
        found.push((name.to_owned(), end.filter(|_| !is_one_line).map_or(1, |length| length + 1)));
    }
    found
}

#[test]
fn nothing_is_left_for_later() {
    for extension in ["rs", "py", "sql", "md"] {
        for folder in ["crates", "docs", "testdata", "testing"] {
            for path in files(&repository(folder), extension) {
                let path_text = from_root(&path);
                if path_text.ends_with("/tidy.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                for word in ["TODO", "FIXME", "#[ignore", "todo!(", "unimplemented!("] {
                    assert!(!text.contains(word), "{path_text} holds {word}");
                }
            }
        }
    }
}

#[test]
fn every_sql_file_is_used_and_every_used_one_is_there() {
    let root = repository("crates/ferroflow-db/sql").canonicalize().unwrap();
    let present: BTreeSet<String> = files(&root, "sql")
        .iter()
        .map(|path| {
            path.canonicalize()
                .unwrap()
                .strip_prefix(&root)
                .unwrap()
                .with_extension("")
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let used: BTreeSet<String> = sources()
        .iter()
        .flat_map(|source| {
            source
                .text
                .split("sql!(\"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|name| !name.contains('<'))
        .collect();
    assert_eq!(present, used);
}

#[test]
fn the_architecture_fits_its_page_and_names_every_crate() {
    let text = std::fs::read_to_string(repository("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() <= 200, "ARCHITECTURE.md has {} lines", text.lines().count());
    for entry in std::fs::read_dir(repository("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(text.contains(&format!("| `{name}` |")), "the code map lacks {name}");
    }
}

/// Where we differ on purpose is tested, and so is what a scheduler has to do: each entry names its tests.
#[test]
fn every_difference_names_a_test_that_exists() {
    let read = |path: &str| std::fs::read_to_string(repository(path)).unwrap();
    let text = read("docs/differences.md") + &read("docs/scheduler.md");
    let mut tests: Vec<String> = files(&repository("crates"), "rs")
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    tests.push(std::fs::read_to_string(repository("testdata/config/cases.json")).unwrap());
    tests.push(std::fs::read_to_string(repository("testdata/config/lists.json")).unwrap());
    tests.push(std::fs::read_to_string(repository("testdata/config/conversions.json")).unwrap());
    let rows = rows_with_tests(&text);
    assert!(rows.len() > 10, "the differences were found");
    for row in rows {
        let named = row.trim_end_matches([' ', '|']).rsplit("| ").next().unwrap();
        for name in named.split(", ").map(|name| name.trim_matches('`')) {
            let is_there = |text: &String| {
                text.contains(&format!("fn {name}("))
                    || text.contains(&format!("\"name\": \"{name}\""))
                    || text.contains(&format!("\"text\": \"{name}\""))
            };
            assert!(tests.iter().any(is_there), "no test is called {name:?}: {row}");
        }
    }
}

/// The rows of the tables whose last column is called so.
fn rows_with_tests(text: &str) -> Vec<&str> {
    let mut is_within = false;
    let mut rows = Vec::new();
    for line in text.lines() {
        if line.ends_with("| test |") {
            is_within = true;
        } else if !line.starts_with('|') {
            is_within = false;
        } else if is_within && line.starts_with("| ") {
            rows.push(line);
        }
    }
    rows
}

/// The checks above can fail.
mod the_checks_themselves {
    use super::*;

    #[test]
    fn a_stray_word_is_found_in_code_and_not_in_comments() {
        let text = "// Timestamp::now\nlet x = Timestamp::now();\n";
        assert_eq!(strays("a.rs", text, &["Timestamp::now"]).len(), 1);
    }

    #[test]
    fn rows_that_name_a_test_are_those_of_tables_that_say_so() {
        let text = "| a | test |\n|---|---|\n| b | `c` |\n\n| d | e |\n|---|---|\n| f | g |\n";
        assert_eq!(rows_with_tests(text), ["| b | `c` |"]);
    }

    #[test]
    fn functions_are_measured() {
        let code = "impl X {\n    pub(crate) async fn long<T>() {\n        if a {\n        }\n    }\n}\nfn short() {}\n";
        assert_eq!(functions(code), [("long".to_owned(), 4), ("short".to_owned(), 1)]);
    }
}
