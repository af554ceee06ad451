//! The life of a fork server.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_python::extensions::Listeners;
use ferroflow_python::{ChildLimits, Entry, Error, ForkServer, ParseOutcome, Sink};
use rustix::process::{Pid, Signal, kill_process};

use crate::bridge::support::{Bridge, eventually, options, processes};

const DAG: &str = "\nfrom airflow.sdk import DAG\ndag = DAG('survivor', schedule=None)\n";

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_killed_fork_server_comes_back_and_the_parse_is_repeated() {
    let bridge = Bridge::start().await;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    let listeners = Listeners::new(bridge.server.clone());
    assert!(!listeners.hear_import_errors().await.unwrap());
    // The first attempt leaves a process in a session of its own, and waits.
    let text = format!(
        "import os, subprocess, time
if not os.path.exists(__file__ + '.began'):
    subprocess.Popen(['sleep', '600'], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    open(__file__ + '.began', 'w')
    time.sleep(600)
{DAG}"
    );
    let request = bridge.request("dag_file.py", text);
    let began = bridge.folder.path().join("dag_file.py.began");
    let killer = async {
        eventually("the file is being parsed", || began.exists()).await;
        kill(server);
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = bridge.parse(&request) => report,
        () = killer => unreachable!(),
    };
    let ParseOutcome::Parsed(parsed) = report.outcome else { panic!("{report:?}") };
    assert_eq!(parsed.dags.len(), 1);
    eventually("only the new fork server is left", || bridge.processes().len() == 1).await;
    assert_ne!(bridge.processes(), [server]);
    assert!(!listeners.hear_import_errors().await.unwrap(), "a helper that died with it is replaced");
}

#[tokio::test]
async fn a_file_that_kills_the_fork_server_is_told_so_and_no_other() {
    let bridge = Bridge::start().await;
    let killer = "# airflow dag
import os, signal, time
while not os.path.exists(os.path.dirname(__file__) + '/innocent.began'):
    time.sleep(0.01)
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
";
    // In each attempt it is at work when the other kills, if they are at work together.
    let innocent = format!(
        "import os, time
began = os.path.dirname(__file__) + '/innocent.began'
open(began, 'w')
time.sleep(1)
{DAG}"
    );
    let (killer, innocent) = (bridge.request("killer.py", killer), bridge.request("innocent.py", innocent));
    let (killer, innocent) = tokio::join!(bridge.parse(&killer), bridge.parse(&innocent));
    let ParseOutcome::Failed(failure) = killer.outcome else { panic!("{killer:?}") };
    assert!(failure.to_string().contains("tried 3 times"), "{failure}");
    let ParseOutcome::Parsed(parsed) = innocent.outcome else { panic!("{innocent:?}") };
    assert_eq!(parsed.dags.len(), 1);
    assert_eq!(bridge.parsed(DAG).await.dags.len(), 1);
}

#[tokio::test]
async fn it_ends_with_its_last_handle_and_takes_everything_along() {
    let bridge = Bridge::start().await;
    let request = bridge.request("dag_file.py", "# airflow dag\nimport subprocess, time\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nopen(__file__ + '.began', 'w')\ntime.sleep(600)\n");
    let began = bridge.folder.path().join("dag_file.py.began");
    tokio::select! {
        report = bridge.parse(&request) => panic!("{report:?}"),
        () = eventually("the file is being parsed", || began.exists()) => {}
    }
    let mark = bridge.mark.clone();
    drop(bridge);
    eventually("nothing is left", || processes(&mark).is_empty()).await;
}

#[tokio::test]
async fn stopping_waits_for_the_end() {
    let bridge = Bridge::start().await;
    bridge.server.stop().await;
    assert!(bridge.processes().is_empty());
}

#[tokio::test]
async fn the_signals_of_a_terminal_do_not_reach_it() {
    let bridge = Bridge::shared().await;
    let [server] = bridge.processes()[..] else { panic!("one process") };
    let pid = Pid::from_raw(server).unwrap();
    assert_eq!(rustix::process::getsid(Some(pid)).unwrap(), pid);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(pid, signal).unwrap();
    }
    assert_eq!(bridge.parsed(DAG).await.dags.len(), 1);
    assert_eq!(bridge.processes(), [server]);
}

#[tokio::test]
async fn many_files_are_parsed_at_a_time() {
    let bridge = Arc::new(Bridge::shared().await);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let bridge = Arc::clone(&bridge);
        let text =
            format!("from airflow.sdk import DAG, Variable\nVariable.get('known')\ndag = DAG('d{number}')\n");
        let request = bridge.request(&format!("file_{number}.py"), text);
        tasks.spawn(async move { bridge.parse(&request).await });
    }
    while let Some(report) = tasks.join_next().await {
        let report = report.unwrap();
        assert!(
            matches!(&report.outcome, ParseOutcome::Parsed(parsed) if parsed.dags.len() == 1),
            "{report:?}"
        );
    }
    assert_eq!(bridge.processes().len(), 1);
}

#[tokio::test]
async fn python_is_started_by_whoever_needs_it_first() {
    let folder = tempfile::TempDir::new().unwrap();
    let server = ForkServer::at_first_use(options(folder.path(), "first use"));
    assert!(processes("first use").is_empty());
    let (one, other) = tokio::join!(server.sdk_version(), server.sdk_version());
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(processes("first use").len(), 1);
    server.stop().await;
    assert!(processes("first use").is_empty());
    let mut without = options(folder.path(), "none");
    without.python = "/usr/bin/python3".into();
    let server = ForkServer::at_first_use(without);
    for _ in 0..2 {
        assert!(matches!(server.sdk_version().await, Err(Error::Boot { .. })));
    }
    // There is nothing to stop.
    server.stop().await;
}

#[tokio::test]
async fn an_interpreter_without_airflow_is_told_with_its_own_words() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut without = options(folder.path(), "none");
    without.python = "/usr/bin/python3".into();
    let error = ForkServer::start(without).await.unwrap_err();
    assert!(matches!(error, Error::Boot { .. }));
    assert!(error.to_string().contains("No module named 'airflow'"), "{error}");
    let mut absent = options(folder.path(), "none");
    absent.python = folder.path().join("python");
    assert!(matches!(ForkServer::start(absent).await.unwrap_err(), Error::Start { .. }));
}

#[tokio::test]
async fn a_configuration_that_airflow_refuses_is_told_with_its_own_words() {
    let folder = tempfile::TempDir::new().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("airflow.cfg"), "[core\nbroken").unwrap();
    let error = ForkServer::start(options(folder.path(), "none")).await.unwrap_err();
    assert!(error.to_string().contains("airflow.cfg"), "{error}");
}

#[tokio::test]
async fn a_boot_that_takes_too_long_is_ended() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut hasty = options(folder.path(), "hasty");
    hasty.boot_timeout = Duration::from_millis(1);
    let error = ForkServer::start(hasty).await.unwrap_err();
    assert!(matches!(error, Error::BootTimeout { .. }), "{error}");
    assert!(processes("hasty").is_empty());
}

#[tokio::test]
async fn a_child_that_cannot_begin_ends_with_its_reason_in_the_tail() {
    let bridge = Bridge::shared().await;
    let sink: Arc<dyn Sink> = Arc::clone(&bridge.lines) as Arc<dyn Sink>;
    let limits = ChildLimits { memory: Some(1 << 20) };
    let mut child = bridge.server.fork(Entry::Parse, limits, &sink).await.unwrap();
    drop(child.take_channel());
    let exit = child.wait().await.unwrap();
    assert!(!exit.status.success(), "{exit:?}");
    assert_eq!(bridge.processes().len(), 1);
}
