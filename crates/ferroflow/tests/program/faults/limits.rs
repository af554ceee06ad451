//! Times that a task may take, and the sign of life that it gives.

use std::collections::BTreeSet;

use ferroflow_testkit::Server;

use crate::faults::stage::{Stage, until};

const TASKS: &str = r#"
@task(execution_timeout=timedelta(seconds=2))
def takes_too_long():
    ran()
    try:
        time.sleep(600)
    except BaseException as error:
        trace("raised", type(error).__name__)
        raise

@task(on_success_callback=hangs)
def has_a_callback_that_hangs():
    ran()

@task(on_failure_callback=hangs)
def fails_with_a_callback_that_hangs():
    ran()
    raise ValueError("no")

@task
def lives():
    ran()
    wait_for("seen")

[takes_too_long(), has_a_callback_that_hangs(), fails_with_a_callback_that_hangs(), lives()]
"#;

#[tokio::test]
async fn what_takes_too_long_is_ended_and_what_lives_says_so() {
    let stage = Stage::on(Server::Postgres)
        .await
        .with("AIRFLOW__CORE__TASK_SUCCESS_OVERTIME", "2")
        .with("AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL", "1");
    stage.write(
        r#"
def hangs(context):
    trace("callback", context["ti"].task_id)
    time.sleep(600)
"#,
        TASKS,
    );
    let mut running = stage.start();
    stage.wait_for_lines("ran", 4, &running);
    let beats = std::cell::RefCell::new(BTreeSet::new());
    let question = "SELECT COALESCE(CAST(last_heartbeat_at AS text), '') AS answer FROM task_instance \
                    WHERE task_id = 'lives'";
    let moves = until(60, async || {
        let found = stage.ask(question).await;
        beats.borrow_mut().extend(found);
        beats.borrow().len() >= 4
    })
    .await;
    assert!(moves, "{beats:?}\n{}", running.log());
    stage.let_go("seen");
    assert_eq!(running.wait_for_end(60), Some(1), "{}", running.log());
    stage.assert_nobody_left();

    let states = stage.states().await;
    let expected = [
        ("fails_with_a_callback_that_hangs", "failed 1"),
        ("has_a_callback_that_hangs", "success 1"),
        ("lives", "success 1"),
        ("takes_too_long", "failed 1"),
    ];
    assert_eq!(states, expected.map(|(task, state)| (task.to_owned(), state.to_owned())).into());
    assert_eq!(stage.count("raised AirflowTaskTimeout"), 1, "{:?}", stage.trace());
    for task in ["has_a_callback_that_hangs", "fails_with_a_callback_that_hangs"] {
        assert_eq!(stage.count(&format!("callback {task}")), 1, "{:?}", stage.trace());
        let log = stage.log(task, 1);
        let told =
            log.iter().filter(|record| record["event"].as_str().unwrap().contains("task_success_overtime"));
        assert_eq!(told.count(), 1, "{task}: {log:?}");
        assert_eq!(stage.critical(task, 1), Vec::<String>::new());
    }
}
