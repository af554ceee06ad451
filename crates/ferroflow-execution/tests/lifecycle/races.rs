//! Who is faster, and many at once.

use std::time::Duration;

use ferroflow_db::testing::{change_and_hold, texts};
use ferroflow_db::{Db, Options, ScopedFutureExt as _, dag, task_instance};
use ferroflow_execution::api::{EnterRunning, StateUpdate};
use ferroflow_execution::task_instance::StateSet;
use ferroflow_execution::{LOCK_PATIENCE, Patience, Refusal, Service};
use ferroflow_model::outcome::{Ignored, Outcome};
use ferroflow_model::state::TaskState;
use ferroflow_testkit::{HeldRows, Server};
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::seed::{Seeded, THEN, instance, seeded};
use crate::service;

/// So many instances, and so many who want the same of each.
const INSTANCES: i32 = 12;

#[tokio::test]
async fn one_of_many_is_first_on_sqlite() {
    one_of_many_is_first(Server::Sqlite).await;
}

#[tokio::test]
async fn one_of_many_is_first_on_postgres() {
    one_of_many_is_first(Server::Postgres).await;
}

#[tokio::test]
async fn one_of_many_is_first_on_mariadb() {
    one_of_many_is_first(Server::MariaDb).await;
}

/// Of two processes that want to run an instance one does; of two that tell what became of it one is heard.
async fn one_of_many_is_first(server: Server) {
    let instances = instances(TaskState::Queued);
    let database = seeded(server, &instances).await;
    let service = service(&database).await;
    for id in ids(&instances) {
        let (first, second) = (entering(1), entering(2));
        let both = tokio::join!(service.run(id, &first), service.run(id, &second));
        let refusals: Vec<Value> = [both.0.err(), both.1.err()].into_iter().flatten().map(detail).collect();
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        assert_eq!(refusals[0]["previous_state"], "running");
    }
    for (number, id) in ids(&instances).into_iter().enumerate() {
        let retried = told("up_for_retry");
        let other = match number % 3 {
            0 => told("success"),
            1 => retried.clone(),
            _ => deferred(),
        };
        let both = tokio::join!(service.set_state(id, &retried), service.set_state(id, &other));
        let outcomes = [both.0, both.1].map(|outcome| outcome.map_err(detail));
        let changed = outcomes.iter().filter(|outcome| **outcome == Ok(StateSet::Changed)).count();
        assert_eq!(changed, 1, "{outcomes:?}");
        let refused = outcomes.into_iter().find_map(Result::err).unwrap();
        let winner = refused["previous_state"].as_str();
        let is_told = refused["reason"] == "not_found" || matches!(winner, Some("success" | "deferred"));
        assert!(is_told, "{refused}");
    }
}

#[tokio::test]
async fn many_hearts_beat_at_once() {
    for server in Server::ALL {
        let instances = instances(TaskState::Running);
        let database = seeded(server, &instances).await;
        let service = service(&database).await;
        let ids = ids(&instances);
        let missing = Uuid::from_u128(5);
        let mut running: Vec<(Uuid, i32)> = ids.iter().map(|id| (*id, 7)).collect();
        assert_eq!(refused(&service, &running).await, []);
        service.set_state(ids[0], &told("success")).await.unwrap();
        service.set_state(ids[1], &told("up_for_retry")).await.unwrap();
        running[2].1 = 8;
        running.push((missing, 9));
        let expected = [
            (ids[0], 409, json!("not_running")),
            (ids[1], 410, json!("not_found")),
            (ids[2], 409, json!("running_elsewhere")),
            (missing, 404, json!("not_found")),
        ];
        assert_eq!(refused(&service, &running).await, expected);
        let asked: Vec<Uuid> = running.iter().map(|(id, _)| *id).collect();
        let stopped: Vec<Uuid> =
            service.no_longer_running(&asked).await.unwrap().into_iter().map(|(id, _)| id).collect();
        assert_eq!(stopped, [ids[0], ids[1], missing]);
    }
}

