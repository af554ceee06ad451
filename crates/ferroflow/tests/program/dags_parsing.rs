//! The commands of `ferroflow dags` that parse files, beside what `airflow dags` was seen to print of the same files.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ferroflow_testkit::dag_processing::wait_until;
use ferroflow_testkit::{Finished, Program, Server, TestDb, given, repository};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

#[tokio::test]
async fn what_files_say_is_what_airflow_says() {
    let site = Site::new(Server::Sqlite).await;
    for answer in recorded("looks") {
        site.compare(&answer);
    }
    let rows = site.run(&["list", "-o", "json"]).expect_success();
    assert_eq!(rows, "[]\n", "looking stores nothing");
}

#[tokio::test]
async fn what_is_stored_is_what_airflow_stores() {
    let mut site = Site::new(Server::Sqlite).await;
    site.remove("main/again.py");
    for answer in recorded("stored") {
        site.compare(&answer);
    }
    assert_eq!(site.bundles().await, recorded_bundles("stored"));
    // What is gone is left to the processor, but for bundles.
    site.remove("main/two_dags.py");
    site.remove("main/broken.py");
    site.configure(&["main"]);
    for answer in recorded("gone") {
        site.compare(&answer);
    }
    assert_eq!(site.bundles().await, recorded_bundles("gone"));
}

#[tokio::test]
async fn files_are_stored_on_postgres() {
    files_are_stored_on(Server::Postgres).await;
}

#[tokio::test]
async fn files_are_stored_on_mariadb() {
    files_are_stored_on(Server::MariaDb).await;
}

async fn files_are_stored_on(server: Server) {
    let site = Site::new(server).await;
    site.remove("main/again.py");
    let is_quick =
        |answer: &Value| answer["arguments"][1] != "--local" && answer["arguments"][0] != "next-execution";
    for answer in recorded("stored").iter().filter(|answer| is_quick(answer)) {
        site.compare(answer);
    }
}

