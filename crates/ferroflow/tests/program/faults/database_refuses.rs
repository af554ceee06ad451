//! The metadata database refuses to be written to while tasks end, and takes it again.

use std::fs;

use ferroflow_db::testing::execute;
use ferroflow_testkit::dag_processing::{Running, wait_until};
use ferroflow_testkit::{Server, given};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::faults::FERROFLOW;
use crate::faults::stage::Stage;

const TASKS: &str = r#"
@task
def ends():
    ran()
    wait_for("refused")

@task
def pushes():
    ran()
    wait_for("refused")
    return "pushed"

@task(retries=1, retry_delay=timedelta(seconds=1))
def crashes():
    if ran() == 1:
        wait_for("refused")
        os._exit(7)

[ends(), pushes(), crashes()]
"#;

/// What is waiting to be stored then.
const WAITING: [&str; 3] = ["the state of a task waits", "the end of a task waits", "SetXCom waits"];

/// As after a failover: who is connected to the old server may only read there, for as long as it stays.
#[tokio::test]
async fn what_became_of_tasks_is_stored_when_postgres_is_not_read_only_any_more() {
    let stage = Stage::on(Server::Postgres).await;
    stage.write("", TASKS);
    let mut running = stage.start();
    stage.wait_for_lines("ran", 3, &running);
    let database = stage.place.db();
    let alter = async |change: &str| {
        let statement = format!("ALTER DATABASE {} {change}", database.name());
        execute(&given("POSTGRES"), &[statement]).await.unwrap();
    };
    alter("SET default_transaction_read_only = on").await;
    database.disconnect_everybody().await;
    wait_while_refused(&stage, &mut running);
    alter("RESET default_transaction_read_only").await;
    nothing_is_lost(&stage, &mut running).await;
}

/// As on a disk that is full.
#[tokio::test]
async fn what_became_of_tasks_is_stored_when_there_is_room_for_sqlite_again() {
    let stage = Stage::on(Server::Sqlite).await;
    stage.write("", TASKS);
    // A write that is too much is an error then, and does not end the process.
    let script = "trap '' XFSZ; exec \"$0\" dags test faults";
    let mut running = stage.place.start("/bin/sh", &["-c", script, FERROFLOW]);
    stage.wait_for_lines("ran", 3, &running);
    let written = fs::metadata(stage.place.db().sqlite_path().with_extension("db-wal")).unwrap().len();
    let process = Pid::from_raw(i32::try_from(running.id()).unwrap());
    let limit = |current| prlimit(process, Resource::Fsize, Rlimit { current, maximum: None }).unwrap();
    limit(Some(written));
    wait_while_refused(&stage, &mut running);
    limit(None);
    nothing_is_lost(&stage, &mut running).await;
}

/// Lets the tasks end, and waits until all of them wait for the database.
fn wait_while_refused(stage: &Stage, running: &mut Running) {
    stage.let_go("refused");
    let is_waiting = wait_until(60, || WAITING.iter().all(|words| running.log().contains(words)));
    assert!(is_waiting && !running.has_ended(), "{}", running.log());
}

async fn nothing_is_lost(stage: &Stage, running: &mut Running) {
    assert_eq!(running.wait_for_end(90), Some(0), "{}", running.log());
    stage.assert_nobody_left();
    let states = stage.states().await;
    let states: Vec<String> = states.iter().map(|(task, state)| format!("{task} {state}")).collect();
    assert_eq!(states, ["crashes success 2", "ends success 1", "pushes success 1"], "{}", running.log());
    let mut trace = stage.trace();
    trace.sort();
    assert_eq!(trace, ["ran crashes 1", "ran crashes 2", "ran ends 1", "ran pushes 1"]);
    let xcoms = stage.ask("SELECT task_id AS answer FROM xcom").await;
    assert_eq!(xcoms, ["pushes"]);
}
