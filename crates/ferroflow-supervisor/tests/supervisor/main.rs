//! Real tasks, run by a supervisor whose Execution API is not the database but a server behind a socket, as it is for a
//! worker on another host.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod client;
mod fixture;
mod server;

use std::time::Duration;

use ferroflow_supervisor::Supervised;
use serde_json::json;

use fixture::{Fixture, Python, id};
use server::Instance;

/// Python is started once for all of them: that takes longer than they do.
#[tokio::test]
async fn tasks_run_against_an_api_behind_a_socket() {
    let python = Python::start().await;
    let cases = async {
        tokio::join!(
            a_task_reads_a_variable_pushes_its_xcom_and_succeeds(&python),
            a_failure_is_a_retry_where_a_try_is_left(&python),
            an_unreported_end_is_a_failure_only_where_no_try_is_left(&python),
            a_task_that_may_not_run_is_not_started(&python),
            a_task_whose_heartbeat_is_refused_is_ended(&python, "sleep", Refuse::NotRunning),
            a_task_whose_heartbeat_is_refused_is_ended(&python, "sleep_again", Refuse::NotFound),
            a_server_that_is_away_for_a_while_is_waited_for(&python),
        )
    };
    tokio::time::timeout(Duration::from_mins(5), cases).await.expect("all of them end");
}

async fn a_task_reads_a_variable_pushes_its_xcom_and_succeeds(python: &Python) {
    let fixture = Fixture::new(python);
    let server = &fixture.server;
    server.set_variable("secret_greeting", "hello-from-afar");
    let ended = fixture.run("greet", Instance::new("queued", false, "token of greet")).await;
    assert!(matches!(ended, Supervised::Ended), "{ended:?}");
    assert_eq!(server.instance_state(&id("greet")), "success", "{}", fixture.log("greet"));
    assert_eq!(server.xcom("greet"), Some(json!({"said": "hello-from-afar", "conf": {"a": 1}})));
    let started = &server.calls("run")[0]["request"];
    assert_eq!((&started["hostname"], &started["unixname"]), (&json!("worker"), &json!("me")));
    let log = fixture.log("greet");
    assert!(log.contains("says ***") && !log.contains("hello-from-afar"), "{log}");
}

async fn a_failure_is_a_retry_where_a_try_is_left(python: &Python) {
    let fixture = Fixture::new(python);
    for (should_retry, expected) in [(true, "up_for_retry"), (false, "failed")] {
        fixture.run("fail", Instance::new("queued", should_retry, "")).await;
        assert_eq!(fixture.server.instance_state(&id("fail")), expected, "{}", fixture.log("fail"));
    }
}

/// Where a try is left, the scheduler decides: it learns of the end from its executor.
async fn an_unreported_end_is_a_failure_only_where_no_try_is_left(python: &Python) {
    let fixture = Fixture::new(python);
    for (should_retry, expected) in [(true, "running"), (false, "failed")] {
        fixture.run("die", Instance::new("queued", should_retry, "")).await;
        assert_eq!(fixture.server.instance_state(&id("die")), expected);
    }
    assert_eq!(fixture.server.calls("set_state").len(), 1);
    assert!(fixture.log("die").contains("exit code 7"));
}

async fn a_task_that_may_not_run_is_not_started(python: &Python) {
    let fixture = Fixture::new(python);
    for (state, token, expected) in [("success", "", "invalid_state"), ("queued", "another", "Invalid auth")]
    {
        let ended = fixture.run_with_token("greet", Instance::new(state, false, ""), token).await;
        let Supervised::NotStarted(reason) = ended else { panic!("{ended:?}") };
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(fixture.server.instance_state(&id("greet")), state);
    }
    assert_eq!(fixture.server.calls("run"), Vec::<serde_json::Value>::new());
}

#[derive(Clone, Copy)]
enum Refuse {
    /// 409.
    NotRunning,
    /// 404.
    NotFound,
}

async fn a_task_whose_heartbeat_is_refused_is_ended(python: &Python, task_id: &str, refuse: Refuse) {
    let fixture = Fixture::new(python);
    let stop = async {
        fixture.server.until_called("variable").await;
        match refuse {
            Refuse::NotRunning => fixture.server.set_instance_state(&id(task_id), "failed"),
            Refuse::NotFound => fixture.server.forget(&id(task_id)),
        }
    };
    let running = fixture.run(task_id, Instance::new("queued", false, ""));
    let (ended, ()) = tokio::join!(running, stop);
    assert!(matches!(ended, Supervised::Ended), "{ended:?}");
    assert!(fixture.log(task_id).contains("is not to run any more"), "{}", fixture.log(task_id));
    assert_eq!(fixture.server.calls("set_state").len(), 0, "nothing is reported of it");
}

/// It is away before the task starts and while it runs, and its answer to the state is lost.
async fn a_server_that_is_away_for_a_while_is_waited_for(python: &Python) {
    let fixture = Fixture::new(python);
    let server = &fixture.server;
    server.set_variable("secret_greeting", "hello-from-afar");
    server.lose_answer_to("set_state");
    server.go_away();
    let absences = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.come_back();
        server.until_called("run").await;
        server.go_away();
        tokio::time::sleep(Duration::from_secs(2)).await;
        server.come_back();
    };
    let (ended, ()) = tokio::join!(fixture.run("greet", Instance::new("queued", false, "")), absences);
    assert!(matches!(ended, Supervised::Ended), "{ended:?}");
    assert_eq!(server.instance_state(&id("greet")), "success", "{}", fixture.log("greet"));
    assert_eq!(server.xcom("greet").unwrap()["said"], "hello-from-afar");
    assert_eq!(server.calls("set_state").len(), 2, "it is reported again");
}
