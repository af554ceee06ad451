//! What is in the way of one run costs little, is told, and holds up nobody else; and size is in nobody's way.

use std::sync::Arc;

use ferroflow_db::dag_run::{self, ownership};
use ferroflow_db::task_instance::scheduling::InstanceRow;
use ferroflow_db::task_instance::{self, queueing};
use ferroflow_db::{ScopedFutureExt as _, dag};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_model::why::Kind;
use ferroflow_scheduler::active_runs::Obstacle;
use ferroflow_scheduler::why::{Asked, why};
use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::a_run;
use jiff::{SignedDuration, ToSpan as _};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::runs::place::{Place, Plan, at, daily};
use crate::runs::sketch::Sketch;
use crate::runs::whole::Whole;

ferroflow_testkit::on_every_database!(lists_of_any_length_are_taken);

#[tokio::test]
async fn a_run_that_another_transaction_has_locked_on_postgres() {
    a_run_that_another_transaction_has_locked(Server::Postgres).await;
}

#[tokio::test]
async fn a_run_that_another_transaction_has_locked_on_mariadb() {
    a_run_that_another_transaction_has_locked(Server::MariaDb).await;
}

#[tokio::test]
async fn a_task_instance_that_another_transaction_has_locked_on_postgres() {
    a_task_instance_that_another_transaction_has_locked(Server::Postgres).await;
}

#[tokio::test]
async fn a_task_instance_that_another_transaction_has_locked_on_mariadb() {
    a_task_instance_that_another_transaction_has_locked(Server::MariaDb).await;
}

#[tokio::test]
async fn a_dag_that_another_transaction_has_locked_on_postgres() {
    a_dag_that_another_transaction_has_locked(Server::Postgres).await;
}

#[tokio::test]
async fn a_dag_that_another_transaction_has_locked_on_mariadb() {
    a_dag_that_another_transaction_has_locked(Server::MariaDb).await;
}

async fn a_run_that_another_transaction_has_locked(server: Server) {
    let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
    let runs = [a_run("aa", "locked", at("2024-01-01")), a_run("zz", "free", at("2024-01-01"))];
    place.running(&runs, &["a", "b"], None).await;
    let held = Held::new(&place, Row::Run(place.run("aa", "locked").await.id)).await;
    let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
    let recorder = metrics::set_default_local_recorder(&prometheus);
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    let tries = tries_within(&mut whole, SignedDuration::from_secs(20), "locked").await;
    drop(recorder);
    let counted = format!("ferroflow_scheduler_runs_put_off{{reason=\"locked\"}} {}\n", tries.len());
    assert!(prometheus.shown().text().contains(&counted), "{}", prometheus.shown().text());
    assert!(tries.iter().all(|obstacle| *obstacle == Obstacle::Locked), "{tries:?}");
    assert!((5..=12).contains(&tries.len()), "every try waits longer: {}", tries.len());
    assert_eq!(whole.handed(), ["zz free a"], "nobody else waits for it");
    assert!(reasons(&place, "locked").await.contains(&Kind::Locked));
    held.let_go().await;
    whole.after(SignedDuration::from_secs(5)).await;
    assert_eq!(whole.handed(), ["aa locked a"]);
}

async fn a_task_instance_that_another_transaction_has_locked(server: Server) {
    let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
    let runs = [a_run("aa", "locked", at("2024-01-01")), a_run("zz", "free", at("2024-01-01"))];
    place.running(&runs, &["a", "b"], None).await;
    let rows = place
        .db
        .read(|tx| async { task_instance::scheduling::of_run(tx, "aa", "locked").await }.scope_boxed());
    let held =
        Held::new(&place, Row::Instances(rows.await.unwrap().iter().map(|row| row.id).collect())).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    let tries = tries_within(&mut whole, SignedDuration::from_secs(2), "locked").await;
    assert!(tries.iter().all(|obstacle| *obstacle == Obstacle::Locked), "{tries:?}");
    assert!((3..=8).contains(&tries.len()), "every try waits longer: {}", tries.len());
    assert_eq!(whole.handed(), ["zz free a"], "nobody else waits for it");
    assert!(reasons(&place, "locked").await.contains(&Kind::Locked));
    held.let_go().await;
    whole.after(SignedDuration::from_secs(5)).await;
    assert_eq!(whole.handed(), ["aa locked a"]);
}

