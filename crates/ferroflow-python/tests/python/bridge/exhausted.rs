//! The system is out of what a child takes.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use ferroflow_python::{ChildLimits, Entry, Error, ForkServer, Sink, ZygoteFile, ZygoteLimits, processes};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::bridge::support::{Bridge, options, python};

const LIMITS: ZygoteLimits = ZygoteLimits { import: std::time::Duration::from_mins(2), tasks_per_process: 2 };

/// All that there are have the standard streams.
const NONE: u64 = 3;

/// Lets a process have so many descriptors, and answers how many it could have before.
fn limit_descriptors(pid: i32, current: Option<u64>) -> Option<u64> {
    let pid = Pid::from_raw(pid);
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    prlimit(pid, Resource::Nofile, Rlimit { current, maximum }).unwrap().current
}

/// None at all, and as many as it has with some more.
fn limits(pid: i32) -> Vec<u64> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let highest =
        open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok()).max().unwrap();
    std::iter::once(NONE).chain(highest + 1..highest + 6).collect()
}

#[tokio::test]
async fn a_fork_server_without_descriptors_says_so_and_lives() {
    let bridge = Bridge::start().await;
    let sink: Arc<dyn Sink> = Arc::clone(&bridge.lines) as Arc<dyn Sink>;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    let dags = bridge.home.join("dags");
    std::fs::create_dir_all(&dags).unwrap();
    std::fs::write(dags.join("used.py"), "from airflow.sdk import DAG\ndag = DAG('used', schedule=None)\n")
        .unwrap();
    let file = ZygoteFile { bundle: "dags-folder".to_owned(), version: None, path: "used.py".to_owned() };
    let template = bridge.server.zygote(&file, LIMITS, &sink).await.unwrap();
    let is_zygote = |pid: &i32| processes::title(*pid).starts_with("ferroflow template");
    let template_process = bridge.processes().into_iter().find(is_zygote).unwrap();

    for (process, is_of_template) in [(server, false), (template_process, true)] {
        let fork = async || {
            if is_of_template {
                template.fork_task(&sink).await
            } else {
                bridge.server.fork(Entry::Task, ChildLimits::default(), &sink).await
            }
        };
        for limit in limits(process) {
            let usual = limit_descriptors(process, Some(limit));
            match fork().await {
                // What is left may be enough.
                Ok(mut child) => drop(child.end().await.unwrap()),
                Err(error) => assert!(error.is_for_now(), "{limit} {is_of_template}: {error:?}"),
            }
            if limit == NONE {
                assert!(matches!(fork().await, Err(Error::Exhausted(_))));
            }
            limit_descriptors(process, usual);
            fork().await.unwrap().end().await.unwrap();
        }
    }
    assert!(bridge.processes().contains(&server) && template.is_current(), "neither was replaced");
}

#[tokio::test]
async fn an_interpreter_without_memory_says_so_and_starts_when_there_is_some() {
    let folder = tempfile::TempDir::new().unwrap();
    let (narrow, script) = (folder.path().join("narrow"), folder.path().join("python"));
    // Where memory really is short, Python ends by whatever notices it first.
    let (flag, python) = (narrow.display().to_string(), python().display().to_string());
    let text =
        format!("#!/bin/sh\n[ -e {flag} ] && exec {python} -c 'raise MemoryError'\nexec {python} \"$@\"\n");
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(&narrow, "").unwrap();
    let mut options = options(folder.path(), "narrow");
    options.python = script;
    let server = ForkServer::at_first_use(options);
    // However often that is: nothing is wrong with the fork server.
    for _ in 0..6 {
        let error = server.sdk_version().await.unwrap_err();
        assert!(matches!(error, Error::Exhausted(_)) && error.is_for_now(), "{error:?}");
    }
    std::fs::remove_file(narrow).unwrap();
    server.sdk_version().await.unwrap();
    server.stop().await;
}
