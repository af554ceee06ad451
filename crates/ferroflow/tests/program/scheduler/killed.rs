//! Several schedulers share the work; one is killed, and the others do what is left of it.

use std::collections::BTreeSet;

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::wait_until;

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{notes, scene, wait_for_runs};

const RUNS: usize = 12;

/// Runs of short tasks. What a scheduler takes with it when it is killed is tried again.
const DAGS: &str = "
for number in range(12):
    with DAG(f'dag_{number}', schedule='@once', start_date=datetime(2024, 1, 1)):
        before = None
        for step in range(4):

            @task(task_id=f'step_{step}', retries=5, retry_delay=timedelta(seconds=0))
            def work():
                note('begins')
                time.sleep(0.3)
                note('ends')

            done = work()
            if before is not None:
                before >> done
            before = done
";

async fn one_of_two_is_killed(server: Server) {
    let place = scene(server, DAGS).await;
    let mut first = place.start(FERROFLOW, &["scheduler"]);
    let mut second = place.start(FERROFLOW, &["scheduler"]);
    let has_begun = wait_until(90, || notes(&place).len() >= 8);
    assert!(has_begun, "{}\n{}", first.log(), second.log());
    first.kill();
    let mut third = place.start(FERROFLOW, &["scheduler"]);
    let runs = wait_for_runs(&place, RUNS, 120).await;
    for scheduler in [&mut second, &mut third] {
        scheduler.terminate();
        assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
    }
    assert_eq!(
        runs.iter().filter(|run| run.ends_with("success")).count(),
        RUNS,
        "{runs:?}\n{}",
        second.log()
    );
    let notes = notes(&place);
    // No try began twice, and each task has come to its end. One that was killed before it could tell has done so again.
    assert_eq!(notes.iter().filter(|(_, counts)| counts.0 != 1).collect::<Vec<_>>(), []);
    let ended = notes.iter().filter(|(_, counts)| counts.1 == 1);
    let tasks: BTreeSet<&str> = ended.map(|(what, _)| what.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(tasks.len(), 4 * RUNS, "{notes:?}");
    let nobody_left = wait_until(20, || place.processes().is_empty());
    assert!(nobody_left, "processes are left: {:?}", place.processes());
}

#[tokio::test]
async fn on_postgres() {
    one_of_two_is_killed(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    one_of_two_is_killed(Server::MariaDb).await;
}
