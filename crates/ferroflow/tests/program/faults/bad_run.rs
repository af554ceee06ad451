//! The row of a run cannot be read while its tasks end, and is mended.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::wait_until;

use crate::faults::stage::{Stage, until};

const TASKS: &str = r#"
@task(priority_weight=3)
def ends():
    ran()
    wait_for("spoilt")

@task(priority_weight=2, retries=1, retry_delay=timedelta(seconds=1), on_retry_callback=told("retried"))
def crashes():
    if ran() == 1:
        wait_for("spoilt")
        os._exit(7)

@task
def waits_for_a_slot():
    ran()

[ends(), crashes(), waits_for_a_slot()]
"#;

#[tokio::test]
async fn what_became_of_tasks_is_stored_though_their_run_cannot_be_read() {
    let stage = Stage::on(Server::Postgres).await.with("AIRFLOW__CORE__PARALLELISM", "2");
    stage.write("", TASKS);
    let mut running = stage.start();
    stage.wait_for_lines("ran", 2, &running);
    let set = async |value: &str| {
        stage.place.db().execute(format!("UPDATE dag_run SET run_type = '{value}'")).await;
    };
    set("dataset_triggered").await;
    stage.let_go("spoilt");
    let words = "the end of a task waits until a row is mended: task_instance/facts: column run_type";
    assert!(wait_until(60, || running.log().contains(words)), "{}", running.log());
    let has_ended =
        until(60, async || stage.states().await.get("ends").is_some_and(|state| state == "success 1")).await;
    assert!(has_ended, "what needs nothing of the run waits for nothing: {}", running.log());
    assert_eq!(stage.states().await["crashes"], "running 1");
    set("manual").await;
    assert_eq!(running.wait_for_end(90), Some(0), "{}", running.log());
    stage.assert_nobody_left();
    let states = stage.states().await;
    let states: Vec<String> = states.iter().map(|(task, state)| format!("{task} {state}")).collect();
    assert_eq!(states, ["crashes success 2", "ends success 1", "waits_for_a_slot success 1"]);
    let mut trace = stage.trace();
    trace.sort();
    let expected =
        ["ran crashes 1", "ran crashes 2", "ran ends 1", "ran waits_for_a_slot 1", "retried crashes 1"];
    assert_eq!(trace, expected, "each once");
}
