//! What those see who run a scheduler: metrics, its state on a signal, logs, a daemon, a number of loops.

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use ferroflow_db::testing;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running, in_venv, wait_until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::scheduler::FERROFLOW;
use crate::scheduler::http::get;
use crate::scheduler::scene::{free_port, let_go, notes, scene, scene_with, wait_for_runs};

/// One run, of two tasks.
const ONE_RUN: &str = "
with DAG('measured', schedule='@once', start_date=datetime(2024, 1, 1), catchup=True):

    @task(outlets=[Asset('measured')])
    def first():
        note('begins')
        note('ends')

    @task
    def second():
        note('begins')
        note('ends')

    first() >> second()
";

/// A task that waits until a file is there.
const WAITING: &str = "
with DAG('waiting', schedule='@once', start_date=datetime(2024, 1, 1), catchup=True):

    @task
    def held():
        note('begins')
        wait_for('go')
        note('ends')

    held()
";

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn end(mut scheduler: Running) {
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(60), Some(0), "{}", scheduler.log());
}

/// How often each metric was sent, by name and without its tags.
fn received(socket: &UdpSocket) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut buffer = [0; 4096];
    while let Ok(length) = socket.recv(&mut buffer) {
        for line in String::from_utf8_lossy(&buffer[..length]).lines() {
            *counts.entry(line.split(':').next().unwrap().to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Both are told the same: statsd, by datagrams, and Prometheus, which asks.
#[tokio::test]
async fn a_scheduler_is_measured() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let (statsd, health) = (socket.local_addr().unwrap().port().to_string(), free_port());
    let place = scene(Server::Postgres, ONE_RUN)
        .await
        .with("AIRFLOW__METRICS__STATSD_ON", "True")
        .with("AIRFLOW__METRICS__STATSD_PORT", &statsd)
        .with("AIRFLOW__METRICS__STATSD_HOST", "127.0.0.1")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC", "1")
        .with("AIRFLOW__SCHEDULER__POOL_METRICS_INTERVAL", "0.2")
        .with("AIRFLOW__SCHEDULER__TI_METRICS_INTERVAL", "0.2")
        .with("AIRFLOW__SCHEDULER__DAGRUN_METRICS_INTERVAL", "0.2")
        .with("AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK", "True")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_HOST", "127.0.0.1")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT", &health.to_string());
    let scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert_eq!(wait_for_runs(&place, 1, 60).await, ["measured success"], "{}", scheduler.log());
    let shown = || get(health, "/metrics").map(|answer| answer.body).unwrap_or_default();
    let pools = "airflow_pool_open_slots{pool_name=\"default_pool\"} 128";
    assert!(wait_until(30, || shown().contains(pools)), "{}", shown());
    assert!(wait_until(30, || shown().contains("\nairflow_scheduler_heartbeat ")), "{}", shown());
    let shown = get(health, "/metrics").unwrap();
    assert_eq!(shown.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    end(scheduler);
    for line in [
        "airflow_task_instance_created{dag_id=\"measured\",run_type=\"scheduled\",task_type=\"_PythonDecoratedOperator\"} 2",
        "airflow_task_scheduled_duration_count{dag_id=\"measured\",task_id=\"first\",queue=\"default\"} 1",
        "airflow_dagrun_duration_success_count{dag_id=\"measured\",run_type=\"scheduled\"} 1",
        "airflow_executor_open_slots{status=\"open\",executor_class_name=\"LocalExecutor\"} 32",
        "airflow_scheduler_dagruns_running 0",
        "airflow_asset_updates 1",
        "airflow_job_start 1",
    ] {
        assert!(shown.body.lines().any(|shown| shown == line), "{line}\n{}", shown.body);
    }
    let sent = received(&socket);
    let times = |name: &str| sent.get(name).copied().unwrap_or_default();
    for name in ["job_start", "job_end", "dagrun.duration.success", "dagrun.duration.success.measured"] {
        assert_eq!(times(&format!("airflow.{name}")), 1, "{name} {sent:#?}");
    }
    // Tasks tell of themselves, if their Python has a client for statsd; this one has none.
    for name in ["ti.start", "ti.finish", "ti_successes", "task.duration"] {
        assert_eq!(times(&format!("airflow.{name}")), 0, "{name} {sent:#?}");
    }
    for name in [
        "scheduler_heartbeat",
        "scheduler.scheduler_loop_duration",
        "scheduler.critical_section_duration",
        "scheduler.critical_section_query_duration",
        "scheduler.executor_heartbeat_duration",
        "scheduler.tasks.executable",
        "scheduler.dag_bag.cache_miss",
        "pool.open_slots.default_pool",
        "executor.open_slots.LocalExecutor",
        "dag.measured.first.scheduled_duration",
        "dagrun.dependency-check.measured",
    ] {
        assert!(times(&format!("airflow.{name}")) > 0, "{name} {sent:#?}");
    }
}

#[tokio::test]
async fn a_scheduler_tells_its_state_on_a_signal() {
    let place = scene(Server::Postgres, WAITING).await.with("AIRFLOW__LOGGING__JSON_LOGS", "True");
    let scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || notes(&place).len() == 1), "{}", scheduler.log());
    signal(scheduler.id(), Signal::USR2);
    let lines = || -> Vec<Value> {
        let log = scheduler.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines
            .filter(|line: &Value| line["event"].as_str().is_some_and(|event| event.starts_with("state:")))
            .collect()
    };
    let find = |event: &str| lines().into_iter().find(|line| line["event"] == event);
    assert!(
        wait_until(30, || find("state: what is waited for besides events").is_some()),
        "{}",
        scheduler.log()
    );
    assert_eq!(find("state: the scheduler").unwrap()["runs"], 1);
    let executor = find("state: an executor").unwrap();
    assert_eq!((&executor["slots"], &executor["running"]), (&32.into(), &1.into()));
    let task = find("state: a task at its executor").unwrap();
    let named = ["dag_id", "task_id", "map_index", "try_number"].map(|name| task[name].clone());
    assert_eq!(json!(named), json!(["waiting", "held", -1, 1]));
    assert_eq!(find("state: a run").unwrap()["unfinished"], 1);
    let_go(&place, "go");
    assert_eq!(wait_for_runs(&place, 1, 60).await, ["waiting success"]);
    end(scheduler);
}

