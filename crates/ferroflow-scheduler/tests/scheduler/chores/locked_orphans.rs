//! Somebody locks the row of an orphan after it was claimed: it is accounted for once that has ended, and no other waits.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_execution::LOCK_PATIENCE;
use ferroflow_executor::{Adopted, Executor, Orphan, Slots, Workload};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::Context;
use ferroflow_scheduler::chores;
use ferroflow_telemetry::clock;
use ferroflow_testkit::{HeldRows, Server};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::chores::rows::{NOW, Place, handed_out};
use crate::chores::world::only;

/// Says of all that they ran here. Some rows are locked between their claim and that.
#[derive(Clone)]
struct Interrupted {
    place: Arc<Place>,
    to_lock: Vec<Uuid>,
    held: Arc<Mutex<Option<HeldRows>>>,
    is_here: bool,
}

impl Interrupted {
    fn new(place: &Arc<Place>, to_lock: &[Uuid], is_here: bool) -> Self {
        Self { place: Arc::clone(place), to_lock: to_lock.to_vec(), held: Arc::default(), is_here }
    }
}

impl Executor for Interrupted {
    fn slots(&self) -> Slots {
        Slots { all: 1, ..Slots::default() }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        panic!("chores submit nothing: {workloads:?}");
    }

    fn terminate(&self, id: Uuid) {
        panic!("chores end nothing: {id}");
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.has_begun
    }

    fn adopt<'a>(&'a self, orphans: &'a [Orphan]) -> BoxFuture<'a, Vec<Adopted>> {
        async {
            *self.held.lock().await = Some(HeldRows::of(&self.place.database, self.to_lock.clone()).await);
            let ended = || Adopted::Ended("its supervisor is gone".to_owned());
            orphans.iter().map(|_| if self.is_here { ended() } else { Adopted::NotFound }).collect()
        }
        .boxed()
    }
}

/// A scheduler that waits for locks as the real one does.
fn patient(place: &Place) -> Context {
    let mut cx = place.scheduler(place.me);
    cx.db = cx.db.with_lock_patience(LOCK_PATIENCE);
    cx.service.db = cx.db.clone();
    cx
}

async fn until_none(place: &Place, condition: &str) {
    for _ in 0..600 {
        if place.count("task_instance", condition).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("there still is one: {condition}");
}

async fn a_locked_orphan_holds_up_no_other(server: Server) {
    let place = Arc::new(Place::new(server).await);
    let gone = place.scheduler_that_ended(NOW).await;
    let mut ids = place.add(4, handed_out(TaskState::Running, gone)).await;
    ids.sort_unstable();
    let cx = patient(&place);
    let begun = clock::now();
    let executors = Interrupted::new(&place, &ids[1..3], true);
    let report = chores::orphans(&cx, NOW, &only(executors.clone())).await.unwrap();
    assert_eq!((report.settled.len(), report.later.len()), (1, 3), "{report:?}");
    assert_eq!(report.refused, []);
    // The last one, behind both.
    until_none(&place, &format!("state = 'running' AND id = '{}'", ids[3])).await;
    for id in &ids[1..3] {
        let row = place.find(*id).await.unwrap();
        assert_eq!((row.state, row.queued_by_job_id), (Some(TaskState::Running), Some(place.me)));
    }
    executors.held.lock().await.take().unwrap().let_go().await;
    until_none(&place, "state = 'running'").await;
    for id in &ids[1..3] {
        let row = place.find(*id).await.unwrap();
        assert_eq!(row.state, Some(TaskState::Failed));
        // So looking around finds it: only what was written lately is looked at.
        assert!(row.updated_at.unwrap() >= begun, "{row:?}");
    }
}

async fn one_that_ran_elsewhere_begins_anew_once_it_can(server: Server) {
    let place = Arc::new(Place::new(server).await);
    let gone = place.scheduler_that_ended(NOW).await;
    let ids = place.add(1, handed_out(TaskState::Running, gone)).await;
    let cx = patient(&place);
    let executors = Interrupted::new(&place, &ids, false);
    let report = chores::orphans(&cx, NOW, &only(executors.clone())).await.unwrap();
    assert_eq!((report.reset.len(), report.later.len()), (0, 1), "{report:?}");
    executors.held.lock().await.take().unwrap().let_go().await;
    until_none(&place, "state IS NOT NULL").await;
    assert_eq!(place.count("task_instance_history", "try_number = 1").await, 1);
}

#[tokio::test]
async fn a_locked_orphan_holds_up_no_other_on_postgres() {
    a_locked_orphan_holds_up_no_other(Server::Postgres).await;
}

#[tokio::test]
async fn a_locked_orphan_holds_up_no_other_on_mariadb() {
    a_locked_orphan_holds_up_no_other(Server::MariaDb).await;
}

#[tokio::test]
async fn one_that_ran_elsewhere_begins_anew_once_it_can_on_postgres() {
    one_that_ran_elsewhere_begins_anew_once_it_can(Server::Postgres).await;
}

#[tokio::test]
async fn one_that_ran_elsewhere_begins_anew_once_it_can_on_mariadb() {
    one_that_ran_elsewhere_begins_anew_once_it_can(Server::MariaDb).await;
}
