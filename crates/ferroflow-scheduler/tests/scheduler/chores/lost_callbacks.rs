//! Callbacks whose executor is gone go to another one; nobody takes them from one that lives.

use ferroflow_db::callback::due::HolderProcess;
use ferroflow_model::state::CallbackState::{Failed, Queued, Running, Success};
use ferroflow_scheduler::chores;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use uuid::Uuid;

use crate::chores::rows::{NOW, Place, arguments};
use crate::chores::world::Fake;

ferroflow_testkit::on_every_database!(
    what_a_dead_scheduler_had_is_called_by_another,
    what_a_living_scheduler_has_is_left_to_it,
    what_became_of_ours_without_a_word_is_not_called_again,
);

const RUNS_CALLBACKS: Fake = Fake { runs_callbacks: true, tests_connections: false, alive: None };

fn process_on(hostname: &str) -> HolderProcess {
    HolderProcess { pid: 1, hostname: hostname.to_owned(), seen: Some(NOW) }
}

/// Callbacks that a scheduler has queued.
async fn queued_by(place: &Place, job_id: i64, number: usize) -> Vec<Uuid> {
    for _ in 0..number {
        place.add_deadline("executor", arguments()).await;
    }
    let cx = place.scheduler(job_id);
    chores::deadlines(&cx, NOW).await.unwrap();
    let report = chores::executor_callbacks(&cx, NOW, &RUNS_CALLBACKS.alone()).await.unwrap();
    assert_eq!(report.queued.len(), number);
    report.queued.iter().map(|one| one.workload.id).collect()
}

async fn what_a_dead_scheduler_had_is_called_by_another(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    let ids = queued_by(&place, gone, 2).await;
    let (dead, me) = (place.scheduler(gone), place.scheduler(place.me));
    let begun = dead.service.callback_begins(ids[0], gone, process_on("elsewhere")).await.unwrap();
    let begun = begun.expect("it is queued for that scheduler");
    let report = chores::executor_callbacks(&me, NOW, &RUNS_CALLBACKS.alone()).await.unwrap();
    assert_eq!((report.taken_back.len(), report.queued.len()), (2, 2));
    // Should it only have been slow, it cannot do any harm.
    assert!(!dead.service.callback_succeeded(&begun).await.unwrap());
    for id in ids {
        let process = process_on("elsewhere");
        assert_eq!(dead.service.callback_begins(id, gone, process.clone()).await.unwrap(), None);
        let begun = me.service.callback_begins(id, place.me, process).await.unwrap().unwrap();
        assert_eq!(place.callback(id).await.state, Some(Running));
        assert!(me.service.callback_succeeded(&begun).await.unwrap());
        let row = place.callback(id).await;
        assert_eq!((row.state, row.output), (Some(Success), None));
    }
}

async fn what_a_living_scheduler_has_is_left_to_it(server: Server) {
    let place = Place::new(server).await;
    let ids = queued_by(&place, place.other, 1).await;
    let me = place.scheduler(place.me);
    let report = chores::executor_callbacks(&me, NOW, &RUNS_CALLBACKS.alone()).await.unwrap();
    assert_eq!((report.taken_back.len(), report.queued.len()), (0, 0));
    assert_eq!(place.callback(ids[0]).await.state, Some(Queued));
    let late = NOW + 1.hour();
    let report = chores::executor_callbacks(&me, late, &Fake::default().alone()).await.unwrap();
    assert_eq!(report.taken_back, ids, "it was not heard of for an hour");
}

async fn what_became_of_ours_without_a_word_is_not_called_again(server: Server) {
    let place = Place::new(server).await;
    let ids = queued_by(&place, place.me, 2).await;
    let me = place.scheduler(place.me);
    me.service.callback_begins(ids[0], place.me, process_on("here")).await.unwrap().unwrap();
    // The executor knows of neither.
    let none_free = Fake { runs_callbacks: false, ..RUNS_CALLBACKS }.alone();
    let report = chores::executor_callbacks(&me, NOW, &none_free).await.unwrap();
    assert_eq!(report.taken_back.len(), 2);
    let [called, not_called] = [place.callback(ids[0]).await, place.callback(ids[1]).await];
    assert_eq!(called.state, Some(Failed));
    assert!(called.output.unwrap().contains("could not be stored"));
    assert_eq!((not_called.state, report.refused.len()), (Some(Failed), 1), "no executor runs callbacks now");
}
