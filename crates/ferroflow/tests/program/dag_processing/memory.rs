//! The processor does not grow, however often it parses.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, wait_until};

use crate::dag_processing::FERROFLOW;

/// Each parse writes a line there.
const DAG: &str = "\
import os
from airflow.sdk import DAG
with DAG('NAME', schedule=None, tags=['a']):
    pass
with open(os.environ['PARSES'], 'a') as parses:
    parses.write('.')
";

#[tokio::test]
async fn memory_is_flat_over_two_thousand_parses() {
    let place =
        Place::on(Server::Sqlite).await.with("AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL", "0");
    let parses = place.root().join("parses");
    let place = place.with("PARSES", &parses.display().to_string());
    for number in 0..8 {
        let name = format!("dag_{number}");
        place.write(&format!("{name}.py"), DAG.replace("NAME", &name));
    }
    let running = place.start(FERROFLOW, &["dag-processor"]);
    let count = || std::fs::metadata(&parses).map_or(0, |file| file.len());
    let reach = |wanted: u64| {
        assert!(wait_until(400, || count() >= wanted), "{} parses only\n{}", count(), running.log());
        running.resident_kib()
    };
    // By then every buffer and cache has its size.
    let settled = reach(300);
    let later = reach(2_300);
    assert!(later <= settled + 4_096, "from {settled} KiB to {later} KiB in 2000 parses");
}
