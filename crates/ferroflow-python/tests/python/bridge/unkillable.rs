//! Processes that cannot be killed, as those are that wait for a file system which does not answer.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_python::{
    Cause, Child, ChildLimits, Entry, Error, ParseOutcome, Sink, ZygoteFile, ZygoteLimits, processes,
};
use ferroflow_testkit::Held;
use rustix::process::{Pid, Signal, kill_process};

use crate::bridge::support::{Bridge, eventually};

const DAG: &str = "\nfrom airflow.sdk import DAG\ndag = DAG('survivor', schedule=None)\n";

fn sink(bridge: &Bridge) -> Arc<dyn Sink> {
    Arc::clone(&bridge.lines) as Arc<dyn Sink>
}

async fn fork(bridge: &Bridge, entry: Entry) -> Child {
    bridge.server.fork(entry, ChildLimits::default(), &sink(bridge)).await.unwrap()
}

fn is_there(pid: i32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until a process waits to be told what to do: from there on it can be held.
async fn settled(child: &Child, entry: Entry) {
    let untold = processes::untold_title(entry);
    eventually("it has begun", || processes::title(child.pid()) == untold).await;
}

#[tokio::test]
async fn one_that_cannot_be_killed_is_given_up_alone() {
    let bridge = Bridge::start().await;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    let other = fork(&bridge, Entry::Task).await;
    tokio::join!(
        held_and_given_up(&bridge, Entry::Task),
        held_and_given_up(&bridge, Entry::Callback),
        held_and_given_up(&bridge, Entry::Parse),
        held_and_given_up(&bridge, Entry::Helper),
    );
    // The fork server and its other children have not heard of it.
    assert!(is_there(server) && is_there(other.pid()) && !other.has_hung_up());
}

async fn held_and_given_up(bridge: &Bridge, entry: Entry) {
    let mut child = fork(bridge, entry).await;
    let pid = child.pid();
    settled(&child, entry).await;
    let held = Held::new(pid);
    let ended = child.end().await;
    assert!(matches!(ended, Err(Error::CannotBeKilled(given_up)) if given_up == pid), "{ended:?}");
    let remains = child.into_remains().unwrap();
    assert!(!remains.is_gone() && is_there(pid));
    assert!(fork(bridge, Entry::Task).await.end().await.is_ok());
    drop(held);
    remains.gone().await;
    eventually("it is gone", || !is_there(pid)).await;
}

/// Whose number is the name of a file in a folder, nobody may signal: as one that `run_as_user` has made another user's.
const FORBIDDEN: &str = "
import os

signal_group = os.killpg

def killpg(pid, number):
    if os.path.exists(f'{os.path.dirname(__file__)}/{pid}'):
        raise PermissionError(1, 'Operation not permitted')
    signal_group(pid, number)

os.killpg = killpg
";

#[tokio::test]
async fn one_that_may_not_be_signalled_is_given_up_alone() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("sitecustomize.py"), FORBIDDEN).unwrap();
    let path = folder.path().into();
    let bridge = Bridge::start_with(|options| options.environment.push(("PYTHONPATH".into(), path))).await;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    let (other, mut child) = (fork(&bridge, Entry::Task).await, fork(&bridge, Entry::Task).await);
    let pid = child.pid();
    settled(&child, Entry::Task).await;
    let held = Held::new(pid);
    std::fs::write(folder.path().join(pid.to_string()), "").unwrap();
    child.ask_to_end();
    let ended = child.end().await;
    assert!(matches!(ended, Err(Error::CannotBeKilled(given_up)) if given_up == pid), "{ended:?}");
    assert!(fork(&bridge, Entry::Task).await.end().await.is_ok());
    assert!(is_there(server) && is_there(other.pid()) && !other.has_hung_up());
    drop(held);
    child.into_remains().unwrap().gone().await;
}

