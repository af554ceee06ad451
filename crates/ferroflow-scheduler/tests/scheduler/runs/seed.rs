//! The three scenarios and the three issues that the scheduler's first description names.

use ferroflow_scheduler::create_runs::{NotCreated, create_runs};
use ferroflow_testkit::Server;
use serde_json::json;

use crate::runs::place::{Place, Plan, at, create_all, daily, every_minute, on_asset};

ferroflow_testkit::on_every_database!(
    scenario_1_after_downtime_catchup_makes_every_missed_run,
    scenario_1_after_downtime_without_catchup_only_the_latest_run_is_made,
    scenario_2_a_dag_that_was_paused_goes_on_by_its_catchup,
    issue_1_assets_and_schedules_do_not_keep_each_other_out,
    issue_2_five_hundred_overdue_dags_get_their_run_in_one_pass,
    issue_3_a_dag_that_was_stored_anew_gets_its_run_by_its_new_version,
);

async fn scenario_1_after_downtime_catchup_makes_every_missed_run(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()).catchup()]).await;
    let cx = place.scheduler().await;
    create_all(&cx, at("2024-01-05T00:00:05")).await;
    let expected = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"];
    let expected: Vec<String> =
        expected.iter().map(|day| format!("scheduled__{day}T00:00:00+00:00")).collect();
    assert_eq!(place.run_ids().await["a"], expected);
    let first = place.run("a", &expected[0]).await;
    assert_eq!(first.logical_date, Some(at("2024-01-01")));
    assert_eq!(
        (first.data_interval_start, first.data_interval_end),
        (Some(at("2024-01-01")), Some(at("2024-01-02")))
    );
    assert_eq!(place.dag("a").await.next_dagrun_create_after, Some(at("2024-01-06")));
}

async fn scenario_1_after_downtime_without_catchup_only_the_latest_run_is_made(server: Server) {
    let known = at("2024-01-02T00:00:01");
    let place = Place::new(server, &[Plan::new("a", daily()).known_since(known)]).await;
    let cx = place.scheduler().await;
    assert_eq!(place.dag("a").await.next_dagrun_create_after, Some(at("2024-01-02")), "the row is of before");
    create_all(&cx, at("2024-01-05T00:00:05")).await;
    assert_eq!(place.run_ids().await["a"], ["scheduled__2024-01-05T00:00:00+00:00"]);
    assert_eq!(place.dag("a").await.next_dagrun_create_after, Some(at("2024-01-06")));
}

async fn scenario_2_a_dag_that_was_paused_goes_on_by_its_catchup(server: Server) {
    let mut plans = [Plan::new("all", daily()).catchup(), Plan::new("latest", daily())];
    for plan in &mut plans {
        plan.row.is_paused = true;
    }
    let place = Place::new(server, &plans).await;
    let cx = place.scheduler().await;
    create_all(&cx, at("2024-01-03T00:00:05")).await;
    assert!(place.run_ids().await.is_empty(), "a paused DAG gets no run");
    place.database.execute("UPDATE dag SET is_paused = false").await;
    create_all(&cx, at("2024-01-05T00:00:05")).await;
    let runs = place.run_ids().await;
    assert_eq!((runs["all"].len(), runs["latest"].len()), (4, 1));
    assert_eq!(runs["latest"], ["scheduled__2024-01-05T00:00:00+00:00"]);
}

async fn issue_1_assets_and_schedules_do_not_keep_each_other_out(server: Server) {
    let name = |kind: &str, number: usize| format!("{kind}_{number:02}");
    let scheduled = (0..90).map(|number| Plan::new(&name("scheduled", number), daily()).catchup());
    let triggered = (0..10).map(|number| Plan::new(&name("triggered", number), on_asset("x")));
    let place = Place::new(server, &scheduled.chain(triggered).collect::<Vec<_>>()).await;
    let waiting: Vec<String> = (0..10).map(|number| name("triggered", number)).collect();
    let waiting: Vec<&str> = waiting.iter().map(String::as_str).collect();
    let asset = place.asset("x", &waiting, at("2024-01-01")).await;
    place.change(asset, "x", at("2024-01-04")).await;
    let cx = place.scheduler().await;
    let report = create_runs(&cx, at("2024-01-05")).await.unwrap();
    let order: Vec<bool> = report.created.iter().map(|run| run.dag_id.starts_with("triggered")).collect();
    assert_eq!(order.len(), 100);
    assert!(
        order[..20].iter().filter(|is_triggered| **is_triggered).count() >= 9,
        "they take turns: {order:?}"
    );
}

