//! Cases in which Airflow never comes to some rows, and that ferroflow does. Each shows both.

use std::collections::BTreeMap;

use ferroflow_model::runs::create::{self, DagFacts};
use ferroflow_model::runs::examine::{self, Pace, RunningRun};
use ferroflow_model::runs::start::{self, QueuedRun, Running, Snapshot};
use ferroflow_model::state::RunType;
use jiff::{SignedDuration, Timestamp};

use crate::runs::airflow::{self, Nulls};
use crate::runs::given::{
    NOW, asset_dag, at, open_backfill, open_dag, queued_run, running_run, scheduled_dag,
};

const TO_CREATE: usize = 10;
const TO_START: usize = 20;
const PACE: Pace = Pace { limit: 20, patience: SignedDuration::from_secs(30) };

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number:03}")).collect()
}

fn created<'a>(dags: &[DagFacts<'a>], limit: usize) -> Vec<&'a str> {
    let decisions = create::decide(dags, at(NOW), limit);
    let created = decisions.iter().filter(|decision| matches!(decision.verdict, create::Verdict::Create(_)));
    created.map(|decision| decision.dag_id).collect()
}

fn started<'a>(snapshot: &Snapshot<'a>) -> Vec<&'a str> {
    let decisions = start::decide(snapshot, at(NOW), TO_START);
    let started = decisions.iter().filter(|decision| decision.verdict == start::Verdict::Start);
    started.map(|decision| decision.run_id).collect()
}

fn examined<'a>(runs: &[RunningRun<'a>], now: Timestamp) -> Vec<&'a str> {
    let decisions = examine::decide(runs, now, PACE);
    let examined = decisions.iter().filter(|decision| decision.verdict == examine::Verdict::Examine);
    examined.map(|decision| decision.run_id).collect()
}

fn airflow_creates<'a>(dags: &[DagFacts<'a>], nulls: Nulls) -> Vec<&'a str> {
    airflow::creates(dags, &BTreeMap::new(), at(NOW), nulls, TO_CREATE)
}

/// Ten DAGs that catch up on years are due in every loop.
#[test]
fn assets_do_not_wait_for_schedules_nor_schedules_for_assets() {
    let names = (names("s", 10), names("a", 10));
    let mut dags: Vec<DagFacts<'_>> = names.0.iter().map(|name| scheduled_dag(name, 60)).collect();
    dags.extend(names.1.iter().map(|name| asset_dag(name, 5)));

    let on_postgres = airflow_creates(&dags, Nulls::Last);
    assert!(on_postgres.iter().all(|dag_id| dag_id.starts_with('s')), "{on_postgres:?}");
    let on_sqlite = airflow_creates(&dags, Nulls::First);
    assert!(on_sqlite.iter().all(|dag_id| dag_id.starts_with('a')), "{on_sqlite:?}");

    let ours = created(&dags, TO_CREATE);
    assert_eq!(ours.iter().filter(|dag_id| dag_id.starts_with('a')).count(), 5);
}

/// Catching up takes a place in every loop, and the run that has just become due is never among the oldest.
#[test]
fn a_catchup_without_end_does_not_keep_out_what_is_due_today() {
    let names = names("old", 10);
    let mut dags: Vec<DagFacts<'_>> = names.iter().map(|name| scheduled_dag(name, 60)).collect();
    dags.push(scheduled_dag("today", NOW - 3600));
    assert!(!airflow_creates(&dags, Nulls::First).contains(&"today"));
    for dag in &mut dags[..10] {
        // A year further, and a second ago.
        dag.next_dagrun_create_after = Some(at(120));
        dag.last_scheduled_at = Some(at(NOW - 1));
    }
    assert!(!airflow_creates(&dags, Nulls::First).contains(&"today"));
    assert_eq!(created(&dags, TO_CREATE)[0], "today");
}

/// The author of ten DAGs wants no runs by schedule. They are due for ever.
#[test]
fn dags_that_are_refused_take_no_place() {
    let names = names("refused", 10);
    let forbids = |name| DagFacts { allowed_run_types: Some(&[RunType::Manual]), ..scheduled_dag(name, 60) };
    let mut dags: Vec<DagFacts<'_>> = names.iter().map(|name| forbids(name)).collect();
    dags.push(scheduled_dag("fine", NOW - 60));
    assert!(airflow_creates(&dags, Nulls::Last).is_empty());
    assert_eq!(created(&dags, TO_CREATE), ["fine"]);
}

/// After an outage a hundred DAGs are overdue: Airflow creates ten runs and sleeps, ten times.
#[test]
fn what_exceeds_a_pass_is_told_so_that_the_next_can_follow_at_once() {
    let names = names("d", 100);
    let dags: Vec<DagFacts<'_>> = names.iter().map(|name| scheduled_dag(name, NOW)).collect();
    assert_eq!(airflow_creates(&dags, Nulls::Last).len(), 10);
    let decisions = create::decide(&dags, at(NOW), TO_CREATE);
    let postponed = decisions.iter().filter(|decision| decision.verdict == create::Verdict::Postponed);
    assert_eq!(postponed.count(), 90);
}

/// The flag is not kept when runs of some kinds begin or end.
#[test]
fn a_limit_counts_the_runs_and_not_a_flag() {
    let one_at_a_time =
        |active_runs| [DagFacts { max_active_runs: Some(1), active_runs, ..scheduled_dag("d", NOW) }];
    let airflow = |dags: &[DagFacts<'static>], flag| {
        airflow::creates(dags, &BTreeMap::from([("d", flag)]), at(NOW), Nulls::Last, TO_CREATE)
    };
    // A manual run has begun.
    assert_eq!(airflow(&one_at_a_time(1), false), ["d"]);
    assert!(created(&one_at_a_time(1), TO_CREATE).is_empty());
    // A run that an operator triggered has ended.
    assert!(airflow(&one_at_a_time(0), true).is_empty());
    assert_eq!(created(&one_at_a_time(0), TO_CREATE), ["d"]);
}

