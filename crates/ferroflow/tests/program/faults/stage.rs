//! A DAG called `faults`, a place to run it in, and what is left to see of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ferroflow_db::Db;
use ferroflow_db::testing::texts;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::faults::FERROFLOW;

/// What every DAG file here begins with. Tasks and callbacks write to the trace what they do, so that nothing is done
/// twice unseen.
const HEAD: &str = r#"
import ctypes, os, signal, subprocess, sys, time
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, BaseOperator, Variable, get_current_context, task

def trace(*words):
    with open(ROOT / "trace", "a") as file:
        file.write(" ".join(map(str, words)) + "\n")

def ran():
    ti = get_current_context()["ti"]
    trace("ran", ti.task_id, ti.try_number)
    return ti.try_number

def told(word):
    def callback(context):
        trace(word, context["ti"].task_id, context["ti"].try_number)
    return callback

def wait_for(name):
    while not (ROOT / name).exists():
        time.sleep(0.05)

"#;

/// Where the DAG runs.
pub(crate) struct Stage {
    pub(crate) place: Place,
    pub(crate) db: Db,
}

impl Stage {
    pub(crate) async fn on(server: Server) -> Self {
        Self::in_place(Place::on(server).await).await
    }

    pub(crate) async fn in_place(place: Place) -> Self {
        let db = place.db().connect().await;
        Self { place, db }
    }

    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.place = self.place.with(variable, value);
        self
    }

    /// Writes the file of the DAG: what comes before the DAG, and what is in it, without its indentation.
    pub(crate) fn write(&self, before: &str, within: &str) {
        let within: Vec<String> = within.lines().map(|line| format!("    {line}")).collect();
        let root = self.place.root().display();
        self.place.write(
            "faults.py",
            format!(
                "{}ROOT = Path({:?})\n{before}\n\
                 with DAG('faults', schedule=None, start_date=datetime(2024, 1, 1)):\n{}\n",
                HEAD,
                root.to_string(),
                within.join("\n")
            ),
        );
    }

    /// Starts `ferroflow dags test`.
    pub(crate) fn start(&self) -> Running {
        self.place.start(FERROFLOW, &["dags", "test", "faults"])
    }

    /// Runs the DAG to its end. Nobody is left then. Answers whether it succeeded, and what was printed.
    pub(crate) fn run(&self, seconds: u32) -> (bool, String) {
        let mut running = self.start();
        let is_good = running.wait_for_end(seconds) == Some(0);
        self.assert_nobody_left();
        (is_good, running.log())
    }

    /// The lines of the trace, in their order.
    pub(crate) fn trace(&self) -> Vec<String> {
        let text = fs::read_to_string(self.place.root().join("trace")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often a line is in the trace.
    pub(crate) fn count(&self, line: &str) -> usize {
        self.trace().iter().filter(|found| *found == line).count()
    }

    /// Waits until so many lines of the trace begin with a word.
    pub(crate) fn wait_for_lines(&self, word: &str, count: usize, running: &Running) {
        let prefix = format!("{word} ");
        let found =
            wait_until(90, || self.trace().iter().filter(|line| line.starts_with(&prefix)).count() >= count);
        assert!(found, "{:#?}\n{}", self.trace(), running.log());
    }

    /// Lets tasks go on that wait for a file of this name.
    pub(crate) fn let_go(&self, name: &str) {
        fs::write(self.place.root().join(name), "").unwrap();
    }

    /// The text of each row of a query with one column, `answer`.
    pub(crate) async fn ask(&self, question: &str) -> Vec<String> {
        texts(&self.db, question).await.unwrap()
    }

    /// State and try of each task.
    pub(crate) async fn states(&self) -> BTreeMap<String, String> {
        let rows = self
            .ask(
                "SELECT task_id || '=' || COALESCE(state, 'none') || ' ' || CAST(try_number AS CHAR(9)) \
                 AS answer FROM task_instance",
            )
            .await;
        let pair = |row: &str| row.split_once('=').map(|(task, state)| (task.to_owned(), state.to_owned()));
        rows.iter().filter_map(|row| pair(row)).collect()
    }

    /// The state of the only run.
    pub(crate) async fn run_state(&self) -> String {
        self.ask("SELECT state AS answer FROM dag_run").await.concat()
    }

    /// The file of the log of a try.
    pub(crate) fn log_file(&self, task: &str, attempt: u32) -> PathBuf {
        let runs = self.place.root().join("home/logs/dag_id=faults");
        let mut runs = fs::read_dir(runs).unwrap();
        let run = runs.next().unwrap().unwrap().path();
        run.join(format!("task_id={task}/attempt={attempt}.log"))
    }

    /// The records of the log of a try.
    pub(crate) fn log(&self, task: &str, attempt: u32) -> Vec<Value> {
        let file = self.log_file(task, attempt);
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{} is read: {error}", file.display()));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What the log of a try says that is critical.
    pub(crate) fn critical(&self, task: &str, attempt: u32) -> Vec<String> {
        let log = self.log(task, attempt);
        let critical = log.iter().filter(|record| record["level"] == "critical");
        critical.map(|record| record["event"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn assert_nobody_left(&self) {
        let nobody_left = wait_until(30, || self.place.processes().is_empty());
        let left: Vec<String> = self.place.processes().into_iter().map(described).collect();
        assert!(nobody_left, "left: {left:#?}");
    }
}

/// Waits for a fact that takes a question to the database.
pub(crate) async fn until(seconds: u32, fact: impl AsyncFn() -> bool) -> bool {
    for _ in 0..seconds * 10 {
        if fact().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fact().await
}

/// The children of a process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let tasks = format!("/proc/{parent}/task");
    let lists = fs::read_dir(tasks).unwrap().map(|task| task.unwrap().path().join("children"));
    let text: String = lists.map(|list| fs::read_to_string(list).unwrap_or_default()).collect();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

pub(crate) fn signal(process: u32, signal: Signal) {
    kill_process(pid(process), signal).unwrap();
}

pub(crate) fn is_alive(process: u32) -> bool {
    test_kill_process(pid(process)).is_ok()
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).unwrap()).unwrap()
}

fn described(process: u32) -> String {
    let words = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
    format!("{process} {}", words.replace('\0', " "))
}