async fn issue_2_five_hundred_overdue_dags_get_their_run_in_one_pass(server: Server) {
    let plans: Vec<Plan> = (0..500).map(|number| Plan::new(&format!("dag_{number:03}"), daily())).collect();
    let place = Place::new(server, &plans).await;
    let cx = place.scheduler().await;
    let report = create_runs(&cx, at("2024-01-05")).await.unwrap();
    assert_eq!((report.created.len(), report.refused.len()), (500, 0));
    assert!(place.run_ids().await.values().all(|runs| runs.len() == 1));
    assert!(create_runs(&cx, at("2024-01-05")).await.unwrap().created.is_empty(), "none gets another");
}

async fn issue_3_a_dag_that_was_stored_anew_gets_its_run_by_its_new_version(server: Server) {
    let plan = Plan::new("a", daily()).catchup();
    let place = Place::new(server, &[plan]).await;
    let cx = place.scheduler().await;
    create_runs(&cx, at("2024-01-02")).await.unwrap();
    place.store_again(&Plan::new("a", every_minute()).catchup().setting("doc_md", json!("new"))).await;
    let report = create_runs(&cx, at("2024-01-03")).await.unwrap();
    assert!(report.refused.iter().all(|refused| matches!(refused.reason, NotCreated::Changed)), "{report:?}");
    let runs = place.run_ids().await["a"].clone();
    let [first, second] = runs.as_slice() else { panic!("{runs:?}") };
    let (first, second) = (place.run("a", first).await, place.run("a", second).await);
    assert_ne!(first.created_dag_version_id, second.created_dag_version_id);
    assert_eq!(second.logical_date, Some(at("2024-01-02")), "what the row says is kept");
    assert_eq!(place.dag("a").await.next_dagrun_create_after, Some(at("2024-01-03T00:01:00")));
}

#[tokio::test]
async fn scenario_3_three_schedulers_make_no_run_twice_on_postgres() {
    Box::pin(three_schedulers(Server::Postgres)).await;
}

#[tokio::test]
async fn scenario_3_three_schedulers_make_no_run_twice_on_mariadb() {
    Box::pin(three_schedulers(Server::MariaDb)).await;
}

async fn three_schedulers(server: Server) {
    let plans: Vec<Plan> = (0..90)
        .map(|number| Plan::new(&format!("dag_{number:02}"), daily()).catchup().max_active_runs(2))
        .collect();
    let place = Place::new(server, &plans).await;
    let schedulers = [place.scheduler().await, place.scheduler().await, place.scheduler().await];
    let now = at("2024-01-10");
    let [first, second, third] = &schedulers;
    for _ in 0..5 {
        let all = tokio::join!(create_runs(first, now), create_runs(second, now), create_runs(third, now));
        let refused =
            [all.0.unwrap(), all.1.unwrap(), all.2.unwrap()].into_iter().flat_map(|report| report.refused);
        for refused in refused {
            let is_expected =
                matches!(refused.reason, NotCreated::Held | NotCreated::Rule(_) | NotCreated::Changed);
            assert!(is_expected, "{refused:?}");
        }
    }
    let expected = ["scheduled__2024-01-02T00:00:00+00:00", "scheduled__2024-01-03T00:00:00+00:00"];
    let runs = place.run_ids().await;
    assert_eq!(runs.len(), 90);
    assert!(runs.values().all(|runs| runs == &expected), "{runs:?}");
}
