//! Each reason and boundary of starting runs.

use ferroflow_model::runs::start::{
    BackfillFacts, DagFacts, NotStarted, QueuedRun, Running, Snapshot, Verdict, decide,
};

use crate::runs::given::{NOW, at, open_backfill, open_dag, queued_run};

fn backfill_run<'a>(dag_id: &'a str, run_id: &'a str, backfill_id: i32, ordinal: i32) -> QueuedRun<'a> {
    let (backfill_id, sort_ordinal) = (Some(backfill_id), Some(ordinal));
    QueuedRun { backfill_id, sort_ordinal, ..queued_run(dag_id, run_id, 0) }
}

fn running(dag_id: &str, backfill_id: Option<i32>, count: u32) -> Running<'_> {
    Running { dag_id, backfill_id, count, last_started: None }
}

fn started(snapshot: &Snapshot<'_>, limit: usize) -> Vec<String> {
    let decisions = decide(snapshot, at(NOW), limit);
    let started = decisions.iter().filter(|decision| decision.verdict == Verdict::Start);
    started.map(|decision| decision.run_id.to_owned()).collect()
}

/// The reason why a run does not start, with DAG `d` of at most 3 runs and backfill 1 of at most 2.
fn reason(run: QueuedRun<'_>, dag: DagFacts<'_>, backfill: BackfillFacts) -> NotStarted {
    let snapshot = Snapshot { queued: &[run], dags: &[dag], backfills: &[backfill], running: &[] };
    match decide(&snapshot, at(NOW), 10)[0].verdict {
        Verdict::Refused(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_reason_can_be_read() {
    let (plain, of_backfill) = (queued_run("d", "r", 0), backfill_run("d", "r", 1, 1));
    let (dag, backfill) = (open_dag("d", 3), open_backfill(1, 2));
    let told = |run, dag, backfill| reason(run, dag, backfill).to_string();
    assert_eq!(told(queued_run("x", "r", 0), dag, backfill), "the DAG is not in the database");
    assert_eq!(told(plain, DagFacts { is_paused: true, ..dag }, backfill), "the DAG is paused");
    assert_eq!(
        told(plain, DagFacts { is_stale: true, ..dag }, backfill),
        "the DAG is stale: its file is gone"
    );
    assert_eq!(
        told(QueuedRun { has_definition: false, ..plain }, dag, backfill),
        "the serialized DAG is missing or cannot be read"
    );
    assert_eq!(
        told(QueuedRun { run_after: at(NOW + 1), ..plain }, dag, backfill),
        "it may start at 1970-01-12T13:46:41Z"
    );
    assert_eq!(told(backfill_run("d", "r", 2, 1), dag, backfill), "backfill 2 is not in the database");
    assert_eq!(told(of_backfill, dag, BackfillFacts { is_paused: true, ..backfill }), "backfill 1 is paused");
    assert_eq!(
        told(of_backfill, dag, BackfillFacts { is_paused: true, is_completed: true, ..backfill }),
        "backfill 1 was cancelled, and its runs do not start again; trigger the DAG instead"
    );
    assert_eq!(told(plain, open_dag("d", 0), backfill), "max_active_runs is 0, so that no run can start");
    assert_eq!(
        told(plain, DagFacts { max_active_runs: None, ..dag }, backfill),
        "max_active_runs is not set, so that no run can start"
    );
    assert_eq!(
        told(of_backfill, dag, open_backfill(1, -1)),
        "max_active_runs is -1, so that no run can start"
    );
}

#[test]
fn a_run_of_a_backfill_that_is_over_still_starts_if_it_is_not_paused() {
    let over = BackfillFacts { is_completed: true, ..open_backfill(1, 2) };
    let run = backfill_run("d", "r", 1, 1);
    // The limit of the DAG is for others.
    let dag = DagFacts { max_active_runs: None, ..open_dag("d", 0) };
    let snapshot = Snapshot { queued: &[run], dags: &[dag], backfills: &[over], running: &[] };
    assert_eq!(started(&snapshot, 1), ["r"]);
}

#[test]
fn a_run_may_start_at_its_time() {
    let run = queued_run("d", "r", NOW);
    let snapshot = Snapshot { queued: &[run], dags: &[open_dag("d", 1)], backfills: &[], running: &[] };
    assert_eq!(started(&snapshot, 1), ["r"]);
    assert_eq!(decide(&snapshot, at(NOW), 0)[0].verdict, Verdict::Postponed);
}

#[test]
fn a_queue_offers_its_free_places_and_says_who_is_before() {
    let queued = [queued_run("d", "3", 30), queued_run("d", "1", 10), queued_run("d", "2", 20)];
    let busy =
        [running("d", None, 1), running("d", None, 1), running("d", Some(1), 9), running("e", None, 9)];
    let snapshot = Snapshot { queued: &queued, dags: &[open_dag("d", 3)], backfills: &[], running: &busy };
    let decisions = decide(&snapshot, at(NOW), 10);
    let told: Vec<(&str, Verdict)> =
        decisions.iter().map(|decision| (decision.run_id, decision.verdict)).collect();
    let full = |ahead| Verdict::Refused(NotStarted::AtMaxActiveRuns { running: 2, ahead, limit: 3 });
    assert_eq!(told, [("1", Verdict::Start), ("2", full(1)), ("3", full(2))]);
    let Verdict::Refused(reason) = full(1) else { unreachable!() };
    assert_eq!(reason.to_string(), "2 runs are running and 1 wait before it, and max_active_runs is 3");
}

#[test]
fn a_backfill_has_places_and_an_order_of_its_own() {
    let queued = [
        backfill_run("d", "second", 1, 2),
        QueuedRun { run_after: at(5), ..backfill_run("d", "first", 1, 1) },
        backfill_run("d", "third", 1, 3),
        backfill_run("d", "other", 2, 9),
    ];
    let (dags, backfills) = ([open_dag("d", 1)], [open_backfill(1, 3), open_backfill(2, 1)]);
    let busy = [running("d", None, 1), running("d", Some(1), 1)];
    let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &busy };
    assert_eq!(started(&snapshot, 10), ["other", "first", "second"]);
}

#[test]
fn queues_take_turns_and_who_started_last_is_last() {
    let queued = [
        queued_run("a", "a1", 1),
        queued_run("a", "a2", 2),
        queued_run("b", "b1", 9),
        queued_run("b", "b2", 10),
        backfill_run("c", "c1", 1, 1),
        backfill_run("c", "c2", 1, 2),
    ];
    let dags = [open_dag("a", 5), open_dag("b", 5), open_dag("c", 5)];
    let backfills = [open_backfill(1, 5)];
    let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &[] };
    assert_eq!(started(&snapshot, 10), ["c1", "a1", "c2", "b1", "a2", "b2"]);
    assert_eq!(started(&snapshot, 3), ["c1", "a1", "c2"]);
    let busy = [
        Running { last_started: Some(at(20)), ..running("a", None, 0) },
        Running { last_started: Some(at(30)), ..running("c", Some(1), 0) },
    ];
    let snapshot = Snapshot { running: &busy, ..snapshot };
    assert_eq!(started(&snapshot, 10), ["b1", "c1", "a1", "c2", "b2", "a2"]);
    assert_eq!(started(&snapshot, 1), ["b1"]);
}

#[test]
fn of_two_runs_of_one_time_the_name_decides() {
    let queued = [queued_run("a", "y", 1), queued_run("a", "x", 1)];
    let snapshot = Snapshot { queued: &queued, dags: &[open_dag("a", 1)], backfills: &[], running: &[] };
    assert_eq!(started(&snapshot, 10), ["x"]);
}

#[test]
fn who_cannot_start_takes_no_place_in_the_queue() {
    let broken = QueuedRun { has_definition: false, ..queued_run("a", "broken", 1) };
    let queued = [broken, queued_run("a", "later", NOW + 5), queued_run("a", "fine", 9)];
    let snapshot = Snapshot { queued: &queued, dags: &[open_dag("a", 1)], backfills: &[], running: &[] };
    assert_eq!(started(&snapshot, 1), ["fine"]);
}
