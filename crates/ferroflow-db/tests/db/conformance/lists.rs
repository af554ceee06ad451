//! Lists of DAGs, runs and task instances: filtered, ordered and paged as REST clients ask for it.

use std::fmt::Debug;

use ferroflow_db::asset::registration::{self, NewEvent};
use ferroflow_db::asset::triggered_runs;
use ferroflow_db::dag::{self, Dag, tag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::list::{Condition, ListError, ListRequest, Listed, Paging, Value};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, asset, dag_run};
use ferroflow_model::asset::Asset;
use ferroflow_model::runs::events::EventWindow;
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_model::stored_assets::{Access, Reference};
use ferroflow_testkit::rows::{a_dag, a_run, add_dag};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use scoped_futures::ScopedBoxFuture;
use serde_json::json;
use uuid::Uuid;

use crate::conformance::NOW;
use ferroflow_testkit::on_every_database;

on_every_database!(
    runs_are_filtered,
    task_instances_are_filtered,
    dags_are_filtered,
    every_order_is_the_same_in_pages_of_either_kind,
    what_a_client_names_never_becomes_sql,
);

/// A question about one list, answered by the names of its rows.
type Ask = for<'t> fn(&'t mut Tx, ListRequest) -> ScopedBoxFuture<'static, 't, Result<Listed<String>, Error>>;

fn named<T>(listed: Listed<T>, name: impl Fn(&T) -> String) -> Listed<String> {
    let Listed { rows, next, previous } = listed;
    Listed { rows: rows.iter().map(name).collect(), next, previous }
}

fn runs(tx: &mut Tx, request: ListRequest) -> ScopedBoxFuture<'static, '_, Result<Listed<String>, Error>> {
    async move { Ok(named(dag_run::list::page(tx, &request).await?, |run| run.run_id.clone())) }.scope_boxed()
}

fn instances(
    tx: &mut Tx,
    request: ListRequest,
) -> ScopedBoxFuture<'static, '_, Result<Listed<String>, Error>> {
    async move {
        let found = task_instance::list::page(tx, &request).await?;
        Ok(named(found, |row| format!("{} {}", row.key.task_id, row.key.map_index)))
    }
    .scope_boxed()
}

fn dags(tx: &mut Tx, request: ListRequest) -> ScopedBoxFuture<'static, '_, Result<Listed<String>, Error>> {
    async move { Ok(named(dag::list::page(tx, &request).await?, |dag| dag.dag_id.clone())) }.scope_boxed()
}

async fn seeded(server: Server) -> (TestDb, Db) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    db.transact(|tx| async move { seed(tx).await }.scope_boxed()).await.unwrap();
    (database, db)
}

/// Three DAGs; runs `a` to `e` of `one`, of which `a` has ended, `b` runs and the others wait; a few task instances of `a`.
async fn seed(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "one").await?;
    dag::insert(tx, &Dag { is_paused: true, owners: Some("50%_team".to_owned()), ..a_dag("two") }).await?;
    let three = Dag {
        is_stale: true,
        next_dagrun: Some(NOW),
        dag_display_name: Some("Drei".to_owned()),
        ..a_dag("three")
    };
    dag::insert(tx, &three).await?;
    for (dag_id, name) in [("one", "red"), ("one", "blue"), ("two", "red")] {
        tag::insert(tx, dag_id, name).await?;
    }
    let new = NewDagVersion {
        dag_id: "one".to_owned(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    };
    let version = dag_version::insert(tx, &new, NOW).await?;
    for (number, run_id) in (0_i64..).zip(["a", "b", "c", "d", "e"]) {
        let mut run = a_run("one", run_id, NOW + number.seconds());
        run.conf = Json::from(json!({ "number": number }));
        run.triggering_user_name = (number > 2).then(|| "Ada Lovelace".to_owned());
        run.created_dag_version_id = (number == 0).then_some(version);
        run.run_type = if number == 4 { RunType::Scheduled } else { RunType::Manual };
        if number == 3 {
            run.logical_date = None;
        }
        let id = dag_run::insert(tx, &run, NOW).await?;
        if number < 2 {
            dag_run::set_state(tx, id, RunState::Queued, RunState::Running, NOW + number.seconds()).await?;
        }
        if number == 0 {
            consume_an_event(tx, id).await?;
            dag_run::set_state(tx, id, RunState::Running, RunState::Success, NOW + 10.seconds()).await?;
        }
    }
    for (number, (task_id, map_index, state)) in (1..).zip([
        ("load", 0, Some(TaskState::Success)),
        ("load", 1, Some(TaskState::Failed)),
        ("load", 2, None),
        ("store", -1, Some(TaskState::Running)),
        ("zip_it", -1, None),
    ]) {
        let [dag_id, run_id, task_id] = ["one", "a", task_id].map(str::to_owned);
        let key = TaskInstanceKey { dag_id, run_id, task_id, map_index };
        let mut row = TaskInstance::new(Uuid::from_u128(number), key, NOW);
        row.state = state;
        "default_pool".clone_into(&mut row.pool);
        row.start_date = state.map(|_| NOW);
        row.end_date = (number == 1).then_some(NOW);
        row.duration = (number < 3).then_some(0.1);
        row.rendered_map_index = (number == 2).then(|| "second".to_owned());
        row.operator = Some(if number < 4 { "Python" } else { "Bash" }.to_owned());
        row.custom_operator_name = (number == 4).then(|| "@task".to_owned());
        row.dag_version_id = (number == 1).then_some(version);
        row.try_number = i32::try_from(number).unwrap();
        task_instance::insert(tx, &row).await?;
    }
    Ok(())
}