#[tokio::test]
async fn lines_of_logs_name_dag_run_task_and_try() {
    let settings = [("AIRFLOW__LOGGING__JSON_LOGS", "True"), ("AIRFLOW__LOGGING__LOGGING_LEVEL", "DEBUG")];
    let place = scene_with(Server::Sqlite, ONE_RUN, &settings).await;
    let scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert_eq!(wait_for_runs(&place, 1, 60).await, ["measured success"], "{}", scheduler.log());
    let log = scheduler.log();
    end(scheduler);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let about = |event: &str| lines.iter().find(|line| line["event"] == event).cloned().unwrap_or_default();
    let task = about("task instance sent to its executor");
    let named = ["dag_id", "task_id", "map_index", "try_number", "level"].map(|name| task[name].clone());
    assert_eq!(json!(named), json!(["measured", "first", -1, 1, "debug"]), "{log}");
    assert!(task["run_id"].as_str().unwrap().starts_with("scheduled__"), "{task}");
    let ended = lines.iter().find(|line| line["event"].as_str().unwrap().starts_with("run has ended"));
    assert_eq!(ended.unwrap()["dag_id"], "measured");
}

#[tokio::test]
async fn a_level_keeps_back_what_is_less() {
    let settings = [("AIRFLOW__LOGGING__LOGGING_LEVEL", "ERROR")];
    let place = scene_with(Server::Sqlite, ONE_RUN, &settings).await;
    let scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert_eq!(wait_for_runs(&place, 1, 60).await, ["measured success"]);
    assert_eq!(scheduler.log(), "");
    end(scheduler);
}

