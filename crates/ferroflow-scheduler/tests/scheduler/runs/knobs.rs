//! The settings that Airflow's guide to its scheduler tells to turn, each by its name, where no other test does.

use ferroflow_db::Db;
use ferroflow_model::state::RunState;
use ferroflow_scheduler::Context;
use ferroflow_scheduler::create_runs::create_runs;
use ferroflow_scheduler::start_runs::start_runs;
use ferroflow_testkit::Server;

use crate::runs::place::{Place, Plan, at, create_all, daily, start_all};

ferroflow_testkit::on_every_database!(
    max_dagruns_to_create_per_loop_holds_nobody_back,
    dags_that_get_no_run_keep_nobody_from_theirs,
    max_dagruns_per_loop_to_schedule_holds_nobody_back,
    without_use_row_level_locking_one_scheduler_does_all,
);

/// With Airflow, so many runs are made before anything else is done; here, it is the least that a transaction takes.
async fn max_dagruns_to_create_per_loop_holds_nobody_back(server: Server) {
    let place = Place::new(server, &plans(130)).await;
    let cx = place.scheduler_with(&[("AIRFLOW__SCHEDULER__MAX_DAGRUNS_TO_CREATE_PER_LOOP", "1")]).await;
    assert_eq!(create_runs(&cx, at("2024-01-02")).await.unwrap().created.len(), 130);
}

/// Those that get no run are looked at once in each round.
async fn dags_that_get_no_run_keep_nobody_from_theirs(server: Server) {
    let mut plans = plans(230);
    // Due before the others, and full, which the flag does not tell.
    for plan in plans.iter_mut().take(120) {
        plan.row.max_active_runs = Some(0);
    }
    let place = Place::new(server, &plans).await;
    place.database.execute("UPDATE dag SET exceeds_max_non_backfill = FALSE").await;
    let cx = place.scheduler().await;
    let report = create_runs(&cx, at("2024-01-02")).await.unwrap();
    let made: Vec<&str> = report.created.iter().map(|run| run.dag_id.as_str()).collect();
    assert_eq!((made.len(), made[0]), (110, "dag_120"));
    assert_eq!(report.refused.len(), 120);
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