async fn consume_an_event(tx: &mut Tx, run: i64) -> Result<(), Error> {
    let consumed = Asset {
        name: "Orders".to_owned(),
        uri: "x://orders_50%".to_owned(),
        group: "asset".to_owned(),
        extra: Json::from(json!({})),
        watchers: Vec::new(),
        access_control: None,
    };
    let asset_id = asset::insert_if_missing(tx, &consumed, NOW).await?.id;
    let awaited = Reference::Schedule { dag_id: "one".to_owned(), asset_id };
    asset::reference::insert(tx, &awaited, &Access::ANYBODY, NOW).await?;
    let extra = Json::from(json!({}));
    let event = NewEvent { asset_id, extra: &extra, source: None, partition_key: None };
    registration::insert_event(tx, &event, &[], NOW + 1.second()).await?;
    let window = EventWindow { after: None, belated_after: None, up_to: NOW + 1.second() };
    assert_eq!(triggered_runs::consume(tx, run, "one", window).await?, 1);
    Ok(())
}

async fn answer(db: &Db, ask: Ask, request: ListRequest) -> Result<Listed<String>, Error> {
    let request = &request;
    db.read(|tx| async move { ask(tx, request.clone()).await }.scope_boxed()).await
}

/// What each condition lets through, in the order of the list.
async fn assert_filters(db: &Db, ask: Ask, cases: Vec<(&str, Condition, &str)>) {
    for (field, condition, expected) in cases {
        let request = ListRequest::new().at(NOW + 1.hour()).filter(field, condition.clone());
        let found = answer(db, ask, request).await;
        let found = found.unwrap_or_else(|error| panic!("{field} {condition:?}: {error}"));
        assert_eq!(found.rows.join(", "), expected, "{field} {condition:?}");
    }
}