/// With Airflow the first one ends the command without a word, and the second never ends.
#[tokio::test]
async fn files_that_crash_or_hang_are_told_as_errors() {
    let site =
        Site::new(Server::Sqlite).await.with("AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT", "5");
    site.remove("main");
    site.write(
        "main/crash.py",
        "from airflow.sdk import DAG\nimport os\nprint('nearly', flush=True)\nos._exit(3)\n",
    );
    site.write("main/hang.py", "from airflow.sdk import DAG\nwhile True:\n    pass\n");
    site.write("main/good.py", "from airflow.sdk import DAG\ngood = DAG('good', schedule=None)\n");
    let (crash, too_long) = ("ended with exit code 3", "not parsed within 5 s");
    let told = |errors: &Value| {
        let told = errors.as_array().unwrap().iter().map(|row| (text(&row["filepath"]), text(&row["error"])));
        let told: Vec<(&str, &str)> = told.collect();
        let [("crash.py", crashed), ("hang.py", hung)] = told[..] else { panic!("{errors}") };
        assert!(crashed.contains(crash) && crashed.contains("nearly") && hung.contains(too_long), "{errors}");
    };
    let listed = site.run(&["list-import-errors", "--local", "-o", "json"]);
    assert_eq!(listed.code, Some(1));
    told(&parsed(&listed.stdout));

    let report = site.run(&["report", "-o", "json"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let mut rows = parsed(&report.stdout);
    sort_by(&mut rows, "file");
    let counts = |row: &Value| json!([row["file"], row["dag_num"]]);
    let counts: Vec<Value> = rows.as_array().unwrap().iter().map(counts).collect();
    assert_eq!(json!(counts), json!([["crash.py", "0"], ["good.py", "1"], ["hang.py", "0"]]));
    for (file, reason) in [("crash.py", crash), ("hang.py", too_long)] {
        let is_told = |line: &str| line.starts_with(&format!("Error: {file}: ")) && line.contains(reason);
        assert!(report.stderr.lines().any(is_told), "{}", report.stderr);
    }

    let stored = site.run(&["reserialize"]);
    assert_eq!((stored.code, stored.stdout.as_str()), (Some(0), "DAGs stored: 1, of 3 files\n"));
    assert!(stored.stderr.contains("2 of the files have import errors"), "{}", stored.stderr);
    told(&parsed(&site.run(&["list-import-errors", "-o", "json"]).stdout));
}

#[tokio::test]
async fn ctrl_c_ends_a_command_and_the_processes_that_parse() {
    let site = Site::new(Server::Sqlite).await;
    let begun = site.program.home().join("begun");
    let hang = format!(
        "from airflow.sdk import DAG\nimport os, time\n\
         open('{0}.part', 'w').write(str(os.getpid()))\nos.replace('{0}.part', '{0}')\ntime.sleep(600)\n",
        begun.display(),
    );
    site.write("main/hang.py", &hang);
    let mut command = site.program.command(&["dags", "reserialize"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait_until(60, || begun.exists()), "the file is being parsed");
    let parser = std::fs::read_to_string(&begun).unwrap().parse::<i32>().unwrap();
    let parser = Pid::from_raw(parser).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output());
    let ended = tokio::time::timeout(Duration::from_mins(1), ended).await.unwrap().unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.ends_with("error: interrupted\n"), "{told}");
    assert!(wait_until(60, || test_kill_process(parser).is_err()), "the child lives on");
}

/// The files, a database without DAGs, and the program on both.
struct Site {
    program: Program,
    database: TestDb,
}

impl Site {
    async fn new(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let program = ferroflow()
            .on(&database.url())
            .with("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
            .with("AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL", "0")
            .with("AIRFLOW__FERROFLOW__PYTHON", &format!("{}/bin/python", given("VENV")));
        for (from, to) in [("local", "main"), ("plugins", "plugins")] {
            copy(&repository("testdata/dags_cli").join(from), &program.home().join(to));
        }
        std::fs::create_dir(program.home().join("other")).unwrap();
        let mut site = Self { program, database };
        site.configure(&["main", "other"]);
        site
    }

    fn configure(&mut self, bundles: &[&str]) {
        let home = self.program.home().to_owned();
        let bundle = |name: &&str| {
            let classpath = "airflow.dag_processing.bundles.local.LocalDagBundle";
            json!({"name": name, "classpath": classpath, "kwargs": {"path": home.join(name)}})
        };
        let bundles = json!(bundles.iter().map(bundle).collect::<Vec<_>>()).to_string();
        let program = std::mem::replace(&mut self.program, ferroflow());
        self.program = program.with("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", &bundles);
    }

    fn with(self, variable: &str, value: &str) -> Self {
        Self { program: self.program.with(variable, value), ..self }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.program.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.program.home().join(path);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.program.run(&[&["dags"], arguments].concat())
    }

    /// Runs what Airflow was asked, and compares what matters.
    fn compare(&self, answer: &Value) {
        let arguments: Vec<&str> = answer["arguments"].as_array().unwrap().iter().map(text).collect();
        let ours = self.run(&arguments);
        assert_eq!(json!(ours.code), answer["code"], "{arguments:?}: {}{}", ours.stdout, ours.stderr);
        let home = self.program.home().to_str().unwrap();
        let (ours, theirs) = (ours.stdout.replace(home, "/HOME"), text(&answer["stdout"]));
        match *arguments {
            ["reserialize", ..] => {}
            [command, .., "-o", "json"] => {
                let (mut ours, mut theirs) = (parsed(&ours), parsed(theirs));
                normalize(command, &mut ours);
                normalize(command, &mut theirs);
                assert_eq!(ours, theirs, "{arguments:?}");
            }
            _ => {
                let lines = |text: &str| {
                    text.trim_end().lines().map(str::trim_end).map(str::to_owned).collect::<Vec<_>>()
                };
                assert_eq!(lines(&ours), lines(theirs), "{arguments:?}");
            }
        }
    }

    /// The names of the bundles in the database, and whether they are active.
    async fn bundles(&self) -> Value {
        let db = self.database.connect().await;
        let found = db
            .read(|tx| {
                ferroflow_db::ScopedFutureExt::scope_boxed(
                    async move { ferroflow_db::dag_bundle::list(tx).await },
                )
            })
            .await
            .unwrap();
        let mut rows: Vec<(String, bool)> =
            found.into_iter().map(|bundle| (bundle.name, bundle.active)).collect();
        rows.sort();
        json!(rows)
    }
}

/// Takes out how long a parse takes, and orders that nobody promises. What Airflow prints as Python's sets, we print
/// as lists.
fn normalize(command: &str, rows: &mut Value) {
    for row in rows.as_array_mut().unwrap() {
        if command == "report" {
            assert!(text(&row["duration"]).starts_with("0:0"), "{row}");
            row["duration"] = Value::Null;
        }
        if command == "list" {
            for column in ["owners", "tags", "allowed_run_types"] {
                row[column] = json!(names(&row[column]));
            }
        }
    }
    let key = match command {
        "report" => "file",
        "list-import-errors" => "filepath",
        _ => "dag_id",
    };
    sort_by(rows, key);
}

/// The names in a list, in a list of tags, or in Python's picture of a set; `owners` are between commas.
fn names(value: &Value) -> Vec<String> {
    let mut names: Vec<String> = match value {
        Value::Array(items) => {
            let name = |item: &Value| item.get("name").unwrap_or(item).as_str().unwrap().to_owned();
            items.iter().map(name).collect()
        }
        Value::String(set) if set.contains('\'') => {
            set.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
        }
        Value::String(set) if set == "set()" => Vec::new(),
        Value::String(owners) => {
            owners.split(", ").filter(|owner| !owner.is_empty()).map(str::to_owned).collect()
        }
        _ => vec!["nothing at all".to_owned()],
    };
    names.sort();
    names
}

fn sort_by(rows: &mut Value, key: &str) {
    rows.as_array_mut().unwrap().sort_by(|one, other| text(&one[key]).cmp(text(&other[key])));
}

fn recording() -> Value {
    let recorded = std::fs::read_to_string(repository("testdata/dags_cli/parsing.json")).unwrap();
    serde_json::from_str(&recorded).unwrap()
}

fn recorded(part: &str) -> Vec<Value> {
    let answers = recording()[part]["answers"].as_array().unwrap().clone();
    assert!(answers.len() > 2, "the answers were found");
    answers
}

fn recorded_bundles(part: &str) -> Value {
    recording()[part]["bundles"].clone()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn copy(from: &Path, to: &PathBuf) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { std::fs::copy(&from, &to).map(drop).unwrap() }
    }
}

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}
