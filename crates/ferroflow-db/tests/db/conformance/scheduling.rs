//! What a scheduler reads and writes of DAGs and runs.

use std::collections::BTreeSet;

use ferroflow_db::asset::triggered_runs;
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Db, Json, ScopedFutureExt as _, asset_partition_dag_run, backfill, dag, deadline};
use ferroflow_model::runs::events::EventWindow;
use ferroflow_model::state::{RunState, RunType};
use ferroflow_model::timetable::{DataInterval, RunInfo};
use ferroflow_testkit::rows::{a_dag, a_run, add_dag, add_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use uuid::Uuid;

use crate::conformance::NOW;

ferroflow_testkit::on_every_database!(
    a_dag_is_due_when_its_time_has_come_and_it_may_have_a_run,
    the_next_run_is_written_for_all_dags_that_share_it,
    runs_are_added_many_at_a_time_and_found_by_name_and_date,
    waiting_dags_are_listed_once_each,
    of_each_queue_the_first_are_told,
    only_queued_runs_start,
    the_newest_runs_are_told_and_a_dag_is_paused,
    of_nothing_nothing_is_found,
);

async fn made(server: Server) -> (TestDb, Db) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    (database, db)
}

fn due_dag(dag_id: &str, due: Timestamp) -> dag::Dag {
    dag::Dag {
        next_dagrun: Some(due),
        next_dagrun_data_interval_start: Some(due),
        next_dagrun_data_interval_end: Some(due),
        next_dagrun_create_after: Some(due),
        ..a_dag(dag_id)
    }
}

async fn a_dag_is_due_when_its_time_has_come_and_it_may_have_a_run(server: Server) {
    let (_database, db) = made(server).await;
    let found = db.transact(|tx| {
        async move {
            add_dag(tx, "idle").await?;
            for (dag_id, is_full) in [("due", false), ("flagged", true), ("full", true)] {
                let row = dag::Dag {
                    exceeds_max_non_backfill: is_full,
                    max_active_runs: Some(1),
                    ..due_dag(dag_id, NOW)
                };
                dag::insert(tx, &row).await?;
            }
            dag::insert(tx, &due_dag("later", NOW + 1.second())).await?;
            dag::insert(tx, &dag::Dag { is_paused: true, ..due_dag("paused", NOW) }).await?;
            dag_run::insert(tx, &a_run("full", "run", NOW), NOW).await?;
            let due = dag::scheduling::due(tx, NOW, None, 100).await?.0.dags;
            dag::scheduling::recount_active(tx, "flagged").await?;
            dag::scheduling::recount_active(tx, "full").await?;
            let flags = dag::scheduling::find(tx, &["flagged", "full"]).await?.dags;
            Ok((due, dag::scheduling::next_due(tx, NOW).await?, flags))
        }
        .scope_boxed()
    });
    let (due, next, flags) = found.await.unwrap();
    let mut names: Vec<&str> = due.iter().map(|dag| dag.dag_id.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["due", "flagged"], "a flag that is not true keeps nobody out");
    assert_eq!(due[0].next_dagrun_data_interval, Some(DataInterval::exact(NOW)));
    assert_eq!(next, Some(NOW + 1.second()));
    let mut flags: Vec<_> =
        flags.iter().map(|dag| (dag.dag_id.as_str(), dag.exceeds_max_non_backfill)).collect();
    flags.sort_unstable();
    assert_eq!(flags, [("flagged", false), ("full", true)]);
}

