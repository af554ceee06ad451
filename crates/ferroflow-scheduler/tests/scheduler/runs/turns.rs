//! Runs are examined in the order in which something happened to them, DAGs take turns, and what happens in a run
//! concerns the next one of its DAG.

use ferroflow_db::dag_run::NewDagRun;
use ferroflow_model::state::{RunType, TaskState};
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::a_run;
use jiff::{SignedDuration, ToSpan as _};
use serde_json::json;

use crate::runs::place::{Place, Plan, at, daily};
use crate::runs::sketch::Sketch;
use crate::runs::whole::Whole;

ferroflow_testkit::on_every_database!(
    where_runs_by_hand_do_not_count_all_after_a_run_wait_for_it,
    where_runs_by_hand_count_each_waits_for_the_one_before,
    what_is_settled_without_having_run_is_told_to_the_next_run,
    whatever_others_do_to_the_run_before_is_found,
);

/// More than twice as many as are examined in one cycle.
const MANY: i64 = 1_050;

/// However many runs of another DAG there are, and whatever it is called.
#[tokio::test]
async fn whatever_else_is_to_be_looked_at_an_event_is_acted_on_within_two_cycles() {
    let plans = [past("aa_dop", "a").catchup(), plan("zz", Sketch::of("a; b < a"))];
    let place = Place::new(Server::Sqlite, &plans).await;
    let runs: Vec<NewDagRun> = (0..MANY).map(|number| scheduled("aa_dop", number)).collect();
    place.running(&runs, &["a"], None).await;
    place.running(&[scheduled("zz", 0)], &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    // It takes two looks to find them all.
    whole.settle().await;
    whole.after(SignedDuration::from_secs(2)).await;
    assert_eq!(whole.handed(), ["aa_dop run_0000 a", "zz run_0000 a"]);
    // Somebody pauses the DAG: all of its runs are to be looked at.
    place.database.execute("UPDATE dag SET is_paused = TRUE WHERE dag_id = 'aa_dop'").await;
    whole.succeed(&place, "zz", "run_0000", "a").await;
    whole.now += SignedDuration::from_secs(2);
    let examined = whole.cycle().await.examined.examined + whole.cycle().await.examined.examined;
    assert!(examined >= 200 && whole.scheduler.pause(whole.now).is_zero(), "there is more to do: {examined}");
    assert_eq!(whole.handed(), ["zz run_0000 b"]);
}

/// Whoever asks for a run does not wait for all those that schedules have made.
#[tokio::test]
async fn a_run_that_somebody_asks_for_does_not_wait_for_the_many_of_schedules() {
    let mut plans: Vec<Plan> = (0..700).map(|dag| plan(&format!("dag_{dag:03}"), Sketch::of("a"))).collect();
    plans.push(plan("zz", Sketch::of("a")));
    let place = Place::new(Server::Sqlite, &plans).await;
    let many: Vec<NewDagRun> = (0..700).map(|dag| scheduled(&format!("dag_{dag:03}"), 0)).collect();
    place.running(&many, &["a"], None).await;
    place.running(&[a_run("zz", "asked", at("2024-01-01"))], &["a"], None).await;
    place.database.execute("UPDATE dag_run SET state = 'queued', start_date = NULL").await;
    // Nobody waits for a slot.
    place.database.execute("UPDATE slot_pool SET slots = 10000").await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    loop {
        let started = whole.cycle().await.started.started;
        let handed = whole.handed();
        if started.iter().any(|run| run.dag_id == "zz") {
            assert!(handed.contains(&"zz asked a".to_owned()), "{handed:?}");
            break;
        }
        assert!(!started.is_empty(), "it starts some day");
    }
}

/// The next run in the order of dates is looked at, and nobody else.
#[tokio::test]
async fn a_task_that_ends_concerns_the_next_run_and_no_other() {
    let place = Place::new(Server::Sqlite, &[past("dop", "a; free").catchup()]).await;
    let runs: Vec<NewDagRun> = (0..50).map(|number| scheduled("dop", number)).collect();
    place.running(&runs, &["a", "free"], None).await;
    place.database.execute("UPDATE dag SET max_active_tasks = 1000").await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    assert_eq!(
        whole.handed().len(),
        51,
        "all that are free, and the first of those that wait for each other"
    );
    for number in 0..3 {
        let run_id = format!("run_{number:04}");
        whole.succeed(&place, "dop", &run_id, "a").await;
        assert_eq!(whole.cycle().await.examined.examined, 2, "its own run, and the next");
        assert_eq!(whole.handed(), [format!("dop run_{:04} a", number + 1)]);
        whole.succeed(&place, "dop", &run_id, "free").await;
        let examined = whole.cycle().await.examined;
        assert!(examined.examined <= 2 && whole.handed().is_empty(), "nobody waits for it: {examined:?}");
        whole.settle().await;
    }
    // A far look finds that all is as it is known.
    whole.now += SignedDuration::from_secs(30);
    assert!(whole.cycle().await.examined.examined <= 1, "only one has a run before it that has ended");
}

/// Where runs by hand count as the one before, they are told of the one right before them; where they do not, they are the
/// one before of nobody.
#[tokio::test]
async fn runs_by_hand_concern_only_those_that_have_them_before() {
    for (plan, by_schedule, by_hand) in [(past("dop", "a"), 2, 2), (past("dop", "a").catchup(), 31, 1)] {
        let place = Place::new(Server::Sqlite, &[plan]).await;
        let mut runs = vec![scheduled("dop", 0)];
        let date = |number: i64| at("2024-01-01") + number.minutes();
        runs.extend((1..=30).map(|number| a_run("dop", &format!("by_hand_{number}"), date(number))));
        place.running(&runs, &["a"], None).await;
        let mut whole = Whole::new(&place, at("2024-06-01")).await;
        whole.settle().await;
        whole.succeed(&place, "dop", "run_0000", "a").await;
        assert_eq!(whole.cycle().await.examined.examined, by_schedule);
        whole.settle().await;
        whole.succeed(&place, "dop", "by_hand_1", "a").await;
        assert_eq!(whole.cycle().await.examined.examined, by_hand);
    }
}

async fn where_runs_by_hand_do_not_count_all_after_a_run_wait_for_it(server: Server) {
    let place = Place::new(server, &[past("dop", "a").catchup()]).await;
    let mut whole = with_one_by_hand(&place).await;
    assert_eq!(whole.handed(), ["dop dateless a", "dop run_0000 a"]);
    whole.succeed(&place, "dop", "run_0000", "a").await;
    whole.settle().await;
    assert_eq!(whole.handed(), ["dop by_hand a", "dop run_0001 a"], "both have the same run before");
    whole.succeed(&place, "dop", "run_0001", "a").await;
    whole.settle().await;
    assert_eq!(whole.handed(), ["dop run_0002 a"]);
}

async fn where_runs_by_hand_count_each_waits_for_the_one_before(server: Server) {
    let place = Place::new(server, &[past("dop", "a")]).await;
    let mut whole = with_one_by_hand(&place).await;
    assert_eq!(whole.handed(), ["dop dateless a", "dop run_0000 a"]);
    for (ends, follows) in [("run_0000", "by_hand"), ("by_hand", "run_0001"), ("run_0001", "run_0002")] {
        whole.succeed(&place, "dop", ends, "a").await;
        whole.settle().await;
        assert_eq!(whole.handed(), [format!("dop {follows} a")]);
    }
}

/// Three runs of a schedule, one by hand after the first of them, and one without a date.
async fn with_one_by_hand(place: &Place) -> Whole {
    let mut runs: Vec<NewDagRun> = (0..3).map(|number| scheduled("dop", number)).collect();
    runs.push(a_run("dop", "by_hand", at("2024-01-01") + 30.minutes()));
    runs.push(NewDagRun { logical_date: None, ..a_run("dop", "dateless", at("2024-01-01")) });
    place.running(&runs, &["a"], None).await;
    let mut whole = Whole::new(place, at("2024-06-01")).await;
    whole.settle().await;
    whole
}

/// `b` waits until what is downstream of it has ended in the run before, and that is skipped there.
async fn what_is_settled_without_having_run_is_told_to_the_next_run(server: Server) {
    let sketch = Sketch::of("a; b; c < a, b").with("b", "depends_on_past", json!(true)).with(
        "b",
        "wait_for_downstream",
        json!(true),
    );
    let place = Place::new(server, &[plan("dop", sketch)]).await;
    let runs: Vec<NewDagRun> = (0..2).map(|number| scheduled("dop", number)).collect();
    place.running(&runs, &["a", "b", "c"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    assert_eq!(whole.handed(), ["dop run_0000 a", "dop run_0000 b", "dop run_0001 a"]);
    whole.succeed(&place, "dop", "run_0000", "b").await;
    whole.settle().await;
    assert!(whole.handed().is_empty(), "what is downstream has not ended");
    place.set_state("dop", "run_0000", "a", "skipped", whole.now).await;
    whole.after(SignedDuration::from_secs(2)).await;
    assert_eq!(whole.handed(), ["dop run_0001 b"]);
}

/// The run before is none of those that are looked after: it has ended, is gone, or was made when another waited.
async fn whatever_others_do_to_the_run_before_is_found(server: Server) {
    let place = Place::new(server, &[past("dop", "a").catchup()]).await;
    place.running(&[scheduled("dop", 0), scheduled("dop", 1)], &["a"], Some(TaskState::Failed)).await;
    place.database.execute("UPDATE dag_run SET state = 'failed'").await;
    place.running(&[scheduled("dop", 3)], &["a"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    // One with which things would go on is taken away again before it is seen.
    place.database.execute("DELETE FROM task_instance WHERE run_id = 'run_0001'").await;
    place.database.execute("DELETE FROM dag_run WHERE run_id = 'run_0001'").await;
    whole.after(SignedDuration::from_secs(21)).await;
    assert!(whole.handed().is_empty(), "the one before that has failed, too");
    place.running(&[scheduled("dop", 2)], &["a"], Some(TaskState::Failed)).await;
    place.database.execute("UPDATE dag_run SET state = 'failed' WHERE run_id = 'run_0002'").await;
    place.set_state("dop", "run_0000", "a", "success", whole.now).await;
    whole.after(SignedDuration::from_secs(21)).await;
    assert!(whole.handed().is_empty(), "one has come between");
    place.set_state("dop", "run_0002", "a", "success", whole.now).await;
    whole.after(SignedDuration::from_secs(21)).await;
    assert_eq!(whole.handed(), ["dop run_0003 a"]);
}

/// A DAG of which every task that is called `a` depends on its past.
fn past(dag_id: &str, words: &str) -> Plan {
    plan(dag_id, Sketch::of(words).with("a", "depends_on_past", json!(true)))
}

fn plan(dag_id: &str, sketch: Sketch) -> Plan {
    let mut plan = Plan::new(dag_id, daily());
    plan.sketch =
        sketch.setting("timetable", daily()).setting("start_date", json!(at("2024-01-01").as_second()));
    plan.max_active_runs(10_000).known_since(at("2030-01-01"))
}

fn scheduled(dag_id: &str, number: i64) -> NewDagRun {
    let date = at("2024-01-01") + number.hours();
    NewDagRun { run_type: RunType::Scheduled, ..a_run(dag_id, &format!("run_{number:04}"), date) }
}
