//! `kill -9` in the middle of running tasks, and another start.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use ferroflow_testkit::dag_processing::wait_until;

use crate::standalone::home::{Home, end, wait_for_line};

/// Runs of short tasks. What is taken along is tried again.
const DAGS: &str = "
import time
from datetime import timedelta

from airflow.sdk import DAG, get_current_context, task

def note(what):
    ti = get_current_context()['ti']
    with open(NOTES, 'a') as notes:
        notes.write(f'{ti.dag_id} {ti.task_id} {ti.try_number} {what}\\n')

for number in range(4):
    with DAG(f'dag_{number}', schedule='@once'):
        before = None
        for step in range(4):

            @task(task_id=f'step_{step}', retries=5, retry_delay=timedelta(seconds=0))
            def work():
                note('begins')
                time.sleep(0.5)
                note('ends')

            done = work()
            if before is not None:
                before >> done
            before = done
";

/// Tasks that all run at once, and wait while there is a file.
const FIFTY: &str = "
import os
import time
from datetime import timedelta

from airflow.sdk import DAG, get_current_context, task

def note(what):
    ti = get_current_context()['ti']
    with open(NOTES, 'a') as notes:
        notes.write(f'{ti.map_index} {ti.try_number} {what}\\n')

with DAG('fifty', schedule='@once'):

    @task(retries=5, retry_delay=timedelta(seconds=0))
    def work(number):
        note('begins')
        while os.path.exists(os.path.join(os.path.dirname(NOTES), 'wait')):
            time.sleep(0.1)
        note('ends')

    work.expand(number=list(range(50)))
";

/// Runs that follow on each other.
const WITHOUT_END: &str = "
from datetime import datetime, timedelta

from airflow.sdk import DAG, get_current_context, task

def note(what):
    ti = get_current_context()['ti']
    with open(NOTES, 'a') as notes:
        notes.write(f'{ti.dag_id} {ti.run_id} {ti.task_id} {ti.map_index} {ti.try_number} {what}\\n')

for number in range(3):
    with DAG(f'without_end_{number}', schedule='@continuous', start_date=datetime(2024, 1, 1), max_active_runs=1):

        @task(retries=100, retry_delay=timedelta(seconds=0))
        def first():
            note('begins')
            return [1, 2, 3]

        @task(retries=100, retry_delay=timedelta(seconds=0))
        def each(number):
            note('begins')

        each.expand(number=first())
";

const INTEGRITY: &str = "SELECT integrity_check AS answer FROM pragma_integrity_check";
const UNSUCCESSFUL: &str =
    "SELECT task_id AS answer FROM task_instance WHERE state IS NULL OR state <> 'success'";

#[tokio::test]
async fn everything_ends_as_it_should_and_nothing_twice() {
    let home = Home::with_dags(DAGS).with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "5");
    let mut first = home.start();
    assert!(wait_until(150, || home.notes().len() >= 6), "{}", first.log());
    first.kill();
    assert!(wait_until(20, || first.descendants().is_empty()), "tasks end with it");
    let second = home.start();
    for number in 0..4 {
        wait_for_line(&second, &["success  ", &format!("dag_{number} ")]);
    }
    end(second);
    let counts = counted(home.notes());
    assert_eq!(repeated(&counts), [""; 0], "a try ran twice");
    let ended =
        |task: &str| counts.keys().filter(|note| note.starts_with(task) && note.ends_with("ends")).count();
    for (number, step) in (0..4).flat_map(|number| (0..4).map(move |step| (number, step))) {
        let task = format!("dag_{number} step_{step} ");
        assert_ne!(ended(&task), 0, "{task}{counts:?}");
    }
    assert_eq!(home.ask(INTEGRITY).await, ["ok"]);
    assert_eq!(home.ask(UNSUCCESSFUL).await, [""; 0]);
}

/// Fifty tasks run at the same time when it is killed.
#[tokio::test]
async fn fifty_running_tasks_are_tried_again_once() {
    let home = Home::with_dags(FIFTY)
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "5")
        .with("AIRFLOW__CORE__PARALLELISM", "64")
        .with("AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG", "64");
    fs::write(home.path("wait"), "").unwrap();
    let mut first = home.start();
    let all_run = wait_until(240, || home.notes().len() >= 50);
    assert!(all_run, "{} run\n{}", home.notes().len(), first.log());
    first.kill();
    assert!(wait_until(60, || first.descendants().is_empty()), "tasks end with it");
    fs::remove_file(home.path("wait")).unwrap();
    let second = home.start();
    wait_for_line(&second, &["success  ", "fifty "]);
    end(second);
    let mut expected = Vec::new();
    for index in 0..50 {
        expected.extend([
            format!("{index} 1 begins"),
            format!("{index} 2 begins"),
            format!("{index} 2 ends"),
        ]);
    }
    expected.sort();
    let mut notes = home.notes();
    notes.sort();
    assert_eq!(notes, expected, "each was lost once, and has ended once");
    assert_eq!(home.ask(INTEGRITY).await, ["ok"]);
    assert_eq!(home.ask(UNSUCCESSFUL).await, [""; 0]);
}

/// It dies fifty times: while it starts, while tasks run, while runs end.
#[tokio::test]
async fn the_database_stays_intact_however_often_it_is_killed() {
    let home = Home::with_dags(WITHOUT_END).with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "5");
    for number in 0..50_u64 {
        let mut running = home.start();
        if number % 10 == 0 {
            let before = home.notes().len();
            let is_at_work = wait_until(150, || home.notes().len() >= before + 4);
            assert!(is_at_work, "kill {number}\n{}", running.log());
        }
        std::thread::sleep(Duration::from_millis(number * 37 % 900));
        running.kill();
    }
    assert_eq!(home.ask(INTEGRITY).await, ["ok"]);
    let last = home.start();
    wait_for_line(&last, &["success  ", "without_end_0 "]);
    end(last);
    assert_eq!(repeated(&counted(home.notes())), [""; 0], "a try ran twice");
    assert_eq!(home.ask(INTEGRITY).await, ["ok"]);
    assert_eq!(
        home.ask("SELECT CAST(\"table\" AS TEXT) AS answer FROM pragma_foreign_key_check").await,
        [""; 0]
    );
}

fn counted(notes: Vec<String>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for note in notes {
        *counts.entry(note).or_default() += 1;
    }
    counts
}

fn repeated(counts: &BTreeMap<String, u32>) -> Vec<&str> {
    counts.iter().filter(|(_, count)| **count != 1).map(|(note, _)| note.as_str()).collect()
}
