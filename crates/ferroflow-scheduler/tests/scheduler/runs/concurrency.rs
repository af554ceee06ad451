//! Several schedulers at once: nothing is made or started twice, and no limit is exceeded.

use ferroflow_scheduler::Context;
use ferroflow_scheduler::create_runs::create_runs;
use ferroflow_scheduler::start_runs::start_runs;
use ferroflow_testkit::Server;
use jiff::Timestamp;

use crate::runs::place::{Place, Plan, at, daily, on_asset};

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_on_postgres() {
    limits_hold(Server::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_on_mariadb() {
    limits_hold(Server::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_makes_one_run_on_postgres() {
    Box::pin(an_event_makes_one_run(Server::Postgres)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_makes_one_run_on_mariadb() {
    Box::pin(an_event_makes_one_run(Server::MariaDb)).await;
}

async fn limits_hold(server: Server) {
    let plans: Vec<Plan> = (0..20)
        .map(|number| Plan::new(&format!("dag_{number:02}"), daily()).catchup().max_active_runs(3))
        .collect();
    let place = Place::new(server, &plans).await;
    let now = at("2024-03-01");
    let mut schedulers = Vec::new();
    for _ in 0..3 {
        schedulers.push(tokio::spawn(rounds(place.scheduler().await, now)));
    }
    let mut started = 0;
    for scheduler in schedulers {
        started += scheduler.await.unwrap();
    }
    let runs = place.run_ids().await;
    assert_eq!(runs.len(), 20);
    for (dag_id, runs) in &runs {
        assert_eq!(runs.len(), 3, "{dag_id}: {runs:?}");
    }
    assert_eq!(started, 60, "no run started twice");
    assert!(place.count("running").await.values().all(|running| *running == 3));
}

async fn rounds(cx: Context, now: Timestamp) -> usize {
    let mut started = 0;
    for _ in 0..8 {
        create_runs(&cx, now).await.unwrap();
        started += start_runs(&cx, now).await.unwrap().started.len();
    }
    started
}

async fn an_event_makes_one_run(server: Server) {
    let names: Vec<String> = (0..20).map(|number| format!("dag_{number:02}")).collect();
    let plans: Vec<Plan> = names.iter().map(|name| Plan::new(name, on_asset("x"))).collect();
    let place = Place::new(server, &plans).await;
    let waiting: Vec<&str> = names.iter().map(String::as_str).collect();
    let asset = place.asset("x", &waiting, at("2024-01-01")).await;
    for hour in ["01", "02", "03"] {
        let when = at(&format!("2024-01-05T{hour}:00:00"));
        place.change(asset, "x", when).await;
        let (one, other) = (place.scheduler().await, place.scheduler().await);
        for _ in 0..3 {
            let (one, other) = tokio::join!(create_runs(&one, when), create_runs(&other, when));
            one.unwrap();
            other.unwrap();
        }
    }
    let runs = place.run_ids().await;
    assert!(runs.len() == 20 && runs.values().all(|runs| runs.len() == 3), "{runs:?}");
    let consumed = place.texts("SELECT CONCAT('', COUNT(*)) AS answer FROM dagrun_asset_event").await;
    assert_eq!(consumed, ["60"], "every DAG consumed each of the three events once");
    let left = place.texts("SELECT CONCAT('', COUNT(*)) AS answer FROM asset_dag_run_queue").await;
    assert_eq!(left, ["0"]);
}
