//! Who gets a run, and what is written.

use ferroflow_db::{ScopedFutureExt as _, dag};
use ferroflow_model::state::RunState;
use ferroflow_scheduler::create_runs::{create_runs, next_due};
use ferroflow_testkit::Server;
use jiff::ToSpan as _;

use crate::runs::place::{Place, Plan, at, create_all, daily, every_minute};

ferroflow_testkit::on_every_database!(
    no_more_runs_than_max_active_runs_are_made_and_the_flag_follows,
    a_flag_that_says_too_much_is_not_believed,
    a_run_that_is_there_already_moves_the_schedule_on,
    an_endless_catchup_does_not_keep_out_what_is_due_today,
    when_the_next_run_is_due_is_told,
    ended_runs_are_counted_out,
);

async fn no_more_runs_than_max_active_runs_are_made_and_the_flag_follows(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()).catchup().max_active_runs(3)]).await;
    let cx = place.scheduler().await;
    let report = create_all(&cx, at("2024-02-01")).await;
    assert_eq!(report.created.len(), 3);
    assert!(place.dag("a").await.exceeds_max_non_backfill);
    assert!(create_runs(&cx, at("2024-02-01")).await.unwrap().refused.is_empty(), "it is not even looked at");
}

async fn a_flag_that_says_too_much_is_not_believed(server: Server) {
    let mut plan = Plan::new("a", daily());
    plan.row.exceeds_max_non_backfill = true;
    let place = Place::new(server, &[plan]).await;
    let report = create_runs(&place.scheduler().await, at("2024-01-02")).await.unwrap();
    assert_eq!(report.created.len(), 1);
    assert!(!place.dag("a").await.exceeds_max_non_backfill);
}

async fn a_run_that_is_there_already_moves_the_schedule_on(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()).catchup()]).await;
    place
        .db
        .transact(|tx| {
            async move { ferroflow_testkit::rows::add_run(tx, "a", "mine", at("2024-01-01")).await }
                .scope_boxed()
        })
        .await
        .unwrap();
    let report = create_all(&place.scheduler().await, at("2024-01-03")).await;
    assert_eq!(report.advanced, ["a"]);
    // It has no data interval: it is taken for a manual run of its time.
    assert_eq!(place.run_ids().await["a"].len(), 1 + report.created.len());
    assert!(report.created.iter().all(|run| run.run_after > at("2024-01-01")), "{report:?}");
}

async fn an_endless_catchup_does_not_keep_out_what_is_due_today(server: Server) {
    let endless = (0..3).map(|number| Plan::new(&format!("endless_{number}"), every_minute()).catchup());
    let today = Plan::new("today", daily()).known_since(at("2024-06-01"));
    let place = Place::new(server, &endless.chain([today]).collect::<Vec<_>>()).await;
    let report = create_runs(&place.scheduler().await, at("2024-06-01")).await.unwrap();
    assert!(report.is_more_due);
    let dags: Vec<&str> = report.created.iter().map(|run| run.dag_id.as_str()).collect();
    assert_eq!(dags.len(), 4, "everybody gets one run in a pass");
    assert!(dags.contains(&"today"));
}

async fn when_the_next_run_is_due_is_told(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()), Plan::new("b", every_minute())]).await;
    let cx = place.scheduler().await;
    let now = at("2024-01-01T00:00:30");
    assert_eq!(next_due(&cx, now).await.unwrap(), Some(at("2024-01-01T00:01:00")));
    assert_eq!(next_due(&cx, at("2024-01-01T00:01:00")).await.unwrap(), Some(at("2024-01-02")));
    place
        .db
        .transact(|tx| {
            async move { ferroflow_testkit::rows::add_run(tx, "a", "later", now + 10.seconds()).await }
                .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(
        next_due(&cx, now).await.unwrap(),
        Some(now + 10.seconds()),
        "a queued run waits for its time"
    );
}

async fn ended_runs_are_counted_out(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()).catchup().max_active_runs(1)]).await;
    let cx = place.scheduler().await;
    let made = create_all(&cx, at("2024-01-09")).await.created;
    assert!(place.dag("a").await.exceeds_max_non_backfill);
    let id = made[0].id;
    place
        .db
        .transact(|tx| {
            async move {
                ferroflow_db::dag_run::set_state(
                    tx,
                    id,
                    RunState::Queued,
                    RunState::Success,
                    at("2024-01-09"),
                )
                .await?;
                dag::scheduling::recount_active(tx, "a").await
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert!(!place.dag("a").await.exceeds_max_non_backfill);
    assert_eq!(create_all(&cx, at("2024-01-09")).await.created.len(), 1);
}
