//! What executors tell is stored in the end, and costs nobody else anything until then.

use std::time::Duration;

use ferroflow_model::state::{RunState, TaskState};
use ferroflow_telemetry::metrics::{MetricsSettings, Prometheus};
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::a_run;
use jiff::{SignedDuration, ToSpan as _};
use tokio_util::sync::CancellationToken;

use crate::runs::obstacles::{Held, Row, first_of, plan};
use crate::runs::place::{Place, at};
use crate::runs::whole::Whole;

/// Whoever ends waits for those who have locked a row, and stores what it was told.
#[tokio::test]
async fn who_ends_stores_what_was_told_of_a_locked_task_instance() {
    for server in [Server::Postgres, Server::MariaDb] {
        let (place, mut whole) = one_that_cannot_start(server).await;
        let id = first_of(&place, "aa", "run").await.id;
        let held = Held::new(&place, Row::Instances(vec![id])).await;
        whole.cannot_start(id, "aa", "run", "a");
        whole.cycle().await;
        let let_go = async {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            held.let_go().await;
        };
        let never = CancellationToken::new();
        tokio::join!(whole.scheduler.drain(&never), let_go);
        assert_eq!(first_of(&place, "aa", "run").await.state, Some(TaskState::Failed));
    }
}

/// Unless it is to hurry.
#[tokio::test]
async fn who_hurries_waits_for_no_lock() {
    let (place, mut whole) = one_that_cannot_start(Server::Postgres).await;
    let id = first_of(&place, "aa", "run").await.id;
    let held = Held::new(&place, Row::Instances(vec![id])).await;
    whole.cannot_start(id, "aa", "run", "a");
    whole.cycle().await;
    let at_once = CancellationToken::new();
    at_once.cancel();
    whole.scheduler.drain(&at_once).await;
    held.let_go().await;
    assert_eq!(first_of(&place, "aa", "run").await.state, Some(TaskState::Queued), "others find it");
}

