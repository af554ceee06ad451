//! The official scheduler is stopped in the middle of runs, ours goes on, and then the official one again: nothing is
//! lost, and nothing is done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::ops::Range;

use ferroflow_db::testing;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{free_port, notes, scene, wait_for_runs};

pub(crate) const RUNS: usize = 10;

/// What each run does, and how often.
pub(crate) const STEPS: [&str; 6] = ["first", "each 0", "each 1", "each 2", "twice", "last"];

/// Some of the DAGs wait for the next scheduler: an official one may go on for long after it was told to end.
pub(crate) const PAUSED: &str = "UPDATE dag SET is_paused = true";

/// Nothing is tried again but what says so. A few tasks run at a time, so that there is always somebody waiting.
pub(crate) const DAGS: &str = "
for number in range(10):
    with DAG(f'dag_{number}', schedule='@once', start_date=datetime(2024, 1, 1)):

        @task
        def first():
            note('begins')
            time.sleep(0.7)
            note('ends')
            return [0, 1, 2]

        @task
        def each(number):
            note('begins')
            time.sleep(0.5)
            note('ends')

        @task(retries=1, retry_delay=timedelta(seconds=1))
        def twice():
            note('begins')
            time.sleep(0.5)
            note('ends')
            if get_current_context()['ti'].try_number == 1:
                raise ValueError('not yet')

        @task
        def last():
            note('begins')
            time.sleep(0.7)
            note('ends')

        each.expand(number=first()) >> twice() >> last()
";

/// Task instances by who queued them last, and those of earlier tries.
const QUEUED_BY: &str = "SELECT CONCAT(queued_by_job_id, '') AS answer FROM task_instance";
const UNSUCCESSFUL: &str = "SELECT CONCAT(dag_id, ' ', task_id, ' ', COALESCE(state, '-')) AS answer FROM task_instance \
     WHERE state IS NULL OR state <> 'success'";
const EARLIER_TRIES: &str =
    "SELECT CONCAT(task_id, ' ', try_number, ' ', state) AS answer FROM task_instance_history";
/// What both say when they are about to end.
const ENDING: &str = "waiting for running tasks";
const SCHEDULERS: &str = "SELECT state AS answer FROM job WHERE job_type = 'SchedulerJob'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_repeated() {
    let api = free_port();
    let place = official_surroundings(scene(Server::Postgres, DAGS).await, api);
    place.db().execute(PAUSED).await;
    let components = [place.start_airflow(&["api-server"]), place.start_airflow(&["dag-processor"])];
    // Official tasks do not wait for it.
    let listens = wait_until(180, || TcpStream::connect(("127.0.0.1", api)).is_ok());
    assert!(listens, "{}", components[0].log());
    let of_one_run = STEPS.len();
    unpause(&place, 0..4).await;
    stop_when(&place, place.start_airflow(&["scheduler"]), 2 * of_one_run);
    unpause(&place, 4..8).await;
    stop_when(&place, place.start(FERROFLOW, &["scheduler"]), 6 * of_one_run);
    unpause(&place, 8..RUNS).await;
    let mut last = place.start_airflow(&["scheduler"]);
    let runs = wait_for_runs(&place, RUNS, 240).await;
    stop(&mut last);
    let expected: Vec<String> = (0..RUNS).map(|number| format!("dag_{number} success")).collect();
    assert_eq!(runs, expected, "{}", last.log());
    assert_eq!(notes(&place), every_try_once());
    let db = place.db().connect().await;
    assert_eq!(testing::texts(&db, UNSUCCESSFUL).await.unwrap(), [""; 0]);
    assert_eq!(testing::texts(&db, EARLIER_TRIES).await.unwrap(), ["twice 1 failed"; RUNS]);
    assert_eq!(testing::texts(&db, SCHEDULERS).await.unwrap(), ["success"; 3]);
    let queued_by: BTreeSet<String> = testing::texts(&db, QUEUED_BY).await.unwrap().into_iter().collect();
    assert_eq!(queued_by.len(), 3, "each of the three had some of the work");
    db.close().await;
}

pub(crate) async fn unpause(place: &Place, dags: Range<usize>) {
    for number in dags {
        let unpaused = format!("UPDATE dag SET is_paused = false WHERE dag_id = 'dag_{number}'");
        place.db().execute(&unpaused).await;
    }
}

/// With what official schedulers need to find the API server.
pub(crate) fn official_surroundings(place: Place, api: u16) -> Place {
    place
        .with("AIRFLOW__CORE__EXECUTOR", "LocalExecutor")
        .with("AIRFLOW__CORE__PARALLELISM", "4")
        .with("AIRFLOW__CORE__EXECUTION_API_SERVER_URL", &format!("http://127.0.0.1:{api}/execution/"))
        .with("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
        .with("AIRFLOW__API__HOST", "127.0.0.1")
        .with("AIRFLOW__API__PORT", &api.to_string())
        .with("AIRFLOW__API__WORKERS", "1")
        .with("AIRFLOW__API__SECRET_KEY", "only for this test")
        .with("AIRFLOW__API_AUTH__JWT_SECRET", &"only for this test, and long enough".repeat(3))
        .with("AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT", &free_port().to_string())
        // On a busy machine official schedulers and tasks are slow to tell that they live.
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "120")
        .with("AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT", "60")
        .with("AIRFLOW__USAGE_DATA_COLLECTION__ENABLED", "False")
}

/// Stops a scheduler as its keeper would, once so many tries have begun in all.
fn stop_when(place: &Place, mut scheduler: Running, tries: usize) {
    let have_begun = wait_until(240, || notes(place).len() >= tries || scheduler.has_ended());
    assert!(have_begun && !scheduler.has_ended(), "{} tries\n{}", notes(place).len(), scheduler.log());
    stop(&mut scheduler);
}

/// Official schedulers end by an exception, which may be lost in Python's collection of garbage: asked once more they do.
fn stop(scheduler: &mut Running) {
    let is_ending = |scheduler: &mut Running| scheduler.has_ended() || scheduler.log().contains(ENDING);
    let listens = (0..5).any(|_| {
        scheduler.terminate();
        wait_until(20, || is_ending(scheduler))
    });
    assert!(listens, "it does not end\n{}", scheduler.log());
    assert_eq!(scheduler.wait_for_end(120), Some(0), "{}", scheduler.log());
}

/// How often each try begins and ends.
pub(crate) fn every_try_once() -> BTreeMap<String, (u32, u32)> {
    let tries = |step: &'static str| if step == "twice" { 1..=2 } else { 1..=1 };
    let named = |step: &str| if step.contains(' ') { step.to_owned() } else { format!("{step} -1") };
    (0..RUNS)
        .flat_map(|dag| STEPS.iter().map(move |step| (dag, *step)))
        .flat_map(|(dag, step)| tries(step).map(move |number| (dag, step, number)))
        .map(|(dag, step, number)| (format!("dag_{dag} {} {number}", named(step)), (1, 1)))
        .collect()
}
