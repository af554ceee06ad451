//! Runs that wait: for time, for a triggerer, for the run before. And runs that are stopped.

use std::time::Duration;

use ferroflow_db::task_instance::scheduling::InstanceRow;
use ferroflow_db::{Db, ScopedFutureExt as _, task_instance};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_scheduler::foreground_run::End;
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::driven::fake::{Does, Script};
use crate::driven::place::{DAG, DATE, Place, new_run};
use crate::driven::sketch::Sketch;

ferroflow_testkit::on_every_database!(
    a_failed_try_is_followed_by_another,
    what_asks_for_it_is_looked_at_again,
    a_deferred_task_goes_on_when_somebody_brings_it_back,
    a_task_that_begins_with_its_trigger_needs_no_worker,
    the_run_before_is_waited_for,
    no_more_run_at_a_time_than_may,
    what_never_starts_or_dies_has_failed,
    a_run_is_stopped,
    tasks_can_count_as_successful,
    a_run_that_is_taken_away_is_left_alone,
    rows_that_changed_meanwhile_are_read_again,
);

async fn a_failed_try_is_followed_by_another(server: Server) {
    let sketch = Sketch::of("a; b < a").with("a", "retries", json!(2)).with("a", "retry_delay", json!(0.2));
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::new([("a", vec![Does::Retries, Does::Retries, Does::Succeeds])])).await;
    played.assert(RunState::Success, "a success 3; b success");
}

async fn what_asks_for_it_is_looked_at_again(server: Server) {
    let sketch =
        Sketch::of("a; b < a").with("a", "_is_sensor", json!(true)).with("a", "reschedule", json!(true));
    let place = Place::new(server, &sketch).await;
    let script = Script::new([("a", vec![Does::Reschedules(300), Does::Reschedules(-1000), Does::Succeeds])]);
    place.play(script).await.assert(RunState::Success, "a success; b success");
}

async fn a_deferred_task_goes_on_when_somebody_brings_it_back(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b < a")).await;
    place.make(&new_run("run")).await.unwrap();
    let script = Script::new([("a", vec![Does::Defers, Does::Succeeds])]);
    let (stop, db, tracked) = (CancellationToken::new(), place.db.clone(), place.tracked.clone());
    let trigger = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            // Whoever drives the run has seen that it waits.
            if !tracked.lines().iter().any(|line| line == "waits a[-1] deferred") {
                continue;
            }
            let fired = db.transact(|tx| {
                async move {
                    let rows = task_instance::scheduling::of_run(tx, DAG, "run").await?;
                    let Some(row) = rows.iter().find(|row| row.state == Some(TaskState::Deferred)) else {
                        return Ok(false);
                    };
                    let (from, to) = (row.state, Some(TaskState::Scheduled));
                    task_instance::set_state(tx, row.id, from, to, clock::now()).await
                }
                .scope_boxed()
            });
            if fired.await.unwrap() {
                break;
            }
        }
    });
    let played = place.drive("run", script, &|_| false, &stop).await;
    trigger.await.unwrap();
    played.assert(RunState::Success, "a success; b success");
    assert!(played.tracked.contains(&"waits a[-1] deferred".to_owned()), "{:?}", played.tracked);
}

async fn a_task_that_begins_with_its_trigger_needs_no_worker(server: Server) {
    let trigger = json!({"__type": "START_TRIGGER_ARGS", "trigger_cls": "mine.Trigger", "trigger_kwargs": {"x": 1},
        "next_method": "go_on", "next_kwargs": {"__type": "dict", "__var": {"y": 2}}, "timeout": 60.0});
    let sketch =
        Sketch::of("a").with("a", "start_from_trigger", json!(true)).with("a", "start_trigger_args", trigger);
    let place = Place::new(server, &sketch).await;
    place.make(&new_run("run")).await.unwrap();
    let mut run = place.load("run").await;
    let (now, run_settings) = (clock::now(), crate::driven::place::run_settings());
    let step = run.step(&place.db, &run_settings, ferroflow_model::readiness::WhenReady::Schedule, now).await;
    assert!(step.unwrap().stale.is_none());
    let id = run.instances().next().unwrap().id;
    let row = place.db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed());
    let row = row.await.unwrap().unwrap();
    assert_eq!((row.state, row.try_number), (Some(TaskState::Deferred), 1));
    assert_eq!(row.next_method.as_deref(), Some("go_on"));
    assert_eq!(row.next_kwargs.unwrap().value().unwrap(), json!({"y": 2}));
    assert!(row.trigger_id.is_some() && row.trigger_timeout > Some(now));
}