/// The end of a run needs the row of its DAG.
async fn a_dag_that_another_transaction_has_locked(server: Server) {
    let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
    let done = [a_run("aa", "locked", at("2024-01-01"))];
    place.running(&done, &["a", "b"], Some(TaskState::Success)).await;
    place.running(&[a_run("zz", "free", at("2024-01-01"))], &["a", "b"], None).await;
    let held = Held::new(&place, Row::Dag).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    let tries = tries_within(&mut whole, SignedDuration::from_secs(2), "locked").await;
    assert!(tries.iter().all(|obstacle| *obstacle == Obstacle::Locked), "{tries:?}");
    assert!((3..=8).contains(&tries.len()), "every try waits longer: {}", tries.len());
    assert_eq!(whole.handed(), ["zz free a"], "nobody else waits for it");
    held.let_go().await;
    whole.after(SignedDuration::from_secs(5)).await;
    assert_eq!(place.run("aa", "locked").await.state, RunState::Success);
}

/// What an executor told of a task whose row others hold waits; what it told of others afterwards does not.
#[tokio::test]
async fn what_was_told_of_a_locked_task_instance_lets_others_pass() {
    for server in [Server::Postgres, Server::MariaDb] {
        let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
        let runs = [a_run("aa", "locked", at("2024-01-01")), a_run("zz", "free", at("2024-01-01"))];
        place.running(&runs, &["a", "b"], None).await;
        let mut whole = Whole::new(&place, at("2024-06-01")).await;
        whole.settle().await;
        assert_eq!(whole.handed(), ["aa locked a", "zz free a"]);
        let [locked, free] = [first_of(&place, "aa", "locked").await, first_of(&place, "zz", "free").await];
        let held = Held::new(&place, Row::Instances(vec![locked.id])).await;
        whole.cannot_start(locked.id, "aa", "locked", "a");
        whole.cannot_start(free.id, "zz", "free", "a");
        whole.cycle().await;
        assert_eq!(first_of(&place, "zz", "free").await.state, Some(TaskState::Failed));
        assert_eq!(first_of(&place, "aa", "locked").await.state, Some(TaskState::Queued));
        whole.cycle().await;
        held.let_go().await;
        whole.after(SignedDuration::from_secs(5)).await;
        assert_eq!(first_of(&place, "aa", "locked").await.state, Some(TaskState::Failed));
    }
}

/// What an executor told of a task whose run cannot be read is kept until it can: its author is told with it, once.
#[tokio::test]
async fn what_was_told_of_a_run_that_cannot_be_read_is_kept() {
    for server in Server::ALL {
        let mut told = plan("aa");
        told.sketch = told.sketch.with("a", "has_on_failure_callback", json!(true));
        let place = Place::new(server, &[told, plan("zz")]).await;
        let runs = [a_run("aa", "bad", at("2024-01-01")), a_run("zz", "good", at("2024-01-01"))];
        place.running(&runs, &["a", "b"], None).await;
        let mut whole = Whole::new(&place, at("2024-06-01")).await;
        whole.settle().await;
        assert_eq!(whole.handed(), ["aa bad a", "zz good a"]);
        let [bad, good] = [first_of(&place, "aa", "bad").await, first_of(&place, "zz", "good").await];
        place.database.execute("UPDATE dag_run SET run_type = 'unknown' WHERE dag_id = 'aa'").await;
        whole.cannot_start(bad.id, "aa", "bad", "a");
        whole.cannot_start(good.id, "zz", "good", "a");
        let told = whole.cycle().await.unreadable.into_iter().map(|row| row.column).collect::<Vec<_>>();
        assert!(told.contains(&"run_type"), "{told:?}");
        assert_eq!(first_of(&place, "zz", "good").await.state, Some(TaskState::Failed));
        whole.after(SignedDuration::from_secs(40)).await;
        assert_eq!(first_of(&place, "aa", "bad").await.state, Some(TaskState::Queued));
        place.database.execute("UPDATE dag_run SET run_type = 'manual' WHERE dag_id = 'aa'").await;
        whole.after(SignedDuration::from_secs(40)).await;
        assert_eq!(first_of(&place, "aa", "bad").await.state, Some(TaskState::Failed));
        whole.after(SignedDuration::from_secs(40)).await;
        assert_eq!(place.texts("SELECT type AS answer FROM callback").await, ["dag_processor"], "{server:?}");
    }
}

