//! Rows that the database refuses to write, for a reason that only it knows: each is set aside, told of, and tried again
//! later every time. All others go on in the same cycles.

use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, Options, ScopedFutureExt as _, dag_run};
use ferroflow_model::state::RunState;
use ferroflow_model::why::Kind;
use ferroflow_scheduler::cycle::{CycleReport, Step};
use ferroflow_scheduler::start_runs::start_runs;
use ferroflow_scheduler::why::{Asked, why};
use ferroflow_scheduler::{Context, LOCK_PATIENCE};
use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::a_run;
use jiff::{SignedDuration, Timestamp};

use crate::runs::obstacles::plan;
use crate::runs::place::{Place, Plan, at, daily};
use crate::runs::sketch::Sketch;
use crate::runs::starting::{add, queued};
use crate::runs::whole::Whole;

ferroflow_testkit::on_every_database!(
    a_run_that_cannot_be_made,
    a_run_that_cannot_start,
    a_run_that_cannot_start_while_much_is_told,
    a_task_instance_that_cannot_be_scheduled,
    a_task_instance_that_cannot_be_queued,
);

const NOW: Timestamp = Timestamp::constant(1_717_200_000, 0);

async fn a_run_that_cannot_be_made(server: Server) {
    let plan = |dag_id: &str| {
        let mut plan = Plan::new(dag_id, daily());
        plan.sketch = Sketch::of("a; b < a").setting("timetable", daily());
        plan
    };
    let place = Place::new(server, &["aa", "mm", "zz"].map(plan)).await;
    place.database.refuse("INSERT", "dag_run", "NEW.dag_id = 'aa'").await;
    let whole = Whole::with_schedules(&place, NOW).await;
    let (mut whole, shown) = Box::pin(for_a_minute(whole)).await;
    assert_eq!(whole.handed().len(), 2, "the others have their runs");
    assert_eq!(place.run_ids().await.into_keys().collect::<Vec<_>>(), ["mm", "zz"]);
    assert_tried(&shown, "database");
    let refused = reasons(&place, None).await;
    assert!(refused.iter().any(is_told), "{refused:?}");
    assert_eq!(place.run_ids().await.len(), 2, "nothing is left of the attempt");
    place.database.refuse_no_more("dag_run").await;
    whole.after(SignedDuration::from_secs(61)).await;
    assert!(whole.handed()[0].starts_with("aa "));
}

async fn a_run_that_cannot_start(server: Server) {
    let place = Place::new(server, &[plan("aa").max_active_runs(1), plan("zz")]).await;
    add(&place, [queued("aa", 0), queued("aa", 1), queued("zz", 0)]).await;
    let refused = "NEW.dag_id = 'aa' AND NEW.run_id = 'run_0' AND NEW.state = 'running'";
    place.database.refuse("UPDATE", "dag_run", refused).await;
    let mut whole = Whole::new(&place, NOW).await;
    let left: Vec<_> = whole.cycle().await.started.set_aside;
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].dag_id.as_deref(), left[0].row.as_str()), (Some("aa"), "run run_0 of DAG aa"));
    assert!(left[0].reason.contains("not this one"), "{left:?}");
    whole.settle().await;
    assert_eq!(whole.handed(), ["aa run_1 a", "zz run_0 a"], "it keeps no place from the next of its DAG");
    place.database.execute("UPDATE dag SET max_active_runs = 2").await;
    let (mut whole, shown) = Box::pin(for_a_minute(whole)).await;
    assert_tried(&shown, "queued run");
    let refused = reasons(&place, Some("run_0")).await;
    assert!(refused.iter().any(is_told), "{refused:?}");
    place.database.refuse_no_more("dag_run").await;
    assert!(!reasons(&place, Some("run_0")).await.iter().any(is_told));
    whole.after(SignedDuration::from_secs(61)).await;
    assert_eq!(place.run("aa", "run_0").await.state, RunState::Running);
}

/// Somebody tells something in every cycle, just before runs are started: others would have their turn in the midst of it.
async fn a_run_that_cannot_start_while_much_is_told(server: Server) {
    let place = Place::new(server, &["aa", "bb", "cc", "zz"].map(plan)).await;
    add(&place, ["aa", "bb", "cc", "zz"].map(|dag_id| queued(dag_id, 0))).await;
    place.database.refuse("UPDATE", "dag_run", "NEW.dag_id = 'aa' AND NEW.state = 'running'").await;
    let mut whole = Whole::new(&place, NOW).await;
    for _ in 0..4 {
        whole.now += SignedDuration::from_millis(1);
        let (mut report, mut next) = (CycleReport::default(), Some(Step::ExecutorEvents));
        while let Some(step) = next {
            if step == Step::StartRuns {
                let told =
                    whole.cx.db.transact(|tx| notifications::notify(tx, Notification::Assets).scope_boxed());
                told.await.unwrap();
            }
            next = whole.scheduler.step(step, &mut report, whole.now).await.unwrap();
        }
    }
    assert_eq!(whole.handed(), ["bb run_0 a", "cc run_0 a", "zz run_0 a"]);
}

#[tokio::test]
async fn a_run_that_is_held_on_postgres() {
    a_run_that_is_held_and_not_passed_over(Server::Postgres).await;
}

#[tokio::test]
async fn a_run_that_is_held_on_mariadb() {
    a_run_that_is_held_and_not_passed_over(Server::MariaDb).await;
}

