//! What runs leave is what official Airflow was seen to leave; where they differ, [`crate::accepted`] says why.

use std::collections::BTreeSet;

use ferroflow_testkit::Server;

use crate::accepted::ACCEPTED;
use crate::differences::differences;
use crate::plan::{PlannedRun, SETS, recorded, shown, sort_traces, waves};
use crate::play::play;
use crate::world::World;

async fn runs_leave_what_they_leave_with_airflow(server: Server) {
    let world = World::on(server).await;
    let mut strange = play(&world, all_waves()).await;
    let mut unused = Vec::new();
    for set in SETS {
        let mut used = BTreeSet::new();
        let (mut theirs, mut ours) = (recorded(set), world.rows(&shown(set)));
        sort_traces(&mut theirs);
        sort_traces(&mut ours);
        for difference in differences(&theirs, &ours) {
            match ACCEPTED.iter().find_map(|accepted| accepted.is_about(server, set, &difference)) {
                Some(place) => drop(used.insert(place)),
                None => strange.push(format!("{set}: {difference}")),
            }
        }
        let expected = ACCEPTED.iter().flat_map(|accepted| accepted.expected(server, set));
        unused.extend(expected.map(|(place, _)| place).filter(|place| !used.contains(place)));
    }
    assert!(strange.is_empty(), "{} differences on {server:?}\n{}", strange.len(), strange.join("\n"));
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
    runs_leave_what_they_leave_with_airflow(Server::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres() {
    runs_leave_what_they_leave_with_airflow(Server::Postgres).await;
}
