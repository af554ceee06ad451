//! Ctrl-C while a task runs.

use ferroflow_testkit::dag_processing::wait_until;

use crate::standalone::home::{Home, wait_for_line};

/// A task that lasts until it is let go, and one that follows.
const DAGS: &str = "
import os, time

from airflow.sdk import DAG, task

def note(what):
    with open(NOTES, 'a') as notes:
        notes.write(what + '\\n')

with DAG('lasting', schedule='@once'):

    @task
    def first():
        note('first begins')
        while not os.path.exists(NOTES + '.go'):
            time.sleep(0.1)
        note('first ends')

    @task
    def second():
        note('second runs')

    first() >> second()
";

const TASKS: &str =
    "SELECT task_id || ' ' || COALESCE(state, 'none') AS answer FROM task_instance ORDER BY task_id";

fn wait_for_note(home: &Home, note: &str) {
    assert!(wait_until(150, || home.notes().iter().any(|line| line == note)), "{note} is not noted");
}

#[tokio::test]
async fn what_runs_is_waited_for_and_goes_on_at_the_next_start() {
    let home = Home::with_dags(DAGS);
    let mut running = home.start();
    wait_for_note(&home, "first begins");
    running.interrupt();
    wait_for_line(&running, &["stopping: nothing new begins; waiting for 1 task"]);
    assert!(!running.has_ended());
    std::fs::write(home.path("notes.go"), "").unwrap();
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    let log = running.log();
    assert!(log.contains("1 run not ended: they go on at the next start"), "{log}");
    assert!(running.descendants().is_empty());
    assert_eq!(home.notes(), ["first begins", "first ends"]);
    assert_eq!(home.ask(TASKS).await[0], "first success");
    let again = home.start();
    wait_for_line(&again, &["success  lasting "]);
    crate::standalone::home::end(again);
    assert_eq!(home.notes(), ["first begins", "first ends", "second runs"]);
}

#[tokio::test]
async fn said_twice_what_runs_is_ended_and_accounted_for() {
    let home = Home::with_dags(DAGS);
    let mut running = home.start();
    wait_for_note(&home, "first begins");
    running.interrupt();
    wait_for_line(&running, &["waiting for 1 task"]);
    running.interrupt();
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    let log = running.log();
    assert!(log.contains("ending 1 task"), "{log}");
    assert!(wait_until(20, || running.descendants().is_empty()), "{:?}", running.descendants());
    assert_eq!(home.notes(), ["first begins"]);
    assert_eq!(home.ask(TASKS).await[0], "first failed", "{log}");
    let jobs = "SELECT DISTINCT state AS answer FROM job";
    assert_eq!(home.ask(jobs).await, ["success"]);
}
