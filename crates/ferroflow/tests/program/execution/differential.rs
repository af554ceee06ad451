//! What runs leave is what official Airflow was seen to leave; where they differ, [`crate::execution::accepted`] says why.

use std::collections::BTreeSet;

use ferroflow_testkit::Server;
use serde_json::Value;

use crate::execution::accepted::{ACCEPTED, Play};
use crate::execution::differences::differences;
use crate::execution::plan::{PlannedRun, SETS, recorded, shown, sort_traces, waves};
use crate::execution::play::play;
use crate::execution::world::World;

async fn runs_leave_what_they_leave_with_airflow(server: Server, way: Play) {
    let world = World::on(server).await;
    let mishaps = play(&world, all_waves()).await;
    assert_eq!(mishaps, [""; 0]);
    for set in SETS {
        assert_same(way, set, world.rows(&shown(set)));
    }
}

/// That the rows of a set are those of the recording, but for what is accepted; and that all of that is seen.
pub(crate) fn assert_same(way: Play, set: &str, mut ours: Value) {
    let mut theirs = recorded(set);
    sort_traces(&mut theirs);
    sort_traces(&mut ours);
    let (mut strange, mut used) = (Vec::new(), BTreeSet::new());
    for difference in differences(&theirs, &ours) {
        match ACCEPTED.iter().find_map(|accepted| accepted.is_about(way, set, &difference)) {
            Some(place) => drop(used.insert(place)),
            None => strange.push(difference.to_string()),
        }
    }
    assert!(strange.is_empty(), "{set}: {} differences {way:?}\n{}", strange.len(), strange.join("\n"));
    let expected = ACCEPTED.iter().flat_map(|accepted| accepted.expected(way, set));
    let unused: Vec<_> = expected.map(|(place, _)| place).filter(|place| !used.contains(place)).collect();
    assert!(unused.is_empty(), "accepted, and there is no such difference: {unused:#?}");
}

/// The waves of all sets, side by side.
fn all_waves() -> Vec<Vec<PlannedRun>> {
    let mut all: Vec<Vec<PlannedRun>> = Vec::new();
    for set in SETS {
        for (number, wave) in waves(set).into_iter().enumerate() {
            if all.len() == number {
                all.push(Vec::new());
            }
            all[number].extend(wave);
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite() {
    runs_leave_what_they_leave_with_airflow(Server::Sqlite, Play::OnSqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres() {
    runs_leave_what_they_leave_with_airflow(Server::Postgres, Play::OnPostgres).await;
}
