//! The system is out of what the process of a task takes: the task waits, and does not fail.

use ferroflow_testkit::Server;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::FERROFLOW;
use crate::stage::{Stage, children, until};

const USUAL: u64 = 512;
const MOST: u64 = 4096;

#[tokio::test]
async fn tasks_wait_for_file_descriptors_and_do_not_fail() {
    let stage = Stage::on(Server::Sqlite).await.with("AIRFLOW__CORE__PARALLELISM", "4");
    stage.write(
        "",
        r#"
import resource

@task
def first():
    ran()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    trace("limit", limits[0])
    wait_for("go")

@task
def later(number):
    ran()

first() >> later.expand(number=[0, 1, 2])
"#,
    );
    // It raises its own limit as far as it may, and user code has the one that it was started with.
    let limits = format!("--nofile={USUAL}:{MOST}");
    let mut running = stage.place.start("/usr/bin/prlimit", &[&limits, FERROFLOW, "dags", "test", "faults"]);
    stage.wait_for_lines("limit", 1, &running);
    assert_eq!(stage.count(&format!("limit {USUAL}")), 1, "{:?}", stage.trace());
    let own = std::fs::read_to_string(format!("/proc/{}/limits", running.id())).unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    assert_eq!(own.split_whitespace().next(), Some(&*MOST.to_string()));

    let [fork_server] = children(running.id())[..] else { panic!("one fork server") };
    let limit = |current: u64| {
        let pid = Pid::from_raw(fork_server.cast_signed());
        let limit = Rlimit { current: Some(current), maximum: Some(MOST) };
        prlimit(pid, Resource::Nofile, limit).unwrap();
    };
    limit(3);
    stage.let_go("go");
    let waits = until(60, async || running.log().contains("a process is started later")).await;
    assert!(waits, "{}", running.log());
    limit(USUAL);
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    assert_eq!(first_tries(&stage), 4, "{:?}", stage.trace());
    stage.assert_nobody_left();
}

/// How many tasks ran, each once.
fn first_tries(stage: &Stage) -> usize {
    stage.trace().iter().filter(|line| line.starts_with("ran ") && line.ends_with(" 1")).count()
}