/// Once it is known that rows are locked, they are asked for without waiting: however many they are, one cycle looks at all.
#[tokio::test]
async fn many_locked_task_instances_are_looked_at_without_waiting() {
    let place = Place::new(Server::Postgres, &[plan("aa")]).await;
    let names = ["1", "2", "3", "4", "5"];
    let runs = names.map(|name| a_run("aa", name, at(&format!("2024-01-0{name}"))));
    place.running(&runs, &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    let mut ids = Vec::new();
    for name in names {
        ids.push(first_of(&place, "aa", name).await.id);
    }
    let held = Held::new(&place, Row::Instances(ids.clone())).await;
    for (id, name) in ids.iter().zip(names) {
        whole.cannot_start(*id, "aa", name, "a");
    }
    for _ in 0..3 {
        // Two new ones are waited for in each.
        whole.cycle().await;
    }
    whole.now += SignedDuration::from_secs(5);
    whole.cycle().await;
    held.let_go().await;
    whole.now += SignedDuration::from_secs(5);
    whole.cycle().await;
    for name in names {
        assert_eq!(first_of(&place, "aa", name).await.state, Some(TaskState::Failed), "{name}");
    }
}

/// What somebody's trigger in the database refuses, for a reason that only it knows, stops nobody else.
#[tokio::test]
async fn what_a_trigger_refuses_stops_nobody_else() {
    let place = Place::new(Server::Postgres, &[plan("aa"), plan("zz")]).await;
    let runs = [a_run("aa", "run", at("2024-01-01")), a_run("zz", "run", at("2024-01-01"))];
    place.running(&runs, &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    let function = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \
                    IF NEW.dag_id = ''aa'' AND NEW.state = ''failed'' THEN RAISE EXCEPTION ''not now''; END IF; \
                    RETURN NEW; END'";
    place.database.execute(function).await;
    let trigger =
        "CREATE TRIGGER refusal BEFORE UPDATE ON task_instance FOR EACH ROW EXECUTE FUNCTION refuse()";
    place.database.execute(trigger).await;
    whole.handed();
    whole.cannot_start(first_of(&place, "aa", "run").await.id, "aa", "run", "a");
    whole.succeed(&place, "zz", "run", "a").await;
    for _ in 0..3 {
        whole.after(SignedDuration::from_secs(5)).await;
    }
    assert_eq!(whole.handed(), ["zz run b"]);
    place.database.execute("DROP TRIGGER refusal ON task_instance").await;
    whole.after(SignedDuration::from_secs(5)).await;
    assert_eq!(first_of(&place, "aa", "run").await.state, Some(TaskState::Failed));
}

/// What can never be taken in is dropped, with a word, and is not tried again; nobody else waits for it.
#[tokio::test]
async fn what_can_never_be_taken_in_is_dropped() {
    for server in [Server::Postgres, Server::MariaDb] {
        let place = Place::new(server, &[plan("aa"), plan("zz")]).await;
        let runs = [a_run("aa", "run", at("2024-01-01")), a_run("zz", "run", at("2024-01-01"))];
        place.running(&runs, &["a", "b"], None).await;
        let mut whole = Whole::new(&place, at("2024-06-01")).await;
        whole.settle().await;
        let refusal =
            "ALTER TABLE task_instance ADD CONSTRAINT refusal CHECK (dag_id <> 'aa' OR state <> 'failed')";
        place.database.execute(refusal).await;
        let prometheus = Prometheus::new(&MetricsSettings::default()).unwrap();
        let recorder = metrics::set_default_local_recorder(&prometheus);
        for dag_id in ["aa", "zz"] {
            whole.cannot_start(first_of(&place, dag_id, "run").await.id, dag_id, "run", "a");
        }
        whole.cycle().await;
        assert_eq!(first_of(&place, "zz", "run").await.state, Some(TaskState::Failed));
        place.database.execute("ALTER TABLE task_instance DROP CONSTRAINT refusal").await;
        whole.after(SignedDuration::from_secs(40)).await;
        drop(recorder);
        assert_eq!(first_of(&place, "aa", "run").await.state, Some(TaskState::Queued), "it is dropped");
        let told = "ferroflow_scheduler_set_aside{dag_id=\"aa\",what=\"event\"} 1\n";
        assert!(prometheus.shown().text().contains(told), "{}", prometheus.shown().text());
    }
}

/// Of many that are kept some are tried again in one cycle, and the others in the next: what was told since does not wait for
/// all of them.
#[tokio::test]
async fn of_many_that_are_kept_some_are_tried_in_one_cycle() {
    let place = Place::new(Server::Sqlite, &[plan("aa")]).await;
    let names: Vec<String> = (0..53).map(|number| format!("run_{number}")).collect();
    let runs: Vec<_> = (1_i64..)
        .zip(&names)
        .map(|(day, name)| a_run("aa", name, at("2024-01-01") + (24 * day).hours()))
        .collect();
    place.running(&runs, &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    place.database.refuse("UPDATE", "task_instance", "NEW.state = 'failed'").await;
    place.database.execute("UPDATE dag_run SET run_type = 'unknown'").await;
    for name in &names {
        whole.cannot_start(first_of(&place, "aa", name).await.id, "aa", name, "a");
    }
    whole.cycle().await;
    place.database.execute("UPDATE dag_run SET run_type = 'manual'").await;
    place.database.refuse_no_more("task_instance").await;
    whole.now += SignedDuration::from_secs(2);
    for expected in [50, 53] {
        whole.cycle().await;
        let failed = place.texts("SELECT run_id AS answer FROM task_instance WHERE state = 'failed'").await;
        assert_eq!(failed.len(), expected);
    }
}

/// Python writes and reads `NaN`; so does whoever reads what it has written.
#[tokio::test]
async fn a_run_whose_conf_python_has_written_with_nan_gets_on() {
    let place = Place::new(Server::Sqlite, &[plan("aa")]).await;
    place.running(&[a_run("aa", "run", at("2024-01-01"))], &["a", "b"], None).await;
    place.database.execute(r#"UPDATE dag_run SET conf = '{"x": NaN, "y": [Infinity]}'"#).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    for task_id in ["a", "b"] {
        whole.settle().await;
        assert_eq!(whole.handed(), [format!("aa run {task_id}")]);
        whole.succeed(&place, "aa", "run", task_id).await;
    }
    whole.settle().await;
    assert_eq!(place.run("aa", "run").await.state, RunState::Success);
}

async fn one_that_cannot_start(server: Server) -> (Place, Whole) {
    let place = Place::new(server, &[plan("aa")]).await;
    place.running(&[a_run("aa", "run", at("2024-01-01"))], &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    (place, whole)
}