/// Whatever is to be done is done first.
#[tokio::test]
async fn after_so_many_idle_loops_it_ends() {
    let place = scene(Server::Sqlite, ONE_RUN).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler", "--num-runs", "3", "--only-idle"]);
    assert_eq!(scheduler.wait_for_end(120), Some(0), "{}", scheduler.log());
    let runs = wait_for_runs(&place, 1, 1).await;
    assert_eq!(runs, ["measured success"], "{}", scheduler.log());
    let mut scheduler = place.start(FERROFLOW, &["scheduler", "-n", "1"]);
    assert_eq!(scheduler.wait_for_end(60), Some(0), "{}", scheduler.log());
    let mut refused = place.start(FERROFLOW, &["scheduler", "--only-idle"]);
    assert_eq!(refused.wait_for_end(60), Some(1), "{}", refused.log());
    assert!(refused.log().contains("--num-runs"), "{}", refused.log());
}

/// A process that does not outlive its test.
struct Ended(Pid);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

#[tokio::test]
async fn a_daemon_is_found_by_its_pid_file_and_is_alone() {
    let place = scene(Server::Sqlite, ONE_RUN).await;
    let files = ["pid", "log", "out", "err"].map(|ending| place.root().join(format!("daemon.{ending}")));
    let [pid_file, log, out, err] = files.each_ref().map(|file| file.to_str().unwrap());
    let arguments =
        ["scheduler", "-D", "--pid", pid_file, "--log-file", log, "--stdout", out, "--stderr", err];
    fs::write(pid_file, "999999999\n").unwrap();
    let mut starter = place.start(FERROFLOW, &arguments);
    assert_eq!(starter.wait_for_end(60), Some(0), "{}", starter.log());
    let pid: i32 = fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    let _ended = Ended(pid);
    assert_eq!(rustix::process::getsid(Some(pid)).unwrap(), pid, "it has a session of its own");
    let told = || fs::read_to_string(log).unwrap_or_default();
    assert_eq!(wait_for_runs(&place, 1, 60).await, ["measured success"], "{}", told());
    let mut second = place.start(FERROFLOW, &arguments);
    assert_eq!(second.wait_for_end(60), Some(1));
    assert!(second.log().contains(&format!("already running under PID {}", pid.as_raw_nonzero())));
    kill_process(pid, Signal::TERM).unwrap();
    assert!(wait_until(60, || test_kill_process(pid).is_err()), "{}", told());
    assert!(!fs::exists(pid_file).unwrap());
    assert!(told().contains("scheduling"), "{}", told());
    assert_eq!(fs::read_to_string(err).unwrap(), "");
}

/// Whose function says how this host is called.
const OWN_NAME: &str = "def name():\n    print('of our own')\n    return 'host-of-our-own'\n";

#[tokio::test]
async fn rows_name_the_host_as_its_function_does() {
    for (function, expected) in [
        ("airflow.utils.net.getfqdn", None),
        ("airflow.utils.net.get_host_ip_address", None),
        ("socket.gethostname", None),
        ("naming.name", Some("host-of-our-own")),
    ] {
        let place = Place::on(Server::Sqlite).await.with("AIRFLOW__CORE__HOSTNAME_CALLABLE", function);
        fs::create_dir_all(place.root().join("home/config")).unwrap();
        fs::write(place.root().join("home/config/naming.py"), OWN_NAME).unwrap();
        let scheduler = place.start(FERROFLOW, &["scheduler"]);
        let db = place.db().connect().await;
        let names = "SELECT hostname AS answer FROM job WHERE job_type = 'SchedulerJob'";
        let mut found = Vec::new();
        for _ in 0..240 {
            found = testing::texts(&db, names).await.unwrap();
            if !found.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        db.close().await;
        end(scheduler);
        let expected = expected.map_or_else(|| name_in_python(function), str::to_owned);
        assert_eq!(found, [expected], "{function}");
    }
}

/// What Python calls this host.
fn name_in_python(function: &str) -> String {
    let (module, _) = function.rsplit_once('.').unwrap();
    let text = format!("import {module}; print({function}())");
    let asked = Command::new(in_venv("python")).args(["-c", &text]).output().unwrap();
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}