async fn the_run_before_is_waited_for(server: Server) {
    let sketch = Sketch::of("a; b").with("a", "depends_on_past", json!(true));
    let place = Place::new(server, &sketch).await;
    let played = place.play(Script::new([("a", vec![Does::Fails])])).await;
    played.assert(RunState::Failed, "a failed; b success");
    let later = DATE + 1.hour();
    let mut second = new_run("second");
    second.logical_date = Some(later);
    place.make(&second).await.unwrap();
    let stop = CancellationToken::new();
    let token = stop.clone();
    // Then only the one that waits is left.
    let has_ended = |row: &InstanceRow| row.task_id == "b" && row.state == Some(TaskState::Success);
    let stopper =
        tokio::spawn(cancel_when(place.db.clone(), "second", token, move |rows| rows.iter().any(has_ended)));
    let played = place.drive("second", Script::default(), &|_| false, &stop).await;
    stopper.await.unwrap();
    assert_eq!(played.end, End::Stopped);
    played.assert(RunState::Failed, "a skipped 0; b success");
}

/// Stops whoever drives a run as soon as its rows are so.
async fn cancel_when(
    db: Db,
    run_id: &'static str,
    stop: CancellationToken,
    are_so: impl Fn(&[InstanceRow]) -> bool,
) {
    loop {
        let rows = db
            .read(|tx| async move { task_instance::scheduling::of_run(tx, DAG, run_id).await }.scope_boxed());
        if are_so(&rows.await.unwrap()) {
            return stop.cancel();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn no_more_run_at_a_time_than_may(server: Server) {
    let one_copy = Sketch::of("a").mapped("a", 3).with("a", "max_active_tis_per_dagrun", json!(1));
    let one_task = Sketch::of("a; b; c").setting("max_active_tasks", json!(1));
    for sketch in [one_copy, one_task] {
        let played = Place::new(server, &sketch).await.play(Script::default()).await;
        assert_eq!(played.run.state, RunState::Success);
        let words: Vec<&str> = played.tracked.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(words, ["started", "ended"].repeat(3), "{:#?}", played.tracked);
    }
}

async fn what_never_starts_or_dies_has_failed(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b; c : all_done < a, b")).await;
    let played = place.play(Script::new([("a", vec![Does::NeverStarts]), ("b", vec![Does::Dies])])).await;
    played.assert(RunState::Success, "a failed; b failed; c success");
    assert!(played.tracked.contains(&"not started a[-1] failed".to_owned()), "{:?}", played.tracked);
}

async fn a_run_is_stopped(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b; c < a")).await;
    place.make(&new_run("run")).await.unwrap();
    let stop = CancellationToken::new();
    let token = stop.clone();
    let is_running = |row: &&InstanceRow| row.state == Some(TaskState::Running);
    let both_run = move |rows: &[InstanceRow]| rows.iter().filter(is_running).count() == 2;
    let stopper = tokio::spawn(cancel_when(place.db.clone(), "run", token, both_run));
    let script = Script::new([("a", vec![Does::Runs]), ("b", vec![Does::Runs])]);
    let played = place.drive("run", script, &|_| false, &stop).await;
    stopper.await.unwrap();
    assert_eq!(played.end, End::Stopped);
    played.assert(RunState::Failed, "a failed; b failed; c skipped 0");
}

async fn tasks_can_count_as_successful(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b < a")).await;
    place.make(&new_run("run")).await.unwrap();
    let script = Script::new([("a", vec![Does::Fails])]);
    let played = place.drive("run", script, &|task| task == "a", &CancellationToken::new()).await;
    played.assert(RunState::Success, "a success; b success");
    assert_eq!(played.tracked[0], "marked a[-1] success");
}

async fn a_run_that_is_taken_away_is_left_alone(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b < a")).await;
    place.make(&new_run("run")).await.unwrap();
    let mut run = place.load("run").await;
    place.database.execute("UPDATE dag_run SET state = 'failed' WHERE run_id = 'run'").await;
    let step = run
        .step(
            &place.db,
            &crate::driven::place::run_settings(),
            ferroflow_model::readiness::WhenReady::Schedule,
            clock::now(),
        )
        .await
        .unwrap();
    assert!(step.stale.is_some());
    assert_eq!(run.row.state, RunState::Failed);
}

async fn rows_that_changed_meanwhile_are_read_again(server: Server) {
    let place = Place::new(server, &Sketch::of("a; b < a; c")).await;
    place.make(&new_run("run")).await.unwrap();
    let mut run = place.load("run").await;
    place.database.execute("UPDATE task_instance SET state = 'success' WHERE task_id = 'a'").await;
    let (run_settings, when) =
        (crate::driven::place::run_settings(), ferroflow_model::readiness::WhenReady::Schedule);
    let step = run.step(&place.db, &run_settings, when, clock::now()).await.unwrap();
    assert!(step.stale.is_some() && step.scheduled.is_empty());
    // What could be written was: c is scheduled, and a stays as somebody else left it.
    let step = run.step(&place.db, &run_settings, when, clock::now()).await.unwrap();
    assert_eq!(step.stale, None);
    let b = run.find("b", -1).unwrap();
    assert_eq!(step.scheduled, [b]);
    let expected = [("a", "success 0"), ("b", "scheduled"), ("c", "scheduled")];
    let expected = expected.map(|(task, state)| (task.to_owned(), state.to_owned()));
    assert_eq!(place.states("run").await, expected.into_iter().collect());
}
