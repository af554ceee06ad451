//! The metadata database goes away while tasks run, and comes back.

use std::thread::sleep;
use std::time::Duration;

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::wait_until;

use crate::faults::proxy::Proxy;
use crate::faults::stage::{Stage, is_alive};

/// How long it is gone.
const GONE: Duration = Duration::from_secs(20);

const TASKS: &str = r#"
@task
def asks():
    ran()
    wait_for("gone")
    trace("has", Variable.get("v"))

@task
def pushes():
    ran()
    wait_for("gone")
    get_current_context()["ti"].xcom_push("pushed", [1, 2])

@task
def ends():
    ran()
    wait_for("gone")
    return "ended"

@task(retries=1, retry_delay=timedelta(seconds=1))
def fails():
    if ran() == 1:
        wait_for("gone")
        raise ValueError("once")

@task(retries=1, retry_delay=timedelta(seconds=1))
def crashes():
    if ran() == 1:
        wait_for("gone")
        os._exit(7)

@task(retries=1, retry_delay=timedelta(seconds=3))
def is_due():
    # While the database is gone it is time for the second try.
    if ran() == 1:
        raise ValueError("once")

@task
def lasts():
    ran()
    wait_for("back")

[asks(), pushes(), ends(), fails(), crashes(), is_due(), lasts()]
"#;

#[tokio::test]
async fn tasks_go_on_when_the_database_is_back() {
    let stage = Stage::on(Server::Postgres).await.with("AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL", "1");
    stage
        .place
        .db()
        .execute("INSERT INTO variable (key, val, is_encrypted) VALUES ('v', 'kept', false)")
        .await;
    let (stage, mut proxy) = behind_a_proxy(stage);
    stage.write("", TASKS);
    let mut running = stage.start();
    stage.wait_for_lines("ran", 7, &running);
    proxy.cut();
    stage.let_go("gone");
    sleep(GONE);
    assert!(!running.has_ended(), "{}", running.log());
    proxy.mend();
    stage.let_go("back");
    assert_eq!(running.wait_for_end(90), Some(0), "{}", running.log());
    stage.assert_nobody_left();

    let states = stage.states().await;
    for (task, state) in &states {
        let expected =
            if matches!(task.as_str(), "fails" | "crashes" | "is_due") { "success 2" } else { "success 1" };
        assert_eq!(state, expected, "{task}\n{}", running.log());
    }
    let mut trace = stage.trace();
    trace.sort();
    let expected = [
        "has kept",
        "ran asks 1",
        "ran crashes 1",
        "ran crashes 2",
        "ran ends 1",
        "ran fails 1",
        "ran fails 2",
        "ran is_due 1",
        "ran is_due 2",
        "ran lasts 1",
        "ran pushes 1",
    ];
    assert_eq!(trace, expected);
    let xcoms =
        "SELECT task_id || ' ' || key || ' ' || CAST(value AS text) AS answer FROM xcom ORDER BY task_id";
    let xcoms = stage.ask(xcoms).await;
    assert_eq!(xcoms, ["ends return_value \"ended\"", "pushes pushed [1, 2]"]);
    assert!(running.log().contains("heartbeats of tasks wait for an answer"), "{}", running.log());
}

/// By then others take it for dead, and may have started it again.
#[tokio::test]
async fn a_task_that_cannot_say_for_too_long_that_it_lives_is_ended() {
    let stage = Stage::on(Server::Postgres)
        .await
        .with("AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL", "1")
        .with("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT", "5");
    let (stage, mut proxy) = behind_a_proxy(stage);
    stage.write(
        "",
        r#"
@task
def lasts():
    ran()
    trace("process", os.getpid())
    time.sleep(600)

lasts()
"#,
    );
    let mut running = stage.start();
    stage.wait_for_lines("process", 1, &running);
    let process = stage.trace()[1].strip_prefix("process ").unwrap().parse().unwrap();
    proxy.cut();
    assert!(wait_until(60, || !is_alive(process)), "{}", running.log());
    proxy.mend();
    assert_eq!(running.wait_for_end(90), Some(1), "{}", running.log());
    stage.assert_nobody_left();
    assert_eq!(stage.states().await["lasts"], "failed 1", "{}", running.log());
    assert_eq!(stage.trace().len(), 2);
    let critical = stage.critical("lasts", 1);
    assert!(critical.len() == 1 && critical[0].contains("heartbeat_timeout"), "{critical:?}");
}

fn behind_a_proxy(stage: Stage) -> (Stage, Proxy) {
    let url = stage.place.db().url();
    let (start, rest) = url.split_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let proxy = Proxy::to(server);
    let proxied = format!("{start}@{}/{database}", proxy.address());
    (stage.with("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", &proxied), proxy)
}