#[tokio::test]
async fn a_heart_beats_though_the_row_of_another_is_locked() {
    // Schedulers may be told to do without locks.
    for (server, row_locks) in [
        (Server::Postgres, true),
        (Server::MariaDb, true),
        (Server::Postgres, false),
        (Server::MariaDb, false),
    ] {
        let instances = instances(TaskState::Running);
        let database = seeded(server, &instances).await;
        let db = Db::connect(&Options { row_locks, ..database.options() }).await.unwrap();
        let service = Service { db, ..service(&database).await };
        let ids = ids(&instances);
        let running: Vec<(Uuid, i32)> = ids.iter().map(|id| (*id, 7)).collect();
        let held = HeldRows::of(&database, vec![ids[3]]).await;
        let heard = service.heartbeats("host", &running).await.unwrap();
        assert_eq!((heard.refused.len(), &*heard.locked), (0, &ids[3..4]), "it lives, too");
        assert_eq!(unheard(&service).await, 1);
        held.let_go().await;
        assert_eq!(refused(&service, &running).await, []);
        assert_eq!(unheard(&service).await, 0);
    }
}

/// Why a row does not take a heartbeat may have to wait, and no heartbeat waits for that. (On MariaDB it does: there an
/// UPDATE waits for tables that refer to its own.)
#[tokio::test]
async fn a_heart_beats_though_the_history_is_locked() {
    let instances = instances(TaskState::Running);
    let database = seeded(Server::Postgres, &instances).await;
    let (service, other) = (service(&database).await, database.connect().await);
    let mut running: Vec<(Uuid, i32)> = ids(&instances).iter().map(|id| (*id, 7)).collect();
    running[2].1 = 8;
    let (is_locked, may_end) = (Notify::new(), Notify::new());
    let beating = async {
        is_locked.notified().await;
        let untaken = service.beat("host", &running);
        let untaken = tokio::time::timeout(Duration::from_secs(30), untaken).await.expect("no wait");
        assert_eq!(untaken.unwrap(), running[2..3]);
        may_end.notify_one();
    };
    let lock = "LOCK TABLE task_instance_history IN ACCESS EXCLUSIVE MODE";
    let (held, ()) = tokio::join!(change_and_hold(&other, lock, &is_locked, &may_end), beating);
    held.unwrap();
    assert_eq!(refused(&service, &running).await, [(running[2].0, 409, json!("running_elsewhere"))]);
}

/// A row that is held is refused soon, and what is asked is done as soon as it is let go of, however long that takes.
#[tokio::test]
async fn who_ends_waits_for_its_own_row_alone() {
    for server in [Server::Postgres, Server::MariaDb] {
        let instances = instances(TaskState::Running);
        let database = seeded(server, &instances).await;
        let mut service = service(&database).await;
        service.db = service.db.with_lock_patience(LOCK_PATIENCE);
        let id = ids(&instances)[0];
        let held = HeldRows::of(&database, vec![id]).await;
        let refusal = service.set_state(id, &told("success")).await.unwrap_err();
        assert!(refusal.is_busy() && refusal.is_for_now(), "{refusal:?}");
        assert!(Patience::new("a test").again(&refusal, Duration::ZERO).await, "it is asked again");
        held.let_go().await;
        assert_eq!(service.set_state(id, &told("success")).await.map_err(detail), Ok(StateSet::Changed));
    }
}

/// How many have never been heard of.
async fn unheard(service: &Service) -> usize {
    let question = "SELECT task_id AS answer FROM task_instance WHERE last_heartbeat_at IS NULL";
    texts(&service.db, question).await.unwrap().len()
}

#[tokio::test]
async fn what_was_cleared_while_it_ran_starts_anew() {
    for server in Server::ALL {
        let instances = instances(TaskState::Restarting);
        let database = seeded(server, &instances).await;
        let service = service(&database).await;
        let id = ids(&instances)[0];
        let outcome = service.fail_unreported(id, 1, "it was cleared").await.unwrap();
        assert_eq!(outcome, Outcome::Restarted { max_tries: 3 });
        let stored = service.db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed());
        let stored = stored.await.unwrap().unwrap();
        assert_eq!((stored.state, stored.max_tries), (None, 3));
    }
}

#[tokio::test]
async fn who_has_told_what_became_of_it_is_not_given_up() {
    let instances = instances(TaskState::Running);
    let database = seeded(Server::Sqlite, &instances).await;
    let service = service(&database).await;
    let ids = ids(&instances);
    service.set_state(ids[0], &told("success")).await.unwrap();
    let outcome = service.fail_unreported(ids[0], 1, "exit code 1").await.unwrap();
    assert_eq!(outcome, Outcome::Ignored(Ignored::RowKnows(Some(TaskState::Success))));
    let outcome = service.fail_unreported(ids[1], 2, "exit code 1").await.unwrap();
    assert_eq!(outcome, Outcome::Ignored(Ignored::OtherTry { event: 2, row: 1 }));
    let outcome = service.fail_unreported(ids[1], 1, "exit code 1").await.unwrap();
    assert_eq!(outcome, Outcome::Failed { stops_the_rest: false });
    let again = service.fail_unreported(ids[1], 1, "exit code 1").await.unwrap();
    assert_eq!(again, Outcome::Ignored(Ignored::RowKnows(Some(TaskState::Failed))));
    let missing = service.fail_unreported(Uuid::from_u128(5), 1, "gone").await.unwrap_err();
    assert_eq!(detail(missing)["reason"], "not_found");
}

