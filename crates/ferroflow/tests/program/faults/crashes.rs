//! The process of a task ends without a word: the task is tried again or has failed, at once, and the reason is in its
//! log.

use ferroflow_testkit::Server;

use crate::faults::stage::Stage;

/// How a process ends, and a word of the reason.
const WAYS: [(&str, &str, &str); 5] = [
    ("sigkill", "os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ("sigsegv", "ctypes.string_at(0)", "SIGSEGV"),
    ("sigabrt", "os.abort()", "signal 6"),
    ("exit_7", "os._exit(7)", "exit code 7"),
    ("exit_0", "os._exit(0)", "exit code 0"),
];

fn write(stage: &Stage) {
    let ways: Vec<String> =
        WAYS.iter().map(|(name, code, _)| format!("    '{name}': lambda: {code},")).collect();
    stage.write(
        &format!("WAYS = {{\n{}\n}}\n", ways.join("\n")),
        r#"
def crashing(way, tries):
    @task(task_id=f"{way}_{tries}", retries=tries - 1, retry_delay=timedelta(seconds=1),
          on_failure_callback=told("failure"), on_retry_callback=told("retry"))
    def crash():
        if ran() == 1:
            WAYS[way]()
    crash()

for way in WAYS:
    crashing(way, 1)
    crashing(way, 2)
"#,
    );
}

async fn crashes_are_failures(server: Server) {
    // Whoever waits for a heartbeat to be missed waits for five minutes.
    let stage = Stage::on(server).await.with("AIRFLOW__CORE__PARALLELISM", "4");
    write(&stage);
    let (is_good, output) = stage.run(120);
    assert!(!is_good, "{output}");
    let states = stage.states().await;
    let history = stage
        .ask(
            "SELECT task_id || ' ' || CAST(try_number AS VARCHAR(9)) || ' ' || state AS answer \
             FROM task_instance_history ORDER BY task_id",
        )
        .await;
    for (way, _, reason) in WAYS {
        let (once, twice) = (format!("{way}_1"), format!("{way}_2"));
        assert_eq!(states[&once], "failed 1", "{once}\n{output}");
        assert_eq!(states[&twice], "success 2", "{twice}\n{output}");
        for line in [format!("ran {once} 1"), format!("ran {twice} 1"), format!("ran {twice} 2")] {
            assert_eq!(stage.count(&line), 1, "{line}: {:#?}", stage.trace());
        }
        for line in [format!("failure {once} 1"), format!("retry {twice} 1")] {
            assert_eq!(stage.count(&line), 1, "{line}: {:#?}\n{output}", stage.trace());
        }
        for task in [&once, &twice] {
            let critical = stage.critical(task, 1);
            assert!(critical.len() == 1 && critical[0].contains(reason), "{task}: {critical:?}");
        }
        assert!(history.iter().any(|row| row.starts_with(&format!("{twice} 1 "))), "{history:?}");
    }
    assert_eq!(stage.trace().len(), 5 * (3 + 2), "{:#?}", stage.trace());
    assert_eq!(stage.run_state().await, "failed");
}

#[tokio::test]
async fn a_crash_is_a_failure_at_once_with_its_reason_on_sqlite() {
    crashes_are_failures(Server::Sqlite).await;
}

#[tokio::test]
async fn a_crash_is_a_failure_at_once_with_its_reason_on_postgres() {
    crashes_are_failures(Server::Postgres).await;
}
