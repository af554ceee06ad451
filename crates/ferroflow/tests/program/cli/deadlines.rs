//! Deadlines of runs that commands make and clear, beside Airflow's.

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::testing::texts;
use ferroflow_db::{Json, ScopedFutureExt as _, deadline};
use ferroflow_model::extended_json;
use ferroflow_model::stored_dag::DeadlineDefinition;
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Airflow, Server, repository};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cli::site::Site;

/// One of the daily runs, which has failed, and when it was queued.
const RUN: i64 = 2;
const QUEUED: &str = "2020-01-02T00:00:00Z";
const CLEAR: [&str; 8] = ["tasks", "clear", "daily", "-s", "2020-01-02", "-e", "2020-01-02", "--yes"];

fn hour() -> Value {
    json!({"__classname__": "datetime.timedelta", "__version__": 2, "__data__": 3600.0})
}

fn reference(class: &str) -> Value {
    json!({"reference_type": class})
}

fn queued() -> Value {
    reference("DagRunQueuedAtDeadline")
}

fn official(site: &Site) -> Airflow {
    Airflow::on(&site.database.url())
        .with("AIRFLOW__CORE__DAGS_FOLDER", repository("testdata/cli/dags").to_str().unwrap())
        .with("AIRFLOW__CORE__FERNET_KEY", "")
}

/// Adds deadlines to the newest version of a DAG.
async fn define(site: &Site, dag_id: &str, alerts: &[(Value, Value)]) -> Vec<Uuid> {
    let db = site.database.connect().await;
    let added = db.transact(|tx| {
        async move {
            let document = serialized_dag::latest(tx, dag_id).await?.unwrap();
            let mut ids = Vec::new();
            for (second, (reference, interval)) in (0..).zip(alerts) {
                let now = QUEUED.parse::<Timestamp>().unwrap() + second.seconds();
                let callback = json!({"__classname__": "airflow.sdk.definitions.callback.SyncCallback",
                    "__version__": 0, "__data__": {"path": "a.b", "kwargs": {"x": 1}, "executor": null}});
                let definition = DeadlineDefinition {
                    name: None,
                    reference: Json::from(reference.clone()),
                    interval: Json::from(interval.clone()),
                    callback: Json::from(callback),
                };
                let id = deadline::alert::new_id(now);
                deadline::alert::insert(tx, id, document.id, &definition, now).await?;
                ids.push(id);
            }
            Ok(ids)
        }
        .scope_boxed()
    });
    let ids = added.await.unwrap();
    db.close().await;
    ids
}