#[tokio::test]
async fn a_task_succeeds_while_who_waits_for_its_asset_goes_on_postgres() {
    let waiting = "SELECT CAST(COUNT(*) AS TEXT) AS answer FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    a_task_succeeds_while_who_waits_for_its_asset_goes(Server::Postgres, waiting).await;
}

#[tokio::test]
async fn a_task_succeeds_while_who_waits_for_its_asset_goes_on_mariadb() {
    let waiting = "SELECT CAST(COUNT(*) AS CHAR) AS answer FROM information_schema.INNODB_TRX AS trx \
                   JOIN information_schema.PROCESSLIST AS process ON process.ID = trx.trx_mysql_thread_id \
                   WHERE trx.trx_state = 'LOCK WAIT' AND process.DB = DATABASE()";
    a_task_succeeds_while_who_waits_for_its_asset_goes(Server::MariaDb, waiting).await;
}

/// A DAG is deleted, in a transaction that takes long. A task whose asset it waits for sees it, until that ends.
async fn a_task_succeeds_while_who_waits_for_its_asset_goes(server: Server, waiting: &str) {
    let instances = instances(TaskState::Running);
    let database = seeded(server, &instances).await;
    let (service, db, onlooker) =
        (service(&database).await, database.connect().await, database.connect().await);
    let (onlooker, is_deleted) = (&onlooker, &Notify::new());
    let id = ids(&instances)[0];
    let deleting = db.transact(|tx| {
        async move {
            dag::delete::delete(tx, "by_asset").await?;
            is_deleted.notify_one();
            // MariaDB looks anew only if nobody has asked for a tenth of a second.
            while texts(onlooker, waiting).await? != ["1"] {
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
            Ok(())
        }
        .scope_boxed()
    });
    let telling = async {
        is_deleted.notified().await;
        let outlet = json!({"name": "first", "uri": "s3://first", "type": "Asset"});
        let success = json!({"state": "success", "end_date": THEN.to_string(), "task_outlets": [outlet], "outlet_events": []});
        service.set_state(id, &serde_json::from_value(success).unwrap()).await
    };
    let (deleted, told) = tokio::join!(deleting, telling);
    deleted.unwrap();
    assert_eq!(told.map_err(detail), Ok(StateSet::Changed));
    let stored = service.db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed());
    assert_eq!(stored.await.unwrap().unwrap().state, Some(TaskState::Success));
    let queued = "SELECT target_dag_id AS answer FROM asset_dag_run_queue WHERE target_dag_id = 'by_asset'";
    assert!(texts(onlooker, queued).await.unwrap().is_empty());
}

fn instances(state: TaskState) -> Vec<Seeded> {
    (0..INSTANCES).map(|number| instance(number, "run", Some(state))).collect()
}

fn ids(instances: &[Seeded]) -> Vec<Uuid> {
    instances.iter().map(|seeded| seeded.instance.id).collect()
}

fn entering(pid: i32) -> EnterRunning {
    EnterRunning { hostname: "host".to_owned(), unixname: "user".to_owned(), pid, start_date: THEN }
}

fn told(state: &str) -> StateUpdate {
    serde_json::from_value(json!({"state": state, "end_date": THEN.to_string()})).unwrap()
}

fn deferred() -> StateUpdate {
    serde_json::from_value(json!({"state": "deferred", "classpath": "a.B", "next_method": "m"})).unwrap()
}

fn detail(refusal: Refusal) -> Value {
    match refusal {
        Refusal::Api { detail, .. } => detail,
        other => panic!("{other}"),
    }
}

async fn refused(service: &Service, running: &[(Uuid, i32)]) -> Vec<(Uuid, u16, Value)> {
    let heard = service.heartbeats("host", running).await.unwrap();
    assert!(heard.locked.is_empty());
    let shown = heard.refused.into_iter().map(|(id, refusal)| match refusal {
        Refusal::Api { status, detail } => (id, status, detail["reason"].clone()),
        other => panic!("{other}"),
    });
    shown.collect()
}
