//! Queued runs start.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_model::runs::start::NotStarted;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_scheduler::start_runs::start_runs;
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::a_run;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::runs::place::{Place, Plan, at, create_all, daily, start_all};

ferroflow_testkit::on_every_database!(
    as_many_start_as_may_run_and_the_others_say_why,
    a_run_of_the_future_waits_for_its_time,
    a_long_queue_of_one_dag_hides_nobody,
    however_many_runs_of_a_dag_cannot_be_read_the_next_starts,
    a_run_is_as_late_as_it_starts_after_its_time,
    backfills_have_a_limit_a_pause_and_an_order_of_their_own,
    a_cleared_run_of_a_backfill_that_is_over_starts,
    a_run_whose_dag_is_not_stored_stays_queued,
);

const NOW: Timestamp = Timestamp::constant(1_704_067_200 + 9 * 86_400, 0);

async fn as_many_start_as_may_run_and_the_others_say_why(server: Server) {
    let plans = [Plan::new("a", daily()).max_active_runs(2), Plan::new("b", daily()).max_active_runs(0)];
    let place = Place::new(server, &plans).await;
    add(&place, (0..5).map(|number| queued("a", number)).chain([queued("b", 0)])).await;
    let cx = place.scheduler().await;
    let report = start_all(&cx, NOW).await;
    let started: Vec<&str> = report.started.iter().map(|run| run.run_id.as_str()).collect();
    assert_eq!(started, ["run_0", "run_1"]);
    let row = place.run("a", "run_0").await;
    assert_eq!((row.state, row.start_date, row.end_date), (RunState::Running, Some(NOW), None));
    let reason = |dag_id: &str| report.refused.iter().find(|run| run.dag_id == dag_id).unwrap().reason;
    assert_eq!(reason("a"), NotStarted::AtMaxActiveRuns { running: 0, ahead: 2, limit: 2 });
    assert_eq!(reason("b"), NotStarted::NeverStarts { limit: Some(0) });
    let again = start_all(&cx, NOW).await;
    assert!(again.started.is_empty(), "there is no place free");
    assert!(again.refused.iter().all(|run| run.dag_id == "b"), "nor is anybody read who waits for one");
}

async fn a_run_of_the_future_waits_for_its_time(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily())]).await;
    let run_after = NOW + 1.hour();
    add(&place, [NewDagRun { run_after, ..queued("a", 0) }]).await;
    let cx = place.scheduler().await;
    assert!(start_all(&cx, NOW).await.started.is_empty());
    assert_eq!(start_all(&cx, run_after).await.started.len(), 1);
}

async fn a_long_queue_of_one_dag_hides_nobody(server: Server) {
    let plans = [Plan::new("long", daily()).max_active_runs(1), Plan::new("short", daily())];
    let place = Place::new(server, &plans).await;
    add(&place, (0..2_000).map(|number| queued("long", number)).chain([queued("short", 5_000)])).await;
    let report = start_runs(&place.scheduler().await, NOW).await.unwrap();
    let mut started: Vec<(&str, &str)> =
        report.started.iter().map(|run| (run.dag_id.as_str(), run.run_id.as_str())).collect();
    started.sort_unstable();
    assert_eq!(started, [("long", "run_0"), ("short", "run_5000")]);
    assert_eq!(report.refused.len(), 1, "the rest of a queue is not even read");
}

async fn however_many_runs_of_a_dag_cannot_be_read_the_next_starts(server: Server) {
    let plans = [Plan::new("bad", daily()).max_active_runs(1), Plan::new("good", daily()).max_active_runs(1)];
    let place = Place::new(server, &plans).await;
    add(&place, (0..100).map(|number| queued("bad", number))).await;
    place.database.execute("UPDATE dag_run SET run_type = 'dataset_triggered'").await;
    add(&place, (100..103).map(|number| queued("bad", number)).chain([queued("good", 0)])).await;
    let report = start_all(&place.scheduler().await, NOW).await;
    let mut started: Vec<(&str, &str)> =
        report.started.iter().map(|run| (run.dag_id.as_str(), run.run_id.as_str())).collect();
    started.sort_unstable();
    assert_eq!(started, [("bad", "run_100"), ("good", "run_0")]);
}

