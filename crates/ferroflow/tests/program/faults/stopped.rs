//! `dags test` is told to stop.

use ferroflow_testkit::Server;
use rustix::process::Signal;

use crate::faults::stage::{Stage, signal};

async fn stops(server: Server, how: Signal) {
    let stage = Stage::on(server).await.with("AIRFLOW__CORE__PARALLELISM", "2");
    stage.write(
        r#"
class Lasting(BaseOperator):
    def execute(self, context):
        trace("ran", self.task_id)
        time.sleep(600)

    def on_kill(self):
        trace("on_kill", self.task_id)
"#,
        r#"
Lasting(task_id="first", retries=3) >> Lasting(task_id="after")
Lasting(task_id="second")
Lasting(task_id="third")
"#,
    );
    let mut running = stage.start();
    stage.wait_for_lines("ran", 2, &running);
    signal(running.id(), how);
    let code = running.wait_for_end(30);
    let output = running.log();
    assert!(code.is_some_and(|code| code != 0), "{code:?}\n{output}");
    stage.assert_nobody_left();
    assert!(output.contains("stopping") && output.contains("the run was stopped"), "{output}");
    assert_eq!(stage.run_state().await, "failed");
    let states = stage.states().await;
    assert_eq!(states["first"], "failed 1", "{states:?}\n{output}");
    assert_eq!(states["after"], "skipped 0", "{states:?}\n{output}");
    let mut trace = stage.trace();
    trace.sort();
    assert_eq!(trace.len(), 4, "{trace:?}\n{output}");
    assert!(trace.contains(&"on_kill first".to_owned()), "{trace:?}");
    let unfinished = "SELECT task_id AS answer FROM task_instance WHERE state IS NULL \
                      OR state NOT IN ('failed', 'skipped', 'upstream_failed', 'success')";
    assert_eq!(stage.ask(unfinished).await, Vec::<String>::new());
}

#[tokio::test]
async fn control_c_ends_tasks_and_run() {
    stops(Server::Sqlite, Signal::INT).await;
}

#[tokio::test]
async fn a_signal_to_terminate_ends_tasks_and_run() {
    stops(Server::Postgres, Signal::TERM).await;
}
