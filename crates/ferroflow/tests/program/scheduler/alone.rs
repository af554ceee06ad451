//! One scheduler makes runs, starts them, and runs their tasks to the end.

use ferroflow_testkit::Server;

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{notes, scene_with, wait_for_runs};

/// A DAG that runs once and updates an asset, and one that waits for the asset: tasks in a chain, mapped tasks, one
/// that is tried twice, one that fails and what follows from that.
const DAGS: &str = "
with DAG('first', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task
    def numbers():
        note('begins')
        note('ends')
        return [1, 2, 3]

    @task
    def each(number):
        note('begins')
        note('ends')

    @task(retries=1, retry_delay=timedelta(seconds=0), outlets=[Asset('done')])
    def twice():
        note('begins')
        if get_current_context()['ti'].try_number == 1:
            raise ValueError('not yet')
        note('ends')

    each.expand(number=numbers()) >> twice()

with DAG('second', schedule=[Asset('done')]):

    @task
    def fails():
        note('begins')
        raise ValueError('no')

    @task
    def never():
        note('begins')

    @task(trigger_rule='one_failed')
    def cleans_up():
        note('begins')
        note('ends')

    fails() >> [never(), cleans_up()]
";

pub(crate) async fn runs_go_from_schedule_to_end(server: Server, settings: &[(&str, &str)]) {
    let place = scene_with(server, DAGS, settings).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    let runs = wait_for_runs(&place, 2, 90).await;
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
    // The last task of the second run decides, which has not run.
    assert_eq!(runs, ["first success", "second failed"], "{}", scheduler.log());
    let once = [
        "first each 0 1",
        "first each 1 1",
        "first each 2 1",
        "first numbers -1 1",
        "first twice -1 2",
        "second cleans_up -1 1",
    ];
    let expected = once
        .map(|what| (what.to_owned(), (1, 1)))
        .into_iter()
        .chain(["first twice -1 1", "second fails -1 1"].map(|what| (what.to_owned(), (1, 0))));
    assert_eq!(notes(&place), expected.collect());
}

#[tokio::test]
async fn on_sqlite() {
    runs_go_from_schedule_to_end(Server::Sqlite, &[]).await;
}

#[tokio::test]
async fn on_postgres() {
    runs_go_from_schedule_to_end(Server::Postgres, &[]).await;
}

#[tokio::test]
async fn on_mariadb() {
    runs_go_from_schedule_to_end(Server::MariaDb, &[]).await;
}