async fn the_next_run_is_written_for_all_dags_that_share_it(server: Server) {
    let (_database, db) = made(server).await;
    let rows = db.transact(|tx| {
        async move {
            ferroflow_db::dag_bundle::insert_if_missing(tx, "dags-folder").await?;
            for dag_id in ["a", "b", "c"] {
                dag::insert(tx, &due_dag(dag_id, NOW)).await?;
            }
            let next = RunInfo {
                run_after: NOW + 2.hours(),
                data_interval: Some(DataInterval { start: NOW, end: NOW + 1.hour() }),
                partition_date: None,
                partition_key: None,
            };
            dag::scheduling::set_next_run(tx, &["a", "b"], Some(&next)).await?;
            dag::scheduling::set_next_run(tx, &["c"], None).await?;
            dag::scheduling::set_exceeds(tx, &["b", "c"], true).await?;
            dag::scheduling::find(tx, &["a", "b", "c"]).await
        }
        .scope_boxed()
    });
    let mut rows = rows.await.unwrap().dags;
    rows.sort_by(|one, other| one.dag_id.cmp(&other.dag_id));
    let told =
        rows.iter().map(|dag| (dag.next_dagrun, dag.next_dagrun_create_after, dag.exceeds_max_non_backfill));
    let expected = [
        (Some(NOW), Some(NOW + 2.hours()), false),
        (Some(NOW), Some(NOW + 2.hours()), true),
        (None, None, true),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

async fn runs_are_added_many_at_a_time_and_found_by_name_and_date(server: Server) {
    let (_database, db) = made(server).await;
    let runs: &Vec<NewDagRun> =
        &(0..100).map(|number| a_run("dag", &format!("run {number}"), NOW + number.seconds())).collect();
    let backfill = &NewDagRun { run_type: RunType::Backfill, ..a_run("dag", "backfill", NOW - 1.second()) };
    let found = db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            let ids = dag_run::create::insert_many(tx, runs, NOW).await?;
            let one = dag_run::insert(tx, backfill, NOW).await?;
            let again = dag_run::create::find_ids(tx, &[("dag", "run 7"), ("dag", "nobody")]).await?;
            let dates = [("dag", NOW + 5.seconds()), ("dag", NOW + 1.hour()), ("other", NOW)];
            let of_dates = dag_run::create::of_dates(tx, &dates).await?;
            let active = dag_run::create::count_active(tx, &["dag", "other"]).await?;
            let row = dag_run::find(tx, "dag", "run 7").await?;
            Ok((ids, one, again, of_dates, active, row))
        }
        .scope_boxed()
    });
    let (ids, one, again, of_dates, active, row) = found.await.unwrap();
    let row = row.unwrap();
    assert_eq!(ids.len(), 100);
    assert_eq!(again.into_iter().collect::<Vec<_>>(), [(("dag".to_owned(), "run 7".to_owned()), row.id)]);
    assert_eq!(ids[&("dag".to_owned(), "run 7".to_owned())], row.id);
    assert!(!ids.values().any(|id| *id == one));
    assert_eq!((row.queued_at, row.clear_number, row.state), (Some(NOW), 0, RunState::Queued));
    assert!(row.log_template_id.is_some());
    let names: Vec<&str> = of_dates.values().map(|run| run.run_id.as_str()).collect();
    assert_eq!(names, ["run 5"]);
    assert_eq!(active.len(), 1);
    assert_eq!((active["dag"].others, active["dag"].backfills), (100, 1));
}

