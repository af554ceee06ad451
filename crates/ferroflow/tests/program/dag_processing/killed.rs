//! A processor that is killed at any moment leaves rows that the next one completes.

use std::thread::sleep;
use std::time::Duration;

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, wait_until};

use crate::dag_processing::FERROFLOW;
use crate::dag_processing::differences::differences;

/// Files with much to store: assets, aliases, tags, owners, versions, import errors.
fn write_files(place: &Place, edition: u32) {
    for number in 0..12 {
        let broken = if number % 4 == 3 { "raise ValueError('broken')\n" } else { "" };
        place.write(
            &format!("file_{number}.py"),
            format!(
                "from datetime import datetime\n\
                 from airflow.providers.standard.operators.empty import EmptyOperator\n\
                 from airflow.sdk import DAG, Asset, AssetAlias\n\
                 {broken}for index in range(5):\n    \
                 with DAG(f'dag_{number}_{{index}}', schedule=[Asset('in_{number}'), Asset('shared')],\n         \
                 start_date=datetime(2024, 1, 1), tags=['a', f'tag {{index}}'],\n         \
                 description='edition {edition}', owner_links={{'team': 'https://example.org/{edition}'}}):\n        \
                 EmptyOperator(task_id='only', owner='team', outlets=[Asset('out_{number}'), AssetAlias('alias')])\n"
            ),
        );
    }
}

/// How often it is killed.
const ROUNDS: u32 = 12;

async fn killed_at_random_moments(server: Server) {
    let undisturbed = Place::on(server).await;
    write_files(&undisturbed, ROUNDS);
    undisturbed.process_once(FERROFLOW);
    let expected = undisturbed.observe().rows();

    let place = Place::on(server).await;
    for round in 0..=ROUNDS {
        write_files(&place, round);
        if round == ROUNDS {
            break;
        }
        let mut running = place.start(FERROFLOW, &["dag-processor"]);
        // Spread over starting, parsing and storing; the same at every run of the test.
        sleep(Duration::from_millis(u64::from(round * 7919 % ROUNDS) * 450 + 100));
        running.kill();
        let nobody_left = wait_until(60, || place.processes().is_empty());
        assert!(nobody_left, "processes outlive the killed processor: {:?}", place.processes());
    }
    place.process_once(FERROFLOW);
    assert_eq!(differences(&expected, &place.observe().rows()), []);
}

#[tokio::test]
async fn on_sqlite() {
    killed_at_random_moments(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    killed_at_random_moments(Server::Postgres).await;
}