async fn runs_are_filtered(server: Server) {
    let (_database, db) = seeded(server).await;
    let (is, any) =
        (|value: &str| Condition::is(value), |values: &[&str]| Condition::is_any(values.to_vec()));
    let at = |seconds: i64| Value::from(NOW + seconds.seconds());
    assert_filters(
        &db,
        runs,
        vec![
            ("state", is("queued"), "c, d, e"),
            ("state", any(&["success", "running"]), "a, b"),
            ("state", Condition::OneOf(Vec::new()), ""),
            ("run_type", is("manual").negated(), "e"),
            ("logical_date", Condition::OneOf(vec![None, Some(at(0))]), "a, d"),
            ("logical_date", Condition::AtLeast(at(1)), "b, c, e"),
            ("logical_date", Condition::Above(at(1)), "c, e"),
            ("run_after", Condition::AtMost(at(1)), "a, b"),
            ("run_after", Condition::Below(at(1)), "a"),
            // Who has not started has not ended either, and will after all that is past.
            ("end_date", Condition::AtLeast(at(60)), "b, c, d, e"),
            ("end_date", Condition::AtMost(at(60)), "a"),
            ("end_date", Condition::AtMost(at(7200)), "a, b, c, d, e"),
            ("duration", Condition::AtLeast(Value::from(9.5)), "a"),
            ("duration", Condition::AtLeast(Value::from(11)), ""),
            ("conf", Condition::LikeExactly("2}".to_owned()), "c"),
            ("dag_version", Condition::is(1), "a"),
            ("run_id", Condition::pattern("A|c"), "a, c"),
            ("run_id", Condition::prefix("b|zzz"), "b"),
            ("dag_id", Condition::pattern("ON"), "a, b, c, d, e"),
            ("triggering_user_name", Condition::pattern("ada%lace"), "d, e"),
            ("triggering_user_name", Condition::prefix("Ada L"), "d, e"),
            ("triggering_user_name", Condition::prefix("~"), "d, e"),
            ("consuming_asset", Condition::Contains("orders_50%".to_owned()), "a"),
            ("consuming_asset", Condition::Contains("ORDER".to_owned()), "a"),
            ("consuming_asset", Condition::Contains("%".to_owned()), "a"),
            ("consuming_asset", Condition::Contains("orders%50".to_owned()), ""),
        ],
    )
    .await;
    let several = ListRequest::new().filter("state", is("queued")).filter("run_id", any(&["a", "c", "d"]));
    let request = &several;
    let total = db.read(|tx| async move { dag_run::list::total(tx, request, None).await }.scope_boxed());
    assert_eq!(total.await.unwrap(), 2);
    let bounded = db
        .read(|tx| async move { dag_run::list::total(tx, &ListRequest::new(), Some(3)).await }.scope_boxed());
    assert_eq!(bounded.await.unwrap(), 3);
    assert_eq!(answer(&db, runs, several).await.unwrap().rows, ["c", "d"]);
}

async fn task_instances_are_filtered(server: Server) {
    let (_database, db) = seeded(server).await;
    let is = |value: &str| Condition::is(value);
    assert_filters(
        &db,
        instances,
        vec![
            ("state", Condition::OneOf(vec![None, Some("running".into())]), "load 2, store -1, zip_it -1"),
            ("id", Condition::is(Uuid::from_u128(4)), "store -1"),
            ("map_index", Condition::is_any([0, 1]), "load 0, load 1"),
            ("try_number", Condition::is(5), "zip_it -1"),
            ("duration", Condition::Below(Value::from(0.2)), "load 0, load 1"),
            ("pool", is("default_pool"), "load 0, load 1, load 2, store -1, zip_it -1"),
            ("queue", is("nowhere"), ""),
            ("executor", is("nowhere"), ""),
            ("operator", is("Bash"), "store -1, zip_it -1"),
            ("operator_name", Condition::pattern("TASK"), "store -1"),
            ("task_display_name", Condition::pattern("OA"), "load 0, load 1, load 2"),
            ("task_display_name", Condition::prefix("zip_"), "zip_it -1"),
            ("shown_map_index", Condition::pattern("sec|2"), "load 1, load 2"),
            ("rendered_map_index", is("second"), "load 1"),
            ("logical_date", Condition::is(NOW), "load 0, load 1, load 2, store -1, zip_it -1"),
            ("run_after", Condition::Above(Value::from(NOW)), ""),
            ("dag_version", Condition::is(1), "load 0"),
            ("end_date", Condition::AtMost(Value::from(NOW)), "load 0"),
        ],
    )
    .await;
    let all = db.read(|tx| {
        async move { task_instance::list::total(tx, &ListRequest::new(), None).await }.scope_boxed()
    });
    assert_eq!(all.await.unwrap(), 5);
}

async fn dags_are_filtered(server: Server) {
    let (_database, db) = seeded(server).await;
    let is = |value: &str| Condition::is(value);
    assert_filters(
        &db,
        dags,
        vec![
            ("is_paused", Condition::is(true), "two"),
            ("is_stale", Condition::is(true).negated(), "one, two"),
            ("has_import_errors", Condition::is(true), ""),
            ("tags", Condition::is_any(["red", "green"]), "one, two"),
            ("owners", Condition::Contains("50%_".to_owned()), "two"),
            ("owners", Condition::Contains("AIR".to_owned()), "one, three"),
            ("dag_display_name", Condition::pattern("rei"), "three"),
            ("is_serialized", Condition::is(true), ""),
            ("has_asset_schedule", Condition::is(true), "one"),
            ("has_asset_schedule", Condition::is(false), "three, two"),
            ("asset_dependency", Condition::Contains("orders".to_owned()), "one"),
            ("has_pending_actions", Condition::is(false), "one, three, two"),
            ("favorite_of", is("ada").negated(), "one, three, two"),
            ("any_run_state", is("running"), "one"),
            ("last_run_state", is("queued"), "one"),
            ("last_run_start", Condition::AtLeast(Value::from(NOW)), "one"),
            ("last_run_end", Condition::AtMost(Value::from(NOW)), ""),
            ("timetable_type", is("nothing"), ""),
        ],
    )
    .await;
    let both = ListRequest::new().filter("tags", is("red")).filter("tags", is("blue"));
    assert_eq!(answer(&db, dags, both).await.unwrap().rows, ["one"]);
    let count =
        db.read(|tx| async move { dag::list::total(tx, &ListRequest::new(), None).await }.scope_boxed());
    assert_eq!(count.await.unwrap(), 3);
}