async fn add_queued(db: &Db, dags: &[(&str, i32, usize)]) {
    let added = db.transact(|tx| {
        async move {
            ferroflow_db::dag_bundle::insert_if_missing(tx, "dags-folder").await?;
            for (dag_id, most, number) in dags {
                dag::insert(tx, &dag::Dag { max_active_runs: Some(*most), ..a_dag(dag_id) }).await?;
                let number = i64::try_from(*number).unwrap();
                let runs: Vec<NewDagRun> = (0..number)
                    .map(|place| a_run(dag_id, &format!("run {place}"), NOW - (number - place).seconds()))
                    .collect();
                dag_run::create::insert_many(tx, &runs, NOW).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    added.await.unwrap();
}

async fn waiting_dags_are_listed_once_each(server: Server) {
    let (_database, db) = made(server).await;
    add_queued(&db, &[("a", 1, 3), ("b", 1, 0), ("c", 1, 1)]).await;
    let found = db.read(|tx| async move { dag_run::start::waiting_dags(tx).await }.scope_boxed());
    assert_eq!(found.await.unwrap(), ["a", "c"]);
}

async fn of_each_queue_the_first_are_told(server: Server) {
    let (_database, db) = made(server).await;
    add_queued(&db, &[("a", 1, 30), ("b", 20, 30), ("c", 20, 2)]).await;
    let found = db.read(|tx| {
        async move { dag_run::start::startable(tx, &["a", "b", "c"], &BTreeSet::new(), NOW, 10).await }
            .scope_boxed()
    });
    let found = found.await.unwrap();
    let of = |dag_id: &str| {
        let mut names: Vec<&str> =
            found.iter().filter(|run| run.dag_id == dag_id).map(|run| run.run_id.as_str()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(of("a"), ["run 0", "run 1"], "what may run, and one more");
    assert_eq!(of("b").len(), 10);
    assert_eq!(of("c").len(), 2);
}

async fn only_queued_runs_start(server: Server) {
    let (_database, db) = made(server).await;
    add_queued(&db, &[("a", 1, 3)]).await;
    let found = db.transact(|tx| {
        async move {
            let mut ids = Vec::new();
            for run in dag_run::start::startable(tx, &["a"], &BTreeSet::new(), NOW, 10).await? {
                ids.push(run.id);
            }
            ids.sort_unstable();
            dag_run::set_state(tx, ids[0], RunState::Queued, RunState::Failed, NOW).await?;
            let locked = dag_run::start::lock_queued(tx, &ids).await?;
            let started = dag_run::start::start(tx, &ids, NOW).await?;
            Ok((ids, locked, started, dag_run::start::running(tx, &["a"]).await?))
        }
        .scope_boxed()
    });
    let (ids, locked, started, running) = found.await.unwrap();
    assert_eq!((locked, started), (vec![ids[1]], 1));
    assert_eq!((running[0].count, running[0].last_started, running[0].backfill_id), (1, Some(NOW), None));
}

// SQLite has one writer, and nobody to skip.

#[tokio::test]
async fn dags_that_somebody_locked_are_left_out_on_postgres() {
    dags_that_somebody_locked_are_left_out(Server::Postgres).await;
}

#[tokio::test]
async fn dags_that_somebody_locked_are_left_out_on_mariadb() {
    dags_that_somebody_locked_are_left_out(Server::MariaDb).await;
}

async fn dags_that_somebody_locked_are_left_out(server: Server) {
    let (_database, db) = made(server).await;
    add_queued(&db, &[("a", 1, 1), ("b", 1, 1)]).await;
    let other = &db;
    let found = db.transact(|tx| {
        async move {
            dag::scheduling::lock_free(tx, &["a"]).await?;
            let seen = other.transact(|tx| {
                async move { Ok(dag::scheduling::lock_free(tx, &["a", "b"]).await?.dags) }.scope_boxed()
            });
            seen.await
        }
        .scope_boxed()
    });
    let names: Vec<String> = found.await.unwrap().into_iter().map(|dag| dag.dag_id).collect();
    assert_eq!(names, ["b"]);
}

async fn the_newest_runs_are_told_and_a_dag_is_paused(server: Server) {
    let (_database, db) = made(server).await;
    let found = db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            add_dag(tx, "other").await?;
            for (number, end) in [RunState::Success, RunState::Failed].into_iter().enumerate() {
                let after = NOW - i64::try_from(number).unwrap().hours();
                let id = add_run(tx, "dag", &format!("run {number}"), after).await?;
                assert!(dag_run::set_state(tx, id, RunState::Queued, RunState::Running, NOW).await?);
                assert!(dag_run::set_state(tx, id, RunState::Running, end, NOW).await?);
            }
            let all = dag_run::lookup::newest_states(tx, "dag", 3).await?;
            let newest = dag_run::lookup::newest_states(tx, "dag", 1).await?;
            assert!(dag::pause::set(tx, "dag", true).await?);
            assert!(!dag::pause::set(tx, "dag", true).await?, "it is paused");
            Ok((all, newest, dag::scheduling::find(tx, &["dag", "other"]).await?.dags))
        }
        .scope_boxed()
    });
    let (all, newest, dags) = found.await.unwrap();
    assert_eq!(all, [RunState::Success, RunState::Failed], "the one that was due last is the first");
    assert_eq!(newest, [RunState::Success]);
    let mut paused: Vec<_> = dags.iter().map(|dag| (dag.dag_id.as_str(), dag.is_paused)).collect();
    paused.sort_unstable();
    assert_eq!(paused, [("dag", true), ("other", false)]);
}

async fn of_nothing_nothing_is_found(server: Server) {
    let (_database, db) = made(server).await;
    let asked = db.transact(|tx| {
        async move {
            assert!(dag::scheduling::lock_free(tx, &["x"]).await?.dags.is_empty());
            assert!(serialized_dag::latest_hashes(tx, &["x"]).await?.is_empty());
            assert!(serialized_dag::find_many(tx, &[Uuid::nil()]).await?.is_empty());
            assert!(serialized_dag::stored(tx, &[Uuid::nil()]).await?.is_empty());
            assert!(dag::list::find_many(tx, &["x"]).await?.is_empty());
            assert!(dag_run::create::last_scheduled(tx, &["x"]).await?.is_empty());
            assert_eq!(dag_run::create::last_asset_triggered(tx, "x", NOW).await?, None);
            assert!(backfill::find(tx, &[1]).await?.is_empty());
            assert!(backfill::lock_free(tx, &[1]).await?.is_empty());
            assert!(triggered_runs::queued(tx).await?.is_empty());
            assert!(triggered_runs::lock_queued(tx, &["x"]).await?.is_empty());
            triggered_runs::unqueue(tx, &[(1, "x")]).await?;
            assert_eq!(triggered_runs::waits_since(tx, "x").await?, None);
            let window = EventWindow { after: None, belated_after: None, up_to: NOW };
            assert_eq!(triggered_runs::consume(tx, 1, "x", window).await?, 0);
            assert!(asset_partition_dag_run::pending::page(tx, 0, 10).await?.found.is_empty());
            assert!(asset_partition_dag_run::pending::arrived(tx, &[1]).await?.is_empty());
            assert!(asset_partition_dag_run::pending::lock_free(tx, &[1]).await?.is_empty());
            assert_eq!(asset_partition_dag_run::pending::give_run(tx, 1, 1, NOW).await?, 0);
            asset_partition_dag_run::pending::delete(tx, &[1]).await?;
            assert!(deadline::create::alerts(tx, &[Uuid::nil()]).await?.is_empty());
            assert!(deadline::create::past_durations(tx, "x", 3).await?.is_empty());
            Ok(Json::null())
        }
        .scope_boxed()
    });
    asked.await.unwrap();
}