/// Who is locked costs a second each time. Of those that were kept, too, only a few are waited for before others have their
/// turn.
#[tokio::test]
async fn what_was_kept_of_locked_task_instances_lets_others_pass() {
    let mut told = plan("aa");
    told.sketch = told.sketch.with("a", "has_on_failure_callback", json!(true));
    let place = Place::new(Server::Postgres, &[told]).await;
    let names = ["1", "2", "3", "4"];
    let runs = names.map(|name| a_run("aa", name, at(&format!("2024-01-0{name}"))));
    place.running(&runs, &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    place.database.execute("UPDATE dag_run SET run_type = 'unknown'").await;
    let mut ids = Vec::new();
    for name in names {
        let id = first_of(&place, "aa", name).await.id;
        whole.cannot_start(id, "aa", name, "a");
        ids.push(id);
    }
    whole.cycle().await;
    place.database.execute("UPDATE dag_run SET run_type = 'manual'").await;
    let held = Held::new(&place, Row::Instances(ids[..3].to_vec())).await;
    whole.now += SignedDuration::from_secs(2);
    whole.cycle().await;
    assert_eq!(first_of(&place, "aa", "4").await.state, Some(TaskState::Queued), "two were waited for");
    whole.cycle().await;
    assert_eq!(first_of(&place, "aa", "4").await.state, Some(TaskState::Failed), "it is its turn");
    held.let_go().await;
    whole.after(SignedDuration::from_secs(40)).await;
    for name in names {
        assert_eq!(first_of(&place, "aa", name).await.state, Some(TaskState::Failed));
    }
}

/// Nobody who ends waits for a row that may never be mended.
#[tokio::test]
async fn who_ends_leaves_to_others_what_cannot_be_read() {
    let mut told = plan("aa");
    told.sketch = told.sketch.with("a", "has_on_failure_callback", json!(true));
    let place = Place::new(Server::Sqlite, &[told]).await;
    place.running(&[a_run("aa", "bad", at("2024-01-01"))], &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    let bad = first_of(&place, "aa", "bad").await;
    place.database.execute("UPDATE dag_run SET run_type = 'unknown'").await;
    whole.cannot_start(bad.id, "aa", "bad", "a");
    whole.scheduler.drain(&CancellationToken::new()).await;
    assert_eq!(first_of(&place, "aa", "bad").await.state, Some(TaskState::Queued));
}

/// The instance of task `a`.
pub(crate) async fn first_of(place: &Place, dag_id: &str, run_id: &str) -> InstanceRow {
    let rows = place
        .db
        .read(|tx| async move { task_instance::scheduling::of_run(tx, dag_id, run_id).await }.scope_boxed());
    rows.await.unwrap().into_iter().find(|row| row.task_id == "a").unwrap()
}

/// What another transaction has of DAG `aa`.
pub(crate) enum Row {
    Run(i64),
    Instances(Vec<Uuid>),
    Dag,
}

/// A transaction that holds it until it is told to let go.
pub(crate) struct Held {
    may_end: Arc<Notify>,
    holder: JoinHandle<()>,
}

impl Held {
    pub(crate) async fn new(place: &Place, row: Row) -> Self {
        let (is_locked, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (other, locked, end) =
            (place.database.connect().await, Arc::clone(&is_locked), Arc::clone(&may_end));
        let holder = tokio::spawn(async move {
            let (locked, end, row) = (&locked, &end, &row);
            let held = other.transact(|tx| {
                async move {
                    match row {
                        Row::Run(id) => assert!(ownership::lock(tx, *id).await?.is_some()),
                        Row::Instances(ids) => assert_eq!(queueing::lock(tx, ids).await?.len(), ids.len()),
                        Row::Dag => dag::lock(tx, &["aa".to_owned()]).await.map(drop)?,
                    }
                    locked.notify_one();
                    end.notified().await;
                    Ok(())
                }
                .scope_boxed()
            });
            held.await.unwrap();
        });
        is_locked.notified().await;
        Self { may_end, holder }
    }

    pub(crate) async fn let_go(self) {
        self.may_end.notify_one();
        self.holder.await.unwrap();
    }
}

#[tokio::test]
async fn what_sqlite_keeps_refusing() {
    let refusal = "CREATE TRIGGER refusal BEFORE UPDATE ON task_instance WHEN NEW.dag_id = 'aa' BEGIN \
                   SELECT RAISE(ABORT, 'not this one'); END";
    what_the_database_keeps_refusing(Server::Sqlite, refusal, "DROP TRIGGER refusal").await;
}

#[tokio::test]
async fn what_postgres_keeps_refusing() {
    let refusal = "ALTER TABLE task_instance ADD CONSTRAINT refusal CHECK (dag_id <> 'aa' OR state IS NULL)";
    let mended = "ALTER TABLE task_instance DROP CONSTRAINT refusal";
    what_the_database_keeps_refusing(Server::Postgres, refusal, mended).await;
}

async fn what_the_database_keeps_refusing(server: Server, refusal: &str, mended: &str) {
    let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
    let runs = [a_run("aa", "refused", at("2024-01-01")), a_run("zz", "free", at("2024-01-01"))];
    place.running(&runs, &["a", "b"], None).await;
    place.database.execute(refusal).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    let tries = tries_within(&mut whole, SignedDuration::from_secs(60), "refused").await;
    let is_told = |obstacle: &Obstacle| matches!(obstacle, Obstacle::Refused(reason) if !reason.is_empty());
    assert!(tries.iter().all(is_told), "{tries:?}");
    assert!((4..=10).contains(&tries.len()), "every try waits longer: {}", tries.len());
    assert_eq!(whole.handed(), ["zz free a"], "nobody else waits for it");
    assert!(reasons(&place, "refused").await.contains(&Kind::Refused));
    place.database.execute(mended).await;
    assert!(!reasons(&place, "refused").await.contains(&Kind::Refused));
    whole.after(SignedDuration::from_secs(60)).await;
    assert_eq!(whole.handed(), ["aa refused a"]);
}

/// What was in the way of a run, each time that it was tried, for so long; and whoever waits does not do so busily.
async fn tries_within(whole: &mut Whole, length: SignedDuration, run_id: &str) -> Vec<Obstacle> {
    let end = whole.now + length;
    let mut tries = Vec::new();
    for _ in 0..300 {
        let report = whole.cycle().await;
        let of_run = report.examined.put_off.into_iter().filter(|(key, _)| key.run_id == run_id);
        tries.extend(of_run.map(|(_, obstacle)| obstacle));
        whole.now += SignedDuration::try_from(whole.scheduler.pause(whole.now)).unwrap();
        if whole.now >= end {
            return tries;
        }
    }
    panic!("300 cycles were not enough: there is always something to do at once");
}

/// More than one look finds, and they come first at every look: nothing was ever written of them.
#[tokio::test]
async fn however_many_runs_cannot_be_read_they_hide_nobody() {
    let place = Place::new(Server::Sqlite, &[plan("aa"), plan("zz")]).await;
    let bad: Vec<_> = (0..2_100)
        .map(|number| a_run("aa", &format!("bad_{number}"), at("2024-01-01") + number.minutes()))
        .collect();
    place.running(&bad, &[], None).await;
    place.database.execute("UPDATE dag_run SET run_type = 'unknown'").await;
    place.running(&[a_run("zz", "good", at("2024-01-01"))], &["a", "b"], None).await;
    let seen_before =
        "UPDATE dag_run SET last_scheduling_decision = '2024-05-01 00:00:00' WHERE dag_id = 'zz'";
    place.database.execute(seen_before).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    let mut looks = 0;
    while whole.handed().is_empty() {
        looks += 1;
        assert!(looks < 10, "it is not found");
        whole.after(SignedDuration::from_secs(2)).await;
    }
}

/// What `ferroflow why` says of a run.
async fn reasons(place: &Place, run_id: &str) -> Vec<Kind> {
    let settings = place.scheduler().await.settings;
    let asked = Asked { dag_id: "aa", run_id: Some(run_id), task_id: None };
    let answer = why(&place.db, &settings, asked, at("2024-06-01")).await.unwrap();
    answer.reasons.iter().map(|reason| reason.kind).collect()
}

/// Beyond what one statement can be given.
async fn lists_of_any_length_are_taken(server: Server) {
    const MANY: i64 = 70_000;
    let place = Place::new(server, &[plan("aa")]).await;
    place.running(&[a_run("aa", "run", at("2024-01-01"))], &["a", "b"], Some(TaskState::Queued)).await;
    place.database.execute("UPDATE dag_run SET state = 'queued'").await;
    let id = place.run("aa", "run").await.id;
    let rows = place.db.transact(|tx| {
        async move {
            let runs: Vec<i64> = (1_000_000..1_000_000 + MANY).chain([id]).collect();
            assert_eq!(dag_run::start::lock_queued(tx, &runs).await?, [id]);
            let rows = task_instance::scheduling::of_run(tx, "aa", "run").await?;
            let mut ids: Vec<Uuid> = (0..MANY).map(|_| Uuid::from_bytes(rand::random())).collect();
            ids.extend(rows.iter().map(|row| row.id));
            assert_eq!(task_instance::find_all(tx, &ids).await?.len(), 2);
            let last = task_instance::scheduling::last_started(tx, "aa", "run", &ids).await?;
            assert_eq!(last, rows.iter().find(|row| row.task_id == "a").map(|row| row.id));
            let indexes: Vec<i32> = (-1..i32::try_from(MANY).unwrap()).collect();
            task_instance::scheduling::some_of_run(tx, "aa", "run", &["a", "b"], &indexes).await
        }
        .scope_boxed()
    });
    assert_eq!(rows.await.unwrap().len(), 2);
}

pub(crate) fn plan(dag_id: &str) -> Plan {
    let mut plan = Plan::new(dag_id, daily()).known_since(at("2030-01-01"));
    plan.sketch = Sketch::of("a; b < a").setting("timetable", daily());
    plan
}
