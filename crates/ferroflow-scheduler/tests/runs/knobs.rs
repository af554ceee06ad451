//! The settings that Airflow's guide to its scheduler tells to turn, each by its name, where no other test does.

use ferroflow_db::Db;
use ferroflow_model::state::RunState;
use ferroflow_scheduler::Context;
use ferroflow_scheduler::create_runs::create_runs;
use ferroflow_scheduler::start_runs::start_runs;
use ferroflow_testkit::Server;

use crate::on_every_database;
use crate::place::{Place, Plan, at, create_all, daily, start_all};

on_every_database!(
    max_dagruns_to_create_per_loop_holds_nobody_back,
    max_dagruns_per_loop_to_schedule_holds_nobody_back,
    without_use_row_level_locking_one_scheduler_does_all,
);

/// With Airflow, so many runs are made before anything else is done; here, it is the least that a transaction takes.
async fn max_dagruns_to_create_per_loop_holds_nobody_back(server: Server) {
    let place = Place::new(server, &plans(130)).await;
    let cx = place.scheduler_with(&[("AIRFLOW__SCHEDULER__MAX_DAGRUNS_TO_CREATE_PER_LOOP", "1")]).await;
    assert_eq!(create_runs(&cx, at("2024-01-02")).await.unwrap().created.len(), 130);
}

async fn max_dagruns_per_loop_to_schedule_holds_nobody_back(server: Server) {
    let place = Place::new(server, &plans(130)).await;
    let cx = place.scheduler_with(&[("AIRFLOW__SCHEDULER__MAX_DAGRUNS_PER_LOOP_TO_SCHEDULE", "1")]).await;
    create_all(&cx, at("2024-01-02")).await;
    assert_eq!(start_runs(&cx, at("2024-01-02")).await.unwrap().started.len(), 130);
}

async fn without_use_row_level_locking_one_scheduler_does_all(server: Server) {
    let place = Place::new(server, &plans(3)).await;
    let mut options = place.database.options();
    options.row_locks = false;
    let db = Db::connect(&options).await.unwrap();
    let cx = Context { db, ..place.scheduler().await };
    create_all(&cx, at("2024-01-02")).await;
    assert_eq!(start_all(&cx, at("2024-01-02")).await.started.len(), 3);
    assert_eq!(place.count(RunState::Running.as_str()).await.values().sum::<usize>(), 3);
}

fn plans(number: usize) -> Vec<Plan> {
    (0..number).map(|number| Plan::new(&format!("dag_{number:03}"), daily())).collect()
}