/// Every field that a list may be ordered by.
const ORDERS: [(Ask, &[&str]); 3] = [
    (
        runs,
        &[
            "id",
            "dag_id",
            "run_id",
            "dag_run_id",
            "state",
            "logical_date",
            "partition_date",
            "run_after",
            "start_date",
            "end_date",
            "updated_at",
            "duration",
            "conf",
        ],
    ),
    (
        instances,
        &[
            "id",
            "state",
            "duration",
            "start_date",
            "end_date",
            "map_index",
            "try_number",
            "logical_date",
            "run_after",
            "data_interval_start",
            "data_interval_end",
            "rendered_map_index",
            "operator",
        ],
    ),
    (dags, &["dag_id", "dag_display_name", "next_dagrun", "last_run_state", "last_run_start_date"]),
];

async fn every_order_is_the_same_in_pages_of_either_kind(server: Server) {
    let (_database, db) = seeded(server).await;
    for (ask, fields) in ORDERS {
        for field in fields {
            for names in [
                vec![(*field).to_owned()],
                vec![format!("-{field}")],
                vec![format!("-{field}"), "id".to_owned()],
            ] {
                if names.len() > 1 && ask as usize == dags as Ask as usize {
                    continue;
                }
                let ordered = ListRequest::new().order_by(names.clone());
                let all = answer(&db, ask, ordered.clone()).await.unwrap().rows;
                assert!(all.len() >= 3);
                assert_eq!(by_offset(&db, ask, &ordered).await, all, "{names:?} by offset");
                assert_eq!(forwards(&db, ask, &ordered).await, all, "{names:?} by position");
                assert_eq!(backwards(&db, ask, &ordered).await, all, "{names:?} backwards");
            }
        }
    }
    let nothing = ListRequest::new().limit(0);
    assert!(answer(&db, runs, nothing).await.unwrap().rows.is_empty());
}

const LIMIT: u32 = 2;

async fn by_offset(db: &Db, ask: Ask, ordered: &ListRequest) -> Vec<String> {
    let mut found = Vec::new();
    for offset in (0..8).step_by(2) {
        let page = ordered.clone().page(Paging::Offset { limit: LIMIT, offset });
        found.extend(answer(db, ask, page).await.unwrap().rows);
    }
    found
}

async fn forwards(db: &Db, ask: Ask, ordered: &ListRequest) -> Vec<String> {
    let (mut found, mut position) = (Vec::new(), None);
    for number in 0..8 {
        let page = Paging::After { limit: LIMIT, position: position.take() };
        let listed = answer(db, ask, ordered.clone().page(page)).await.unwrap();
        assert_eq!(listed.previous.is_some(), number > 0);
        found.extend(listed.rows);
        let Some(next) = listed.next else { return found };
        position = Some(next);
    }
    panic!("the pages have no end: {found:?}");
}

async fn backwards(db: &Db, ask: Ask, ordered: &ListRequest) -> Vec<String> {
    // From the last row, found by one page that holds all but it.
    let all = answer(db, ask, ordered.clone()).await.unwrap().rows;
    let most = u32::try_from(all.len()).unwrap() - 1;
    let page = Paging::After { limit: most, position: None };
    let first = answer(db, ask, ordered.clone().page(page)).await.unwrap();
    let last = Paging::After { limit: LIMIT, position: first.next };
    let last = answer(db, ask, ordered.clone().page(last)).await.unwrap();
    let (mut found, mut previous) = (last.rows, last.previous);
    for _ in 0..8 {
        let Some(position) = previous.take() else { return found };
        let page = Paging::Before { limit: LIMIT, position };
        let listed = answer(db, ask, ordered.clone().page(page)).await.unwrap();
        assert!(listed.next.is_some());
        found.splice(0..0, listed.rows);
        previous = listed.previous;
    }
    panic!("the pages have no end: {found:?}");
}