async fn a_run_is_as_late_as_it_starts_after_its_time(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily())]).await;
    let run_after = NOW - 90.seconds();
    let scheduled = NewDagRun { run_type: RunType::Scheduled, run_after, ..queued("a", 0) };
    let asset = NewDagRun {
        triggered_by: Some(TriggeredBy::Asset),
        run_type: RunType::AssetTriggered,
        ..queued("a", 1)
    };
    add(&place, [scheduled, asset, queued("a", 2)]).await;
    let mut report = start_all(&place.scheduler().await, NOW).await;
    report.started.sort_by(|one, other| one.run_id.cmp(&other.run_id));
    let delays: Vec<Option<SignedDuration>> = report.started.iter().map(|run| run.schedule_delay).collect();
    assert_eq!(delays, [Some(SignedDuration::from_secs(90)), None, None]);
}

async fn backfills_have_a_limit_a_pause_and_an_order_of_their_own(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()).max_active_runs(1)]).await;
    let columns = "id, dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, max_active_runs, \
                   created_at, updated_at";
    let date = "'2024-01-01 00:00:00'";
    for (id, is_paused) in [(1, false), (2, true)] {
        place
            .database
            .execute(format!(
                "INSERT INTO backfill ({columns}) \
                 VALUES ({id}, 'a', {date}, {date}, '{{}}', {is_paused}, 'none', 2, {date}, {date})"
            ))
            .await;
    }
    let of = |backfill: i64, number: usize| NewDagRun {
        backfill_id: Some(backfill),
        run_type: RunType::Backfill,
        ..queued("a", number)
    };
    let ids = add(&place, [queued("a", 0), of(1, 1), of(1, 2), of(1, 3), of(2, 4)]).await;
    for (ordinal, id) in [(3, ids[1]), (1, ids[2]), (2, ids[3])] {
        let statement = format!(
            "INSERT INTO backfill_dag_run (backfill_id, dag_run_id, sort_ordinal) VALUES (1, {id}, {ordinal})"
        );
        place.database.execute(statement).await;
    }
    let report = start_all(&place.scheduler().await, NOW).await;
    let mut started: Vec<&str> = report.started.iter().map(|run| run.run_id.as_str()).collect();
    started.sort_unstable();
    assert_eq!(
        started,
        ["run_0", "run_2", "run_3"],
        "the first two of the backfill, by its order, and the other one"
    );
    let reason = |run_id: &str| report.refused.iter().find(|run| run.run_id == run_id).unwrap().reason;
    assert_eq!(reason("run_1"), NotStarted::AtMaxActiveRuns { running: 0, ahead: 2, limit: 2 });
    assert_eq!(reason("run_4"), NotStarted::BackfillPaused(2));
}

/// As many other runs of the DAG run as may.
async fn a_cleared_run_of_a_backfill_that_is_over_starts(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()).max_active_runs(1)]).await;
    let date = "'2024-01-01 00:00:00'";
    place
        .database
        .execute(format!(
            "INSERT INTO backfill (id, dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, \
             max_active_runs, created_at, updated_at, completed_at) \
             VALUES (1, 'a', {date}, {date}, '{{}}', false, 'none', 2, {date}, {date}, {date})"
        ))
        .await;
    add(&place, [queued("a", 0)]).await;
    assert_eq!(start_all(&place.scheduler().await, NOW).await.started.len(), 1);
    let run = NewDagRun { backfill_id: Some(1), run_type: RunType::Backfill, ..queued("a", 1) };
    add(&place, [run]).await;
    let started = start_all(&place.scheduler().await, NOW).await.started;
    assert_eq!(started.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["run_1"]);
}

async fn a_run_whose_dag_is_not_stored_stays_queued(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()), Plan::new("b", daily())]).await;
    create_all(&place.scheduler().await, at("2024-01-02")).await;
    place.database.execute("DELETE FROM serialized_dag WHERE dag_id = 'a'").await;
    let report = start_all(&place.scheduler().await, at("2024-01-02")).await;
    assert_eq!(report.started.len(), 1);
    assert_eq!(report.refused[0].reason, NotStarted::NoDefinition);
}

pub(crate) fn queued(dag_id: &str, number: usize) -> NewDagRun {
    let date = at("2024-01-01") + i64::try_from(number).unwrap().minutes();
    a_run(dag_id, &format!("run_{number}"), date)
}

/// Adds runs, and tells their ids.
pub(crate) async fn add(place: &Place, runs: impl IntoIterator<Item = NewDagRun>) -> Vec<i64> {
    let runs: &Vec<NewDagRun> = &runs.into_iter().collect();
    let added = place.db.transact(|tx| {
        async move {
            let mut ids = Vec::with_capacity(runs.len());
            for run in runs {
                ids.push(dag_run::insert(tx, run, at("2024-01-01")).await?);
            }
            Ok(ids)
        }
        .scope_boxed()
    });
    added.await.unwrap()
}