/// Gives the run deadlines, each so many minutes after it was queued.
async fn add(site: &Site, deadlines: &[(Value, Value, i64)]) {
    let alerts: Vec<(Value, Value)> =
        deadlines.iter().map(|(reference, interval, _)| (reference.clone(), interval.clone())).collect();
    let alerts = &define(site, "daily", &alerts).await;
    let db = site.database.connect().await;
    let added = db.transact(|tx| {
        async move {
            for (second, (alert, (_, _, minutes))) in (0..).zip(alerts.iter().zip(deadlines)) {
                let queued: Timestamp = QUEUED.parse().unwrap();
                let now = queued + second.seconds();
                let called = Callback {
                    id: *alert,
                    callback_type: "executor".to_owned(),
                    fetch_method: "import_path".to_owned(),
                    data: Json::from(extended_json::encode(&json!({}))),
                    bundle_name: None,
                    state: None,
                    output: None,
                    priority_weight: 1,
                    created_at: now,
                    trigger_id: None,
                };
                callback::insert(tx, &called).await?;
                deadline::create::insert(tx, RUN, *alert, *alert, queued + minutes.minutes(), now).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    added.await.unwrap();
    db.close().await;
    let run = format!("UPDATE dag_run SET queued_at = '2020-01-02 00:00:00' WHERE id = {RUN}");
    site.database.execute(run).await;
}

/// In how many minutes each deadline is.
async fn minutes_left(site: &Site) -> Vec<i64> {
    let db = site.database.connect().await;
    let cast = if site.server == Server::MariaDb { "CHAR" } else { "TEXT" };
    let question =
        format!("SELECT CAST(deadline_time AS {cast}) AS answer FROM deadline ORDER BY created_at");
    let times = texts(&db, &question).await.unwrap();
    db.close().await;
    let minutes = |text: &String| {
        let (text, _) = text.split_once('+').unwrap_or((text, ""));
        let at: Timestamp = format!("{}Z", text.replace(' ', "T")).parse().unwrap();
        (at.duration_since(clock::now()).as_secs_f64() / 60.0).round()
    };
    #[expect(clippy::cast_possible_truncation, reason = "a few years have few minutes")]
    times.iter().map(|text| minutes(text) as i64).collect()
}

async fn what_is_counted_from_when_a_cleared_run_was_queued_is_moved(server: Server) {
    let site = Site::on(server).await;
    let variable = json!({"__classname__": "airflow.sdk.definitions.deadline.VariableInterval",
        "__version__": 0, "__data__": {"key": "nobody has it any more"}});
    let deadlines = [
        (queued(), hour(), 60),
        (queued(), json!(3600.0), 60),
        (queued(), variable, 30),
        (reference("DagRunLogicalDateDeadline"), hour(), 60),
        (queued(), hour(), 90),
    ];
    add(&site, &deadlines).await;
    site.database
        .execute("UPDATE deadline SET missed = (1 = 1) WHERE deadline_time > '2020-01-02 01:15:00'")
        .await;
    let before = minutes_left(&site).await;
    site.run(&CLEAR).expect_success();
    let after = minutes_left(&site).await;
    assert_eq!(after[..3], [60, 60, 30]);
    assert!(before[3] - after[3] <= 1 && before[4] - after[4] <= 1, "{before:?} {after:?}");
}

#[tokio::test]
async fn on_sqlite() {
    what_is_counted_from_when_a_cleared_run_was_queued_is_moved(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    what_is_counted_from_when_a_cleared_run_was_queued_is_moved(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    what_is_counted_from_when_a_cleared_run_was_queued_is_moved(Server::MariaDb).await;
}

/// Airflow reads the interval as a number, which it stored before 3.3, and no other.
#[tokio::test]
async fn airflow_moves_them_if_their_interval_is_a_number() {
    let site = Site::on(Server::Sqlite).await;
    add(&site, &[(queued(), json!(3600.0), 60)]).await;
    official(&site).run(&CLEAR).expect_success();
    assert_eq!(minutes_left(&site).await, [60]);
    let site = Site::on(Server::Sqlite).await;
    add(&site, &[(queued(), hour(), 60)]).await;
    let failed = official(&site).run(&CLEAR);
    assert!(!failed.success() && failed.stderr.contains("TypeError"), "{failed:#?}");
}

#[tokio::test]
async fn runs_of_a_backfill_have_the_deadlines_that_they_have_with_airflow() {
    let backfill =
        ["backfill", "create", "--dag-id", "steps", "--from-date", "2020-01-01", "--to-date", "2020-01-02"];
    let mut found = Vec::new();
    for is_ours in [true, false] {
        let site = &Site::on(Server::Sqlite).await;
        let fixed = json!({"reference_type": "FixedDatetimeDeadline", "datetime": 1_577_836_800.0});
        let average = json!({"reference_type": "AverageRuntimeDeadline", "max_runs": 3, "min_runs": 2});
        let alerts = [(reference("DagRunLogicalDateDeadline"), hour()), (fixed, hour()), (average, hour())];
        let ids = define(site, "steps", &alerts).await;
        let list = json!(ids.iter().map(Uuid::to_string).collect::<Vec<_>>());
        let named = format!(
            "UPDATE serialized_dag SET data = replace(data, '\"deadline\": null', '\"deadline\": {list}') \
             WHERE dag_id = 'steps'"
        );
        site.database.execute(named).await;
        let made = if is_ours { site.run(&backfill) } else { official(site).run(&backfill) };
        made.expect_success();
        found.push(told(site).await);
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0].len(), 10, "{found:#?}");
}

/// The deadlines of runs, and what is called then.
async fn told(site: &Site) -> Vec<String> {
    let question = "SELECT run.run_id || ' ' || deadline.deadline_time || ' ' || deadline.missed || ' ' \
         || callback.type || ' ' || callback.state || ' ' || callback.bundle_name || ' ' || callback.data AS answer \
         FROM deadline JOIN dag_run AS run ON run.id = deadline.dagrun_id \
         JOIN callback ON callback.id = deadline.callback_id";
    let db = site.database.connect().await;
    let mut rows = texts(&db, question).await.unwrap();
    db.close().await;
    rows.sort();
    rows
}