async fn what_a_client_names_never_becomes_sql(server: Server) {
    let (_database, db) = seeded(server).await;
    for name in ["id; DROP TABLE dag_run", "1", "dag_run.id", "conf->>'a'", "", "ID", "id DESC", "{in}", "?"]
    {
        let filtered = ListRequest::new().filter(name, Condition::is(1));
        let error = refused(answer(&db, runs, filtered).await);
        assert_eq!(error, ListError::UnknownFilter(name.to_owned()));
        let ordered = ListRequest::new().order_by([name]);
        assert_eq!(refused(answer(&db, runs, ordered).await), ListError::UnknownOrder(name.to_owned()));
    }
    let not_an_order = ListRequest::new().order_by(["consuming_asset"]);
    assert!(matches!(refused(answer(&db, runs, not_an_order).await), ListError::UnknownOrder(_)));
    for text in
        ["' OR '1'='1", "x'); DROP TABLE dag_run; --", "\\", "%\\", "{in}", "?", "$1", "ü🦀", "a\nb", ":a"]
    {
        for condition in [
            Condition::is(text),
            Condition::is_any([text, text, "z"]),
            Condition::pattern(text),
            Condition::prefix(text),
            Condition::Contains(text.to_owned()),
            Condition::LikeExactly(text.to_owned()),
            Condition::AtMost(Value::from(text)).negated(),
        ] {
            for field in ["run_id", "state", "consuming_asset", "conf"] {
                let request = ListRequest::new().filter(field, condition.clone());
                answer(&db, runs, request)
                    .await
                    .unwrap_or_else(|error| panic!("{field} {condition:?}: {error}"));
            }
        }
    }
    for (field, value) in [
        ("run_id", Value::from("a\0b")),
        ("run_id", Value::from(1)),
        ("id", Value::from("1")),
        ("duration", Value::from(f64::NAN)),
        ("run_after", Value::from("2026-01-01")),
        ("run_after", Value::from(Timestamp::MIN)),
    ] {
        let request = ListRequest::new().filter(field, Condition::is(value));
        assert!(matches!(refused(answer(&db, runs, request).await), ListError::BadValue { .. }), "{field}");
    }
    for (field, value) in [
        ("id", Value::from(i64::MIN)),
        ("id", Value::from(i64::MAX)),
        ("duration", Value::from(f64::MAX)),
        ("run_after", Value::from(Timestamp::MAX)),
        ("run_after", Value::from(Timestamp::constant(-62_135_596_800, 0))),
    ] {
        let request = ListRequest::new().filter(field, Condition::AtLeast(value.clone()));
        answer(&db, runs, request).await.unwrap_or_else(|error| panic!("{field} {value:?}: {error}"));
    }
    positions_are_checked(&db).await;
    let all = answer(&db, runs, ListRequest::new()).await.unwrap();
    assert_eq!(all.rows, ["a", "b", "c", "d", "e"], "nothing is gone");
}

async fn positions_are_checked(db: &Db) {
    let page = Paging::After { limit: 1, position: None };
    let first = answer(db, runs, ListRequest::new().page(page)).await.unwrap().next;
    let other_order =
        ListRequest::new().order_by(["state"]).page(Paging::After { limit: 1, position: first.clone() });
    let error = refused(answer(db, runs, other_order).await);
    assert_eq!(error, ListError::BadPosition { found: 1, expected: 2 });
    let other_kind = ListRequest::new().page(Paging::After { limit: 1, position: first });
    assert!(matches!(refused(answer(db, dags, other_kind).await), ListError::BadPosition { .. }));
    let many = ListRequest::new().order_by(vec!["id"; 11]);
    assert_eq!(refused(answer(db, runs, many).await), ListError::TooManyOrders { limit: 10 });
    let values = ListRequest::new().filter("id", Condition::is_any(0..30_001_i64));
    assert!(matches!(refused(answer(db, runs, values).await), ListError::TooManyValues { .. }));
}

fn refused<T: Debug>(answer: Result<T, Error>) -> ListError {
    match answer {
        Err(Error::List(error)) => error,
        other => panic!("it is not refused: {other:?}"),
    }
}
