//! Task instances: what is read of them, and of what they leave.

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::monitoring::{gauges, live_view};
use ferroflow_db::task_instance::dependencies::{self, Tasks};
use ferroflow_db::task_instance::lookup::{self, Filter};
use ferroflow_db::task_instance::{
    self, TaskInstanceKey, blockers, clear, heartbeat, queueing, rendered_fields, reschedule, scheduling,
    siblings, state_store,
};
use ferroflow_db::xcom::{self, Runs, XComAddress, task_map};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag_run, trigger};
use ferroflow_model::state::TaskState;
use ferroflow_testkit::rows::add_dag;
use jiff::ToSpan as _;

use super::{add, key, running, stored, strings, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { listed(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { at_work(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { left(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { pushed(tx).await }.scope_boxed()).await;
}

const STATES: [(&str, TaskState); 5] = [
    ("done", TaskState::Success),
    ("runs", TaskState::Running),
    ("waits", TaskState::Scheduled),
    ("deferred", TaskState::Deferred),
    ("queued", TaskState::Queued),
];

async fn listed(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "tasks").await?;
    let run = running(tx, "tasks", "run", 0).await?;
    let mut ids = Vec::new();
    for (task, state) in STATES {
        let row = add(tx, key("tasks", "run", task), |row| {
            row.state = Some(state);
            row.hostname = Some("host".to_owned());
            (row.pid, row.start_date, row.end_date) = (Some(7), Some(NOW), Some(NOW));
        });
        ids.push(row.await?.id);
    }
    let copies = [1, 2].map(|index| {
        let mut row = task_instance::TaskInstance::new(
            uuid::Uuid::from_u128(index),
            TaskInstanceKey { map_index: i32::try_from(index).unwrap(), ..key("tasks", "run", "copies") },
            NOW,
        );
        "default_pool".clone_into(&mut row.pool);
        row
    });
    task_instance::insert_many(tx, &copies).await?;
    assert_eq!(task_instance::find(tx, ids[0]).await?.unwrap().key.task_id, "done");
    assert_eq!(task_instance::find_all(tx, &ids).await?.len(), 5);
    assert_eq!(task_instance::current_id(tx, &key("tasks", "run", "done")).await?, Some(ids[0]));
    assert_eq!(scheduling::of_run(tx, "tasks", "run").await?.len(), 7);
    assert_eq!(scheduling::of_runs(tx, &[run]).await?[&run].len(), 7);
    assert_eq!(scheduling::some_of_run(tx, "tasks", "run", &["done"], &[-1]).await?.len(), 1);
    assert_eq!(scheduling::lock_states(tx, &ids).await?.len(), 5);
    assert_eq!(scheduling::lock_scheduled(tx, &ids).await?, [ids[2]]);
    assert!(scheduling::last_ended(tx, "tasks", "run", TaskState::Success).await?.is_some());
    assert!(scheduling::last_started(tx, "tasks", "run", &ids).await?.is_some());
    assert_eq!(siblings::breadcrumbs(tx, "tasks", "run").await?.len(), 1);
    let filter = Filter { dag_id: "tasks".to_owned(), task_ids: strings(["done"]), ..Filter::default() };
    assert_eq!(lookup::states(tx, &filter).await?.len(), 1);
    assert_eq!(lookup::count(tx, &filter, &[Some("success")]).await?, 1);
    assert!(lookup::previous(tx, "tasks", "done", -1, None, None).await?.is_some());
    let selection = clear::Selection {
        dag_id: "tasks".to_owned(),
        from: None,
        to: None,
        states: vec![TaskState::Success],
        task_ids: None,
    };
    assert_eq!(clear::select(tx, &selection).await?.len(), 1);
    assert_eq!(clear::lock_instances(tx, "tasks", "run").await?.len(), 7);
    Ok(())
}

async fn at_work(tx: &mut Tx) -> Result<(), Error> {
    let run = dag_run::lookup::id(tx, "tasks", "run").await?.unwrap();
    let ids: Vec<_> = scheduling::of_run(tx, "tasks", "run").await?.iter().map(|row| row.id).collect();
    assert!(!queueing::holding_slots(tx).await?.is_empty());
    assert_eq!(queueing::at_work(tx).await?.len(), 2);
    assert_eq!(queueing::at_work_of(tx, &["tasks"]).await?.len(), 2);
    assert_eq!(queueing::deferred_in_pools(tx, &["default_pool"]).await?.len(), 1);
    assert_eq!(queueing::deferred_of_tasks(tx, &["tasks"], &["deferred"]).await?.len(), 1);
    assert_eq!(queueing::scheduled_by_id(tx, &ids).await?.len(), 1);
    assert_eq!(queueing::scheduled_of_runs(tx, &[run]).await?.len(), 1);
    assert_eq!(queueing::runs_with_scheduled(tx).await?.len(), 1);
    assert_eq!(queueing::lock(tx, &ids).await?.len(), 7);
    assert_eq!(live_view::at_work(tx, 10).await?.len(), 2);
    assert!(!gauges::pool_use(tx).await?.is_empty());
    assert_eq!(gauges::by_task(tx).await?.len(), 4);
    assert_eq!(blockers::slot_holders(tx).await?.len(), 3);
    assert_eq!(dependencies::progress(tx, &[run]).await?[&run].instances, 7);
    assert_eq!(dependencies::past(tx, "tasks", "run").await?.len(), 6);
    assert_eq!(dependencies::were_there_before(tx, "tasks", NOW + 24.hours(), &["done"]).await?, ["done"]);
    assert_eq!(dag_run::history::task_counts(tx, "tasks", &["run"]).await?.len(), 6);
    let runs = key("tasks", "run", "runs");
    let id = task_instance::current_id(tx, &runs).await?.unwrap();
    assert_eq!(heartbeat::record(tx, "host", &[(id, 7)], NOW).await?.len(), 1);
    assert_eq!(heartbeat::statuses(tx, &[id]).await?.len(), 1);
    assert!(task_instance::execution::facts(tx, id).await?.is_some());
    let fernet = ferroflow_db::encoding::fernet::Fernet::default();
    let started = trigger::insert_at_start(tx, &fernet, "a.Trigger", "{}", None, NOW).await?;
    assert!(trigger::lock(tx, started).await?);
    assert_eq!(blockers::triggerer(tx, started).await?, None);
    trigger::delete(tx, started).await?;
    trigger::insert_at_start(tx, &fernet, "a.Trigger", "{}", None, NOW).await?;
    let called = trigger::insert_at_start(tx, &fernet, "a.Trigger", "{}", None, NOW).await?;
    callback::insert(tx, &triggered(called)).await?;
    assert_eq!(trigger::unreferenced::sweep(tx, 0, 10).await?.removed, 1);
    Ok(())
}

fn triggered(trigger_id: i64) -> Callback {
    Callback {
        id: uuid::Uuid::from_u128(1),
        callback_type: "triggerer".to_owned(),
        fetch_method: "import_path".to_owned(),
        data: stored!({}),
        bundle_name: None,
        state: None,
        output: None,
        priority_weight: 1,
        created_at: NOW,
        trigger_id: Some(trigger_id),
    }
}

async fn left(tx: &mut Tx) -> Result<(), Error> {
    let of = key("tasks", "run", "done");
    let copy = TaskInstanceKey { map_index: 1, ..key("tasks", "run", "copies") };
    let id = task_instance::current_id(tx, &copy).await?.unwrap();
    reschedule::insert(tx, id, NOW, NOW, NOW + 1.minute()).await?;
    assert_eq!(reschedule::first_start(tx, id).await?, Some(NOW));
    let run = dag_run::lookup::id(tx, "tasks", "run").await?.unwrap();
    assert_eq!(dependencies::reschedules(tx, "tasks", "run", Tasks::All).await?.len(), 1);
    assert_eq!(dependencies::reschedules_of(tx, &[run]).await?.len(), 1);
    reschedule::delete(tx, id).await?;
    rendered_fields::set(tx, &of, &stored!({"a": 1})).await?;
    rendered_fields::prune(tx, "tasks", "done", 0).await?;
    for name in ["a", "b"] {
        assert!(state_store::set(tx, &of, name, &stored!(1), None, NOW).await?);
    }
    assert_eq!(state_store::find(tx, &of, "a").await?.as_deref(), Some("1"));
    state_store::delete(tx, &of, "a").await?;
    state_store::clear(tx, &of).await?;
    task_map::set(tx, &of, 2).await?;
    assert_eq!(task_map::find(tx, &of).await?, Some(2));
    assert_eq!(dependencies::pushed_lengths(tx, "tasks", "run", Tasks::These(&["done"])).await?.len(), 1);
    Ok(())
}

async fn pushed(tx: &mut Tx) -> Result<(), Error> {
    let of = key("tasks", "run", "done");
    let address = |task_id: &str, name: &str| XComAddress {
        dag_id: "tasks".to_owned(),
        run_id: "run".to_owned(),
        task_id: task_id.to_owned(),
        key: name.to_owned(),
    };
    let (returned, other) = (address("copies", "return_value"), address("done", "other"));
    assert!(xcom::set(tx, &returned, 1, &stored!({}), false, NOW).await?);
    assert!(xcom::set(tx, &address("done", "skipmixin_key"), -1, &stored!({}), false, NOW).await?);
    assert!(xcom::set(tx, &other, -1, &stored!({}), false, NOW).await?);
    for runs in [Runs::This, Runs::UpToThis] {
        assert!(xcom::find(tx, &returned, runs, 1).await?.is_some());
        assert_eq!(xcom::count(tx, &returned, runs).await?, 1);
        assert_eq!(xcom::range(tx, &returned, runs, 0, 10).await?.len(), 1);
    }
    assert_eq!(dependencies::pushed_results(tx, "tasks", "run", &["copies"]).await?.len(), 1);
    assert_eq!(dependencies::skips(tx, "tasks", "run", &["done"]).await?.len(), 1);
    let run = dag_run::lookup::id(tx, "tasks", "run").await?.unwrap();
    assert_eq!(task_instance::execution::xcom_keys(tx, run, "done", None).await?.len(), 2);
    xcom::delete(tx, &other, -1).await?;
    // All that one instance has left.
    let id = task_instance::current_id(tx, &of).await?.unwrap();
    reschedule::insert(tx, id, NOW, NOW, NOW).await?;
    rendered_fields::set(tx, &of, &stored!({})).await?;
    xcom::set(tx, &other, -1, &stored!({}), false, NOW).await?;
    scheduling::forget(tx, &of, id).await?;
    Ok(())
}