/// A DAG that may have one run more has a thousand that wait.
#[test]
fn a_long_queue_with_one_free_place_hides_no_other() {
    let names = names("long", 1000);
    let mut queued: Vec<QueuedRun<'_>> = names.iter().map(|name| queued_run("long", name, 1)).collect();
    queued.push(queued_run("short", "waits", 2));
    let dags = [open_dag("long", 2), open_dag("short", 16)];
    let running = |dag_id| Running { dag_id, backfill_id: None, count: 1, last_started: None };
    let busy = [running("long"), running("short")];
    let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &[], running: &busy };
    // One starts and one ends, in every loop: a place is always free, and the window is always full of them.
    assert_eq!(airflow::starts(&snapshot, at(NOW), TO_START), ["long000"]);
    assert_eq!(started(&snapshot), ["long000", "waits"]);
}

/// Twenty runs without a backfill can start in every loop.
#[test]
fn backfills_do_not_wait_until_nothing_else_does() {
    let names = names("r", 20);
    let dag_ids: Vec<String> = names.iter().map(|name| format!("d{name}")).collect();
    let mut queued: Vec<QueuedRun<'_>> =
        names.iter().zip(&dag_ids).map(|(name, dag_id)| queued_run(dag_id, name, NOW)).collect();
    let mut dags: Vec<start::DagFacts<'_>> = dag_ids.iter().map(|dag_id| open_dag(dag_id, 1)).collect();
    dags.push(open_dag("b", 1));
    let of_backfill = queued_run("b", "backfilled", 1);
    queued.push(QueuedRun { backfill_id: Some(1), sort_ordinal: Some(1), ..of_backfill });
    let backfills = [open_backfill(1, 1)];
    let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &[] };
    assert!(!airflow::starts(&snapshot, at(NOW), TO_START).contains(&"backfilled"));
    assert_eq!(started(&snapshot)[0], "backfilled");
}

/// Runs that assets asked for have no logical date, and databases differ in where that puts them.
#[test]
fn runs_without_a_logical_date_have_their_place_in_time() {
    let dates = [("asset", None, 2), ("early", Some(at(1)), 1), ("late", Some(at(3)), 3)];
    let by_logical_date = |nulls| {
        let mut order = dates;
        order.sort_by_key(|(_, date, _)| (date.is_none() == (nulls == Nulls::Last), *date));
        order.map(|(name, ..)| name)
    };
    assert_ne!(by_logical_date(Nulls::First), by_logical_date(Nulls::Last));
    let queued = dates.map(|(name, _, run_after)| queued_run("d", name, run_after));
    let dags = [open_dag("d", 9)];
    let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &[], running: &[] };
    assert_eq!(started(&snapshot), ["early", "asset", "late"]);
}

/// Two thousand runs were cleared, and wait for something. One run of another DAG has a task that has ended.
#[test]
fn a_run_that_changed_does_not_wait_for_those_that_did_not() {
    let names = names("cleared", 2000);
    let seen = |name| RunningRun { last_examined: Some(at(NOW - 9)), ..running_run("big", name, 0) };
    let mut runs: Vec<RunningRun<'_>> = names.iter().map(|name| seen(name)).collect();
    let last_examined = Some(at(NOW - 1));
    runs.push(RunningRun { is_dirty: true, last_examined, ..running_run("small", "changed", 0) });
    let mut loops = 0;
    let mut as_airflow_has_it = runs.clone();
    loop {
        loops += 1;
        let examined = airflow::examines(&as_airflow_has_it, at(NOW), PACE.limit);
        if examined.contains(&"changed") {
            break;
        }
        for run in as_airflow_has_it.iter_mut().filter(|run| examined.contains(&run.run_id)) {
            run.last_examined = Some(at(NOW + loops));
        }
    }
    assert_eq!(loops, 101);
    assert_eq!(examined(&runs, at(NOW))[0], "changed");
}

/// Twenty runs stand for a time that has not come. They were never looked at, so they are always the first.
#[test]
fn runs_of_the_future_do_not_fill_the_window() {
    let names = names("future", 20);
    let ahead = |name| RunningRun { logical_date: Some(at(NOW * 2)), ..running_run("f", name, 0) };
    let mut runs: Vec<RunningRun<'_>> = names.iter().map(|name| ahead(name)).collect();
    runs.push(RunningRun { last_examined: Some(at(9)), ..running_run("d", "fine", 0) });
    assert!(airflow::examines(&runs, at(NOW), PACE.limit).is_empty());
    assert_eq!(examined(&runs, at(NOW)), ["fine"]);
}

/// Twenty runs without a backfill are always there to be looked at.
#[test]
fn runs_of_backfills_are_looked_at_while_others_run() {
    let names = names("r", 20);
    let seen = |name| RunningRun { last_examined: Some(at(NOW - 1)), ..running_run("d", name, 0) };
    let mut runs: Vec<RunningRun<'_>> = names.iter().map(|name| seen(name)).collect();
    runs.push(RunningRun { is_backfill: true, ..running_run("b", "backfilled", 0) });
    assert!(!airflow::examines(&runs, at(NOW), PACE.limit).contains(&"backfilled"));
    assert!(examined(&runs, at(NOW)).contains(&"backfilled"));
}
