//! How many tasks run at a time, and what runs when none does.

use ferroflow_testkit::Server;

use crate::faults::stage::{Stage, children, until};

#[tokio::test]
async fn no_more_run_than_there_are_slots_and_none_when_idle() {
    let stage = Stage::on(Server::Postgres).await.with("AIRFLOW__CORE__PARALLELISM", "2");
    stage.write(
        "from airflow.providers.standard.sensors.python import PythonSensor\n",
        r#"
@task(retries=1, retry_delay=timedelta(seconds=1))
def works(number):
    trace("begins", number)
    (ROOT / f"title {number}").write_bytes(Path("/proc/self/cmdline").read_bytes())
    time.sleep(0.5)
    trace("ends", number)
    # A slot is free again however its task ends.
    if number == 1 and get_current_context()["ti"].try_number == 1:
        os._exit(1)

PythonSensor(
    task_id="waits", python_callable=lambda: (ROOT / "go").exists(), mode="reschedule", poke_interval=3
) >> works.expand(number=[0, 1, 2, 3, 4, 5])
"#,
    );
    let mut running = stage.start();
    let question = "SELECT COALESCE(state, '') AS answer FROM task_instance WHERE task_id = 'waits'";
    // While a sensor waits for its next look, only Python's fork server is there.
    let is_idle = until(90, async || stage.ask(question).await == ["up_for_reschedule"]).await;
    assert!(is_idle, "{}", running.log());
    let server = children(running.id());
    assert_eq!(server.len(), 1, "{server:?}");
    let no_task = until(60, async || children(server[0]).into_iter().all(|child| !is_task(child))).await;
    assert!(no_task, "{:?}\n{}", stage.place.processes(), running.log());
    stage.let_go("go");
    assert_eq!(running.wait_for_end(90), Some(0), "{}", running.log());
    stage.assert_nobody_left();

    // `ps` shows what each of them is.
    let title = std::fs::read_to_string(stage.place.root().join("title 4")).unwrap();
    let words: Vec<&str> = title.trim_end_matches('\0').split(' ').collect();
    let ["airflow", "worker", "--", _, "faults", "works", _, "map_index=4", "try_number=1"] = words[..]
    else {
        panic!("{words:?}")
    };

    let (mut now, mut most) = (0, 0);
    let trace = stage.trace();
    for line in &trace {
        if line.starts_with("begins") {
            now += 1;
        } else {
            now -= 1;
        }
        most = most.max(now);
    }
    assert_eq!((trace.len(), most), (14, 2), "{trace:?}");
}

/// A task's process has the title that Airflow's task runner gives it.
fn is_task(process: u32) -> bool {
    let title = std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
    title.starts_with("airflow worker -- ")
}
