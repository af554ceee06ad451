//! Runs: how they are made, started, looked up, tracked and ended.

use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_run::ownership::PeersAlive;
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::monitoring::{gauges, live_view};
use ferroflow_db::task_instance::{blockers, clear, dependencies};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, job};
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_testkit::rows::{a_dag, a_run, add_dag, add_run};
use jiff::ToSpan as _;
use serde_json::json;

use super::{add, key, running, strings, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { made(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { started(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { looked_up(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { tracked(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { watched(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { cleared(tx).await }.scope_boxed()).await;
}

fn scheduled(dag_id: &str, run_id: &str, seconds: i64) -> NewDagRun {
    NewDagRun { run_type: RunType::Scheduled, ..a_run(dag_id, run_id, NOW + seconds.seconds()) }
}

async fn made(tx: &mut Tx) -> Result<(), Error> {
    dag::insert(tx, &Dag { next_dagrun: Some(NOW + 1.hour()), ..a_dag("made") }).await?;
    let partition = NewDagRun {
        partition_key: Some("key".to_owned()),
        partition_date: Some(NOW),
        ..scheduled("made", "partition", 1)
    };
    let triggered = NewDagRun { run_type: RunType::AssetTriggered, ..scheduled("made", "triggered", 2) };
    let ids =
        dag_run::create::insert_many(tx, &[scheduled("made", "one", 0), partition, triggered], NOW).await?;
    assert_eq!(ids.len(), 3);
    assert_eq!(dag_run::create::find_ids(tx, &[("made", "one")]).await?.len(), 1);
    assert_eq!(dag_run::create::of_dates(tx, &[("made", NOW)]).await?.len(), 1);
    assert_eq!(dag_run::create::count_active(tx, &["made"]).await?["made"].others, 3);
    assert_eq!(dag_run::count_active(tx, &strings(["made"])).await?["made"], 3);
    assert_eq!(dag_run::create::last_scheduled(tx, &["made"]).await?["made"], NOW);
    let last = dag_run::create::last_asset_triggered(tx, "made", NOW + 1.hour()).await?;
    assert_eq!(last, Some(NOW + 2.seconds()));
    assert!(dag_run::latest_automated(tx, "made", false).await?.is_some());
    assert!(dag_run::latest_automated(tx, "made", true).await?.is_some());
    let id = add_run(tx, "made", "gone", NOW + 5.seconds()).await?;
    assert!(dag_run::delete(tx, id).await?);
    Ok(())
}

async fn started(tx: &mut Tx) -> Result<(), Error> {
    assert_eq!(dag_run::start::waiting_dags(tx).await?, ["made"]);
    assert_eq!(dag::scheduling::next_due(tx, NOW - 1.hour()).await?, Some(NOW));
    let startable =
        dag_run::start::startable(tx, &["made"], &std::collections::BTreeSet::new(), NOW + 1.hour(), 10)
            .await?;
    let ids: Vec<i64> = startable.iter().map(|run| run.id).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(dag_run::start::lock_queued(tx, &ids).await?.len(), 3);
    let one = [dag_run::lookup::id(tx, "made", "one").await?.unwrap()];
    assert_eq!(dag_run::start::start(tx, &one, NOW).await?, 1);
    assert_eq!(dag_run::start::running(tx, &["made"]).await?[0].count, 1);
    assert_eq!(dag_run::lookup::queued(tx).await?.len(), 2);
    assert_eq!(dag_run::claim_running(tx, 10).await?.len(), 1);
    assert!(dag_run::set_examined(tx, &one, None, NOW).await?);
    assert!(dag_run::set_state(tx, one[0], RunState::Running, RunState::Success, NOW + 1.second()).await?);
    assert!(dag_run::set_state(tx, one[0], RunState::Success, RunState::Queued, NOW).await?);
    assert!(dag_run::set_state(tx, one[0], RunState::Queued, RunState::Running, NOW).await?);
    assert!(dag_run::set_state(tx, one[0], RunState::Running, RunState::Success, NOW + 1.second()).await?);
    assert_eq!(
        ferroflow_db::deadline::create::past_durations(tx, "made", 10).await?,
        [jiff::SignedDuration::from_secs(1)]
    );
    Ok(())
}

async fn looked_up(tx: &mut Tx) -> Result<(), Error> {
    use dag_run::lookup;
    let found = dag_run::find(tx, "made", "one").await?.unwrap();
    assert_eq!(ferroflow_db::deadline::missed::run(tx, found.id).await?, Some(found.clone()));
    assert_eq!(dag_run::list::of_date(tx, "made", NOW).await?, Some(found.clone()));
    assert_eq!(dag_run::find_either(tx, "made", "other", Some(NOW)).await?.as_deref(), Some("one"));
    assert!(dag_run::previous(tx, "made", NOW + 1.hour(), None).await?.is_some());
    assert_eq!(lookup::with_dag(tx, &[found.id]).await?[0].run, found);
    assert_eq!(lookup::id(tx, "made", "one").await?, Some(found.id));
    assert_eq!(lookup::state(tx, "made", "one").await?, Some(RunState::Success));
    assert!(lookup::is_due(tx, "made", "one", NOW).await?);
    assert_eq!(lookup::newest_states(tx, "made", 2).await?.len(), 2);
    assert_eq!(lookup::count(tx, "made", &[NOW], &strings(["one"]), &strings(["success"])).await?, 1);
    dag_run::note::insert(tx, found.id, None, "a note", NOW).await?;
    assert_eq!(dag_run::note::find(tx, found.id).await?.as_deref(), Some("a note"));
    assert_eq!(dag_run::history::newest_runs(tx, "made", 2).await?.len(), 2);
    assert_eq!(blockers::newest_runs(tx, "made", 2).await?.len(), 2);
    assert_eq!(blockers::unfinished_runs(tx, "made").await?.len(), 2);
    assert!(dependencies::earlier_run(tx, "made", NOW + 1.hour(), false).await?.is_some());
    assert_eq!(dependencies::earlier_of(tx, &[found.id], true).await?, [(found.id, None)]);
    Ok(())
}

async fn tracked(tx: &mut Tx) -> Result<(), Error> {
    use dag_run::ownership;
    add_dag(tx, "tracked").await?;
    let id = running(tx, "tracked", "run", 0).await?;
    let scheduler = job::NewJob {
        job_type: "SchedulerJob".to_owned(),
        hostname: "host".to_owned(),
        unixname: "user".to_owned(),
        executor_class: Some("LocalExecutor".to_owned()),
    };
    let job_id = job::insert(tx, &scheduler, NOW).await?;
    let peers = PeersAlive { executor_class: "LocalExecutor", heartbeat_since: NOW, examined_since: NOW };
    assert_eq!(ownership::living_peers(tx, "SchedulerJob", peers).await?, [job_id]);
    assert_eq!(ownership::lock(tx, id).await?.unwrap().id, id);
    assert_eq!(ownership::lock_many(tx, &[id]).await?.len(), 1);
    assert_eq!(ownership::unowned(tx, peers, NOW, 10).await?.runs.len(), 1);
    assert_eq!(ownership::unowned_in_turn(tx, peers, NOW, 0, 10).await?.found.len(), 1);
    assert_eq!(ownership::states(tx, &[id]).await?[0].state, RunState::Running);
    let instance = add(tx, key("tracked", "run", "task"), |row| row.state = Some(TaskState::Success)).await?;
    assert_eq!(ownership::changed(tx, &[id], NOW - 1.second()).await?.len(), 1);
    assert_eq!(ownership::changed_some(tx, &[instance.id], NOW - 1.second()).await?.len(), 1);
    assert!(dag_run::set_examined(tx, &[id], Some(job_id), NOW - 1.second()).await?);
    dag::pause::set(tx, "tracked", true).await?;
    assert_eq!(dag_run::paused::changed(tx, 0, 10).await?.found.len(), 1);
    assert_eq!(live_view::paused(tx).await?, ["tracked"]);
    dag::pause::set(tx, "tracked", false).await?;
    assert_eq!(ownership::release(tx, job_id).await?, 1);
    Ok(())
}

async fn watched(tx: &mut Tx) -> Result<(), Error> {
    assert_eq!(live_view::unfinished(tx, 10).await?.len(), 3);
    let newest = live_view::newest_run(tx).await?;
    let runs = live_view::followed(tx, newest - 1, &[newest], 10).await?;
    assert_eq!(live_view::count_by_state(tx, &[&runs[0]]).await?[0].total, 1);
    assert_eq!(live_view::upcoming(tx, 10).await?.len(), 1);
    assert!(live_view::count_dags(tx).await? > 3);
    assert_eq!(gauges::running_runs(tx).await?, 1);
    Ok(())
}

async fn cleared(tx: &mut Tx) -> Result<(), Error> {
    let run = dag_run::find(tx, "made", "one").await?.unwrap();
    let state = clear::lock_run(tx, run.id).await?.unwrap();
    let noted = clear::ClearedRun {
        id: run.id,
        context_carrier: json!({}),
        created_dag_version_id: None,
        bundle_version: None,
    };
    assert!(clear::note_run(tx, &noted, state, NOW).await?);
    assert_eq!(dag_run::lookup::state(tx, "made", "one").await?, Some(RunState::Queued));
    Ok(())
}
