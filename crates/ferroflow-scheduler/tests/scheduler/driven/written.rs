//! What is written beside states.

use ferroflow_db::{ScopedFutureExt as _, callback, dag_run, task_instance};
use ferroflow_model::extended_json;
use ferroflow_model::readiness::WhenReady;
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_scheduler::create_run;
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::{Value, json};

use crate::driven::fake::{Does, Script};
use crate::driven::place::{DATE, Place, new_run, run_settings};
use crate::driven::sketch::Sketch;

ferroflow_testkit::on_every_database!(
    a_run_is_made_once,
    a_note_is_kept,
    the_dag_is_told_of_the_end,
    what_is_queued_is_queued_once,
);

async fn a_run_is_made_once(server: Server) {
    let place = Place::new(server, &Sketch::of("a")).await;
    place.make(&new_run("run")).await.unwrap();
    for (run_id, date) in [("run", DATE + 1.hour()), ("other", DATE)] {
        let mut again = new_run(run_id);
        again.logical_date = Some(date);
        let refused = place.make(&again).await.unwrap_err();
        assert!(
            matches!(&refused, create_run::Error::RunExists { run_id, .. } if run_id == "run"),
            "{refused}"
        );
    }
    assert_eq!(place.states("run").await.len(), 1);
}

async fn a_note_is_kept(server: Server) {
    let place = Place::new(server, &Sketch::of("a")).await;
    let mut run = new_run("run");
    run.note = Some("é — look at this".to_owned());
    let id = place.make(&run).await.unwrap();
    let note = place.db.read(|tx| async move { dag_run::note::find(tx, id).await }.scope_boxed());
    assert_eq!(note.await.unwrap(), run.note);
}

async fn the_dag_is_told_of_the_end(server: Server) {
    for (does, flag, is_failure, message, last) in [
        (Does::Fails, "has_on_failure_callback", true, "task_failure", "a"),
        (Does::Succeeds, "has_on_success_callback", false, "success", "b"),
    ] {
        let sketch = Sketch::of("a; b < a").setting(flag, json!(true));
        let place = Place::new(server, &sketch).await;
        place.play(Script::new([("a", vec![does])])).await;
        let bundles = ["dags-folder".to_owned()];
        let held = place.db.transact(|tx| {
            let bundles = &bundles;
            async move { callback::claim(tx, bundles, 10, 1).await }.scope_boxed()
        });
        let held = held.await.unwrap();
        assert_eq!(held.len(), 1);
        let data = extended_json::decode(&held[0].data.value().unwrap());
        assert_eq!(data["req_class"], "DagCallbackRequest");
        let request: Value = serde_json::from_str(data["req_data"].as_str().unwrap()).unwrap();
        assert_eq!((&request["msg"], &request["is_failure_callback"]), (&json!(message), &json!(is_failure)));
        assert_eq!(request["context_from_server"]["last_ti"]["task_id"], last);
        let state = if is_failure { RunState::Failed } else { RunState::Success };
        assert_eq!(request["context_from_server"]["dag_run"]["state"], state.as_str());
    }
    let place = Place::new(server, &Sketch::of("a")).await;
    place.play(Script::default()).await;
    let bundles = &["dags-folder".to_owned()];
    let any = place.db.read(|tx| async move { callback::is_any(tx, bundles).await }.scope_boxed());
    assert!(!any.await.unwrap());
}

async fn what_is_queued_is_queued_once(server: Server) {
    for names in [ExecutorNames::None, ExecutorNames::Random] {
        let place = Place::new(server, &Sketch::of("a; b; c")).await;
        place.make(&new_run("run")).await.unwrap();
        let (mut run, mut other) = (place.load("run").await, place.load("run").await);
        let run_settings = run_settings();
        let step = run.step(&place.db, &run_settings, WhenReady::Schedule, clock::now()).await.unwrap();
        other.reload(&place.db, &run_settings, clock::now()).await.unwrap();
        let ready = step.scheduled;
        let first = run.queue(&place.db, &run_settings, &ready[..2], names, clock::now()).await.unwrap();
        assert_eq!((first.instances.len(), first.missed.len()), (2, 0));
        let second = other.queue(&place.db, &run_settings, &ready, names, clock::now()).await.unwrap();
        assert_eq!((second.instances.len(), second.missed.as_slice()), (1, &ready[..2]));
        let id = second.instances[0].id;
        let row = place.db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed());
        let row = row.await.unwrap().unwrap();
        assert_eq!((row.state, row.queued_dttm.is_some()), (Some(TaskState::Queued), true));
        assert_eq!(row.external_executor_id.is_some(), names == ExecutorNames::Random);
    }
}
