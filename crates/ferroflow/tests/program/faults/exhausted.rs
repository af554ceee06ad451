//! The system is out of what the process of a task takes: the task waits, and does not fail.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use ferroflow_testkit::Server;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};

use crate::faults::FERROFLOW;
use crate::faults::stage::{Stage, children, until};

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

/// Three tasks, which begin when they may, beside one that is there before and ends after them.
const BESIDE_ANOTHER: &str = r#"
@task
def beside():
    ran()
    trace("beside", 1)
    wait_for("end")

@task
def first():
    ran()
    wait_for("go")

@task
def later(number):
    ran()
    print("it was heard")

beside()
first() >> later.expand(number=[0, 1, 2])
"#;

#[tokio::test]
async fn tasks_that_waited_for_our_own_descriptors_have_their_logs() {
    // SQLite opens files all the time.
    let stage = Stage::on(Server::Postgres).await.with("AIRFLOW__CORE__PARALLELISM", "4");
    stage.write("", BESIDE_ANOTHER);
    let mut running = stage.start();
    stage.wait_for_lines("ran", 2, &running);
    let pid = Pid::from_raw(running.id().cast_signed());
    let limit = |limit: Rlimit| prlimit(pid, Resource::Nofile, limit).unwrap();
    let usual = limit(Rlimit { current: Some(3), maximum: Some(MOST) });
    stage.let_go("go");
    let waits = until(60, async || running.log().contains("a process is started later")).await;
    assert!(waits, "{}", running.log());
    limit(Rlimit { current: usual.current.map(|usual| usual.min(MOST)), maximum: Some(MOST) });
    stage.wait_for_lines("ran", 5, &running);
    stage.let_go("end");
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    assert_eq!(first_tries(&stage), 5, "{:?}", stage.trace());
    for number in 0..3 {
        let log = stage.log(&format!("later/map_index={number}"), 1);
        assert!(log.iter().any(|record| record["event"] == "it was heard"), "{number}: {log:?}");
    }
    stage.assert_nobody_left();
}

#[tokio::test]
async fn tasks_wait_while_no_more_descriptors_may_be_on_their_way() {
    const OWN: usize = 600;
    let stage = Stage::on(Server::Sqlite).await.with("AIRFLOW__CORE__PARALLELISM", "4");
    stage.write("", BESIDE_ANOTHER);
    // Who may do everything may have as many on their way as there are.
    let limits = format!("--nofile={USUAL}:{OWN}");
    let mut command = vec!["/usr/bin/prlimit", &limits, FERROFLOW, "dags", "test", "faults"];
    if geteuid().is_root() {
        command.splice(..0, ["/usr/bin/setpriv", "--bounding-set=-sys_resource,-sys_admin"]);
    }
    let mut running = stage.place.start(command[0], &command[1..]);
    stage.wait_for_lines("ran", 2, &running);
    let on_their_way = send_descriptors(OWN + 100);
    stage.let_go("go");
    let waits = until(60, async || running.log().contains("a process is started later")).await;
    assert!(waits, "{}", running.log());
    drop(on_their_way);
    stage.wait_for_lines("ran", 5, &running);
    stage.let_go("end");
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    assert_eq!(
        first_tries(&stage),
        5,
        "the fork server lives, and so does what it had forked: {:?}",
        stage.trace()
    );
    stage.assert_nobody_left();
}

/// Hands descriptors over to somebody who does not take them.
fn send_descriptors(count: usize) -> (UnixStream, UnixStream) {
    const AT_ONCE: usize = 100;
    let (from, to) = UnixStream::pair().unwrap();
    let nothing = std::fs::File::open("/dev/null").unwrap();
    let descriptors = [nothing.as_fd(); AT_ONCE];
    for _ in 0..count.div_ceil(AT_ONCE) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(AT_ONCE))];
        let mut attached = SendAncillaryBuffer::new(&mut space);
        assert!(attached.push(SendAncillaryMessage::ScmRights(&descriptors)));
        sendmsg(&from, &[IoSlice::new(b"x")], &mut attached, SendFlags::empty()).unwrap();
    }
    (from, to)
}

/// How many tasks ran, each once.
fn first_tries(stage: &Stage) -> usize {
    stage.trace().iter().filter(|line| line.starts_with("ran ") && line.ends_with(" 1")).count()
}
