//! What `ps` shows: every process says what it is for.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_python::extensions::Listeners;
use ferroflow_python::{ChildLimits, Entry, Sink, ZygoteFile, ZygoteLimits, processes};

use crate::bridge::support::{Bridge, eventually};

/// Tells how its process is called, and whether the mark of the fork server is still in its environment.
const TELLS: &str = "
from pathlib import Path
from airflow.sdk import DAG
told = Path(__file__ + '.told')
if not told.exists():
    told.write_bytes(Path('/proc/self/cmdline').read_bytes().strip(b'\\0') + b'\\n'
                     + Path('/proc/self/environ').read_bytes())
dag = DAG('tells', schedule=None)
";

#[tokio::test]
async fn every_process_is_called_what_it_is_for() {
    let bridge = Bridge::start().await;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    assert_eq!(processes::title(server), "ferroflow fork server");

    bridge.parsed(TELLS).await;
    let file = bridge.folder.path().join("dag_file.py");
    let told = std::fs::read_to_string(bridge.folder.path().join("dag_file.py.told")).unwrap();
    let (title, environment) = told.split_once('\n').unwrap();
    assert_eq!(title, format!("ferroflow parse -- {}", file.display()));
    let mark = format!("BRIDGE_TEST={}", bridge.mark);
    assert!(environment.split('\0').any(|variable| variable == mark), "what is left of it can be found");

    let listeners = Listeners::new(bridge.server.clone());
    assert!(!listeners.hear_import_errors().await.unwrap());
    let is_helper = |pid: &i32| processes::title(*pid).starts_with("ferroflow helper -- listener");
    assert!(bridge.processes().iter().any(is_helper));

    let sink: Arc<dyn Sink> = Arc::clone(&bridge.lines) as Arc<dyn Sink>;
    for entry in [Entry::Task, Entry::Callback, Entry::ConnectionTest] {
        let child = bridge.server.fork(entry, ChildLimits::default(), &sink).await.unwrap();
        let is_named = || processes::title(child.pid()) == processes::untold_title(entry);
        eventually("it waits to be told what to do", is_named).await;
    }
}

#[tokio::test]
async fn a_template_is_called_by_its_file_and_its_tasks_wait() {
    let bridge = Bridge::shared().await;
    let dags = bridge.home.join("dags");
    std::fs::create_dir_all(&dags).unwrap();
    std::fs::write(
        dags.join("titled.py"),
        "from airflow.sdk import DAG\ndag = DAG('titled', schedule=None)\n",
    )
    .unwrap();
    let sink: Arc<dyn Sink> = Arc::clone(&bridge.lines) as Arc<dyn Sink>;
    let file = ZygoteFile { bundle: "dags-folder".to_owned(), version: None, path: "titled.py".to_owned() };
    for tasks_per_process in [1, 2] {
        let limits = ZygoteLimits { import: Duration::from_mins(2), tasks_per_process };
        let template = bridge.server.zygote(&file, limits, &sink).await.unwrap();
        let is_zygote = |pid: &i32| processes::title(*pid) == "ferroflow template -- dags-folder: titled.py";
        assert!(bridge.processes().iter().any(is_zygote));
        let child = template.fork_task(&sink).await.unwrap();
        let is_named = || processes::title(child.pid()) == processes::untold_title(Entry::Task);
        eventually("it waits to be told what to do", is_named).await;
    }
}