#[tokio::test]
async fn what_it_started_is_killed_all_the_same() {
    let mut bridge = Bridge::shared().await;
    bridge.limits.timeout = Duration::from_secs(4);
    bridge.limits.grace = Duration::from_millis(100);
    let text = "# airflow dag
import os, subprocess, time
apart = [subprocess.Popen(['sleep', '600'], start_new_session=True).pid for _ in range(3)]
with open(__file__ + '.pids.tmp', 'w') as file:
    print(os.getpid(), *apart, file=file)
os.rename(__file__ + '.pids.tmp', __file__ + '.pids')
time.sleep(600)
";
    let request = bridge.request("held.py", text);
    let file = bridge.folder.path().join("held.py.pids");
    let holding = async {
        eventually("it runs", || file.exists()).await;
        let text = std::fs::read_to_string(&file).unwrap();
        let pids: Vec<i32> = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        (Held::new(pids[0]), pids)
    };
    let (report, (held, pids)) = tokio::join!(bridge.parse(&request), holding);
    let ParseOutcome::Failed(failure) = report.outcome else { panic!("{report:?}") };
    assert_eq!(failure.cause, Cause::TimedOut(Duration::from_secs(4)));
    assert!(is_there(pids[0]));
    eventually("what it started is gone", || !pids[1..].iter().any(|pid| is_alive(*pid))).await;

    // The file is not tried again, and others are.
    let again = bridge.parse(&request).await;
    let ParseOutcome::Failed(failure) = again.outcome else { panic!("{again:?}") };
    assert_eq!(failure.cause, Cause::CannotBeKilled(pids[0]));
    let other = bridge.parse(&bridge.request("other.py", DAG)).await;
    assert!(matches!(other.outcome, ParseOutcome::Parsed(_)), "{other:?}");
    drop(held);
    eventually("it is gone", || !is_there(pids[0])).await;
    let parsed = async || {
        let report = bridge.parse(&bridge.request("held.py", DAG)).await;
        matches!(report.outcome, ParseOutcome::Parsed(_))
    };
    while !parsed().await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// One that has ended and that nobody has waited for has no title any more.
fn is_alive(pid: i32) -> bool {
    !processes::title(pid).is_empty()
}

#[tokio::test]
async fn a_fork_server_that_does_not_answer_is_replaced_and_each_child_accounted_for() {
    let bridge = Bridge::start_with(|options| options.answer_timeout = Duration::from_secs(5)).await;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    let (mut one, mut other) = (fork(&bridge, Entry::Task).await, fork(&bridge, Entry::Task).await);
    let pids = [one.pid(), other.pid()];
    // It neither answers nor can be killed, so that the kernel does not end its children.
    settled(&one, Entry::Task).await;
    settled(&other, Entry::Task).await;
    let held = Held::new(server);
    kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    // Whoever wants something of it waits for an answer, and then for another fork server.
    let forked = bridge.server.fork(Entry::Task, ChildLimits::default(), &sink(&bridge)).await;
    assert!(matches!(forked, Err(Error::Lost)), "{forked:?}");
    for child in [&mut one, &mut other] {
        assert!(matches!(child.wait().await, Err(Error::Lost)));
    }
    assert!(is_there(server) && !pids.into_iter().any(is_alive), "none of them runs on");
    let parsed = bridge.parse(&bridge.request("dag.py", DAG)).await;
    assert!(matches!(parsed.outcome, ParseOutcome::Parsed(_)), "{parsed:?}");
    drop(held);
    eventually("the old one is gone", || !is_there(server)).await;
}

#[tokio::test]
async fn a_template_that_cannot_be_killed_is_given_up_with_its_file() {
    let bridge = Bridge::start().await;
    let dags = bridge.home.join("dags");
    std::fs::create_dir_all(&dags).unwrap();
    std::fs::write(dags.join("held.py"), DAG).unwrap();
    let file = ZygoteFile { bundle: "dags-folder".to_owned(), version: None, path: "held.py".to_owned() };
    let limits = ZygoteLimits { import: Duration::from_mins(2), tasks_per_process: 1 };
    let template = bridge.server.zygote(&file, limits, &sink(&bridge)).await.unwrap();
    let is_zygote = |pid: &i32| processes::title(*pid).starts_with("ferroflow template");
    let pid = bridge.processes().into_iter().find(is_zygote).unwrap();
    let mut task = template.fork_task(&sink(&bridge)).await.unwrap();
    let held_task = task.pid();
    settled(&task, Entry::Task).await;
    let held = Held::new(held_task);
    assert!(matches!(task.end().await, Err(Error::CannotBeKilled(_))));
    assert!(template.is_current(), "a task of its own that cannot be killed does not harm it");
    assert!(template.fork_task(&sink(&bridge)).await.unwrap().end().await.is_ok());
    drop(held);
    task.into_remains().unwrap().gone().await;

    let held = Held::new(pid);
    drop(template);
    assert!(fork(&bridge, Entry::Task).await.end().await.is_ok());
    assert!(is_there(pid));
    drop(held);
    eventually("it is gone", || !is_there(pid)).await;
}