/// However long it takes to find out which one is held: all others start in the same pass.
async fn a_run_that_is_held_and_not_passed_over(server: Server) {
    let dag_ids = ["aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh"];
    let place = Place::new(server, &dag_ids.map(plan)).await;
    add(&place, dag_ids.map(|dag_id| queued(dag_id, 0))).await;
    let options = Options { row_locks: false, ..place.database.options() };
    let db = Db::connect(&options).await.unwrap().with_lock_patience(LOCK_PATIENCE);
    let cx = &Context { db, ..place.scheduler().await };
    let held = &[place.run("aa", "run_0").await.id];
    let started = place.db.transact(|tx| {
        async move {
            assert_eq!(dag_run::start::lock_queued(tx, held).await?, *held);
            Ok(start_runs(cx, NOW).await.unwrap())
        }
        .scope_boxed()
    });
    let started = started.await.unwrap().started;
    let mut started: Vec<&str> = started.iter().map(|run| run.dag_id.as_str()).collect();
    started.sort_unstable();
    assert_eq!(started, dag_ids[1..]);
}

async fn a_task_instance_that_cannot_be_scheduled(server: Server) {
    Box::pin(a_task_instance_that_cannot_become(server, "scheduled", "run")).await;
}

async fn a_task_instance_that_cannot_be_queued(server: Server) {
    Box::pin(a_task_instance_that_cannot_become(server, "queued", "scheduled task instance")).await;
}

async fn a_task_instance_that_cannot_become(server: Server, state: &str, what: &str) {
    let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
    let runs = [a_run("aa", "run_0", at("2024-01-01")), a_run("zz", "run_0", at("2024-01-01"))];
    place.running(&runs, &["a", "b"], None).await;
    let refused = format!("NEW.dag_id = 'aa' AND NEW.state = '{state}'");
    place.database.refuse("UPDATE", "task_instance", &refused).await;
    let (mut whole, shown) = Box::pin(for_a_minute(Whole::new(&place, NOW).await)).await;
    assert_eq!(whole.handed(), ["zz run_0 a"], "nobody else waits for it");
    assert_tried(&shown, what);
    let refused = reasons(&place, Some("run_0")).await;
    assert!(refused.iter().any(is_told), "{refused:?}");
    place.database.refuse_no_more("task_instance").await;
    assert!(!reasons(&place, Some("run_0")).await.iter().any(is_told));
    whole.after(SignedDuration::from_secs(61)).await;
    assert_eq!(whole.handed(), ["aa run_0 a"]);
}

/// The database refuses to queue it, and when that is tried again, its row cannot be read.
#[tokio::test]
async fn a_task_instance_that_cannot_be_read_when_it_is_tried_again() {
    let place = Place::new(Server::Sqlite, &[plan("aa")]).await;
    place.running(&[a_run("aa", "run_0", at("2024-01-01"))], &["a", "b"], None).await;
    place.database.refuse("UPDATE", "task_instance", "NEW.state = 'queued'").await;
    let mut whole = Whole::new(&place, NOW).await;
    whole.settle().await;
    place.database.refuse_no_more("task_instance").await;
    place.database.execute("UPDATE task_instance SET pool_slots = 'many' WHERE task_id = 'a'").await;
    whole.after(SignedDuration::from_secs(61)).await;
    assert!(whole.handed().is_empty());
    place.database.execute("UPDATE task_instance SET pool_slots = 1 WHERE task_id = 'a'").await;
    whole.after(SignedDuration::from_secs(61)).await;
    assert_eq!(whole.handed(), ["aa run_0 a"]);
}

/// What keeps one step from being done keeps no other: tasks are queued although no run can be made.
#[tokio::test]
async fn a_step_that_fails() {
    let place = Place::new(Server::Sqlite, &[plan("zz")]).await;
    place.running(&[a_run("zz", "run_0", at("2024-01-01"))], &["a", "b"], None).await;
    place.database.execute("ALTER TABLE asset_dag_run_queue RENAME TO gone").await;
    let mut whole = Whole::with_schedules(&place, NOW).await;
    let failed = whole.scheduler.cycle(NOW).await.unwrap_err().to_string();
    assert!(failed.contains("asset_dag_run_queue"), "{failed}");
    assert_eq!(whole.handed(), ["zz run_0 a"]);
    place.database.execute("ALTER TABLE gone RENAME TO asset_dag_run_queue").await;
    whole.settle().await;
}

/// What metrics show after a minute, in which no cycle has failed and nothing was done busily.
async fn for_a_minute(mut whole: Whole) -> (Whole, String) {
    let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
    let recorder = metrics::set_default_local_recorder(&prometheus);
    let end = whole.now + SignedDuration::from_mins(1);
    let mut cycles = 0;
    while whole.now < end {
        whole.cycle().await;
        whole.now += SignedDuration::try_from(whole.scheduler.pause(whole.now)).unwrap();
        cycles += 1;
        assert!(cycles < 200, "there is always something to do at once");
    }
    drop(recorder);
    (whole, prometheus.shown().text())
}

/// It was tried some times, and not again and again.
fn assert_tried(shown: &str, what: &str) {
    let line = format!("ferroflow_scheduler_set_aside{{dag_id=\"aa\",what=\"{what}\"}} ");
    let times = shown.lines().find_map(|shown| shown.strip_prefix(&line));
    let times: u32 = times.unwrap_or_else(|| panic!("{what}: {shown}")).parse().unwrap();
    assert!((3..=9).contains(&times), "{times}");
}

fn is_told((kind, text): &(Kind, String)) -> bool {
    *kind == Kind::Refused && text.contains("not this one")
}

/// What `ferroflow why` says of DAG `aa`, or of a run of it.
async fn reasons(place: &Place, run_id: Option<&str>) -> Vec<(Kind, String)> {
    let settings = place.scheduler().await.settings;
    let asked = Asked { dag_id: "aa", run_id, task_id: None };
    let answer = why(&place.db, &settings, asked, NOW).await.unwrap();
    answer.reasons.into_iter().map(|reason| (reason.kind, reason.text)).collect()
}
