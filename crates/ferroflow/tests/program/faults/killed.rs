//! Python's fork server is killed while tasks run, and while they are started.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::wait_until;
use rustix::process::Signal;

use crate::faults::stage::{Stage, children, signal};

#[tokio::test]
async fn tasks_of_a_killed_fork_server_are_failed_or_run_again() {
    let stage = Stage::on(Server::Postgres).await;
    stage.write(
        "",
        r#"
def lasting(name, tries):
    @task(task_id=name, retries=tries - 1, retry_delay=timedelta(seconds=1),
          on_failure_callback=told("failure"), on_retry_callback=told("retry"))
    def run():
        if ran() == 1:
            subprocess.Popen(["sleep", "600"], start_new_session=True)
            time.sleep(600)
    run()

lasting("first", 2)
lasting("second", 2)
lasting("last", 1)
"#,
    );
    let mut running = stage.start();
    stage.wait_for_lines("ran", 3, &running);
    let servers = children(running.id());
    assert_eq!(servers.len(), 1, "{servers:?}");
    signal(servers[0], Signal::KILL);
    assert_eq!(running.wait_for_end(120), Some(1), "{}", running.log());
    stage.assert_nobody_left();

    let states = stage.states().await;
    let expected = [("first", "success 2"), ("last", "failed 1"), ("second", "success 2")];
    assert_eq!(states, expected.map(|(task, state)| (task.to_owned(), state.to_owned())).into());
    for task in ["first", "second", "last"] {
        let critical = stage.critical(task, 1);
        assert!(critical.len() == 1 && critical[0].contains("fork server"), "{task}: {critical:?}");
    }
    let mut trace = stage.trace();
    trace.sort();
    let expected = [
        "failure last 1",
        "ran first 1",
        "ran first 2",
        "ran last 1",
        "ran second 1",
        "ran second 2",
        "retry first 1",
        "retry second 1",
    ];
    assert_eq!(trace, expected, "{}", running.log());
}

#[tokio::test]
async fn a_fork_server_that_is_killed_twice_among_short_tasks_has_none_run_twice() {
    let stage = Stage::on(Server::Sqlite).await.with("AIRFLOW__CORE__PARALLELISM", "3");
    stage.write(
        "",
        r#"
@task(retries=3, retry_delay=timedelta(seconds=1))
def short(number):
    ti = get_current_context()["ti"]
    trace("ran", number, ti.try_number)

short.expand(number=list(range(30)))
"#,
    );
    let mut running = stage.start();
    for count in [4, 14] {
        stage.wait_for_lines("ran", count, &running);
        let server = wait_for_server(running.id());
        signal(server, Signal::KILL);
    }
    assert_eq!(running.wait_for_end(120), Some(0), "{}", running.log());
    stage.assert_nobody_left();
    let mut trace = stage.trace();
    trace.sort();
    let count = trace.len();
    trace.dedup();
    assert_eq!(trace.len(), count, "a try ran twice: {trace:?}\n{}", running.log());
    for number in 0..30 {
        assert!(trace.iter().any(|line| line.starts_with(&format!("ran {number} "))), "{number}: {trace:?}");
    }
    let unlike = "SELECT CAST(map_index AS VARCHAR(9)) AS answer FROM task_instance WHERE state != 'success'";
    assert_eq!(stage.ask(unlike).await, Vec::<String>::new(), "{}", running.log());
}

/// Python's fork server, as soon as there is one.
fn wait_for_server(ferroflow: u32) -> u32 {
    assert!(wait_until(30, || !children(ferroflow).is_empty()));
    children(ferroflow)[0]
}
