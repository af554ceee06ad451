//! Each reason and boundary of creating runs.

use ferroflow_model::runs::create::{
    DagFacts, Decision, NewRun, NotCreated, Verdict, decide, exceeds_max_non_backfill,
};
use ferroflow_model::state::{RunType, TriggeredBy};
use ferroflow_model::timetable::{DataInterval, Timetable};

use crate::runs::given::{NOW, asset_dag, at, idle_dag, scheduled_dag};

const ONLY_ASSETS: &[RunType] = &[RunType::AssetTriggered];

fn only<'a>(dag: &DagFacts<'a>) -> Verdict<'a> {
    let decisions = decide(std::slice::from_ref(dag), at(NOW), 10);
    assert_eq!(decisions.len(), 1);
    decisions.into_iter().next().unwrap().verdict
}

fn reason(dag: &DagFacts<'_>) -> NotCreated {
    match only(dag) {
        Verdict::Refused(reason) => reason,
        other => panic!("{other:?}"),
    }
}

fn created(dags: &[DagFacts<'_>], limit: usize) -> Vec<String> {
    let decisions = decide(dags, at(NOW), limit);
    let created = decisions.iter().filter(|decision| matches!(decision.verdict, Verdict::Create(_)));
    created.map(|decision| decision.dag_id.to_owned()).collect()
}

#[test]
fn a_run_of_the_schedule_is_what_the_row_says() {
    let run = NewRun {
        run_type: RunType::Scheduled,
        triggered_by: TriggeredBy::Timetable,
        run_after: at(NOW),
        logical_date: Some(at(NOW - 60)),
        data_interval: Some(DataInterval { start: at(NOW - 60), end: at(NOW) }),
        partition_key: None,
        partition_date: None,
    };
    assert_eq!(only(&scheduled_dag("a", NOW)), Verdict::Create(run));
}

#[test]
fn a_run_of_a_partition_has_no_logical_date() {
    let dag = DagFacts {
        next_dagrun_create_after: Some(at(5)),
        next_dagrun_partition_key: Some("2024"),
        next_dagrun_partition_date: Some(at(3)),
        timetable_partitioned: true,
        // Of no run, since there is no logical date to compare.
        next_dagrun_exists: true,
        // Left over from the time before the partitions.
        next_dagrun_data_interval: Some(DataInterval { start: at(1), end: at(2) }),
        ..idle_dag("a")
    };
    let Verdict::Create(run) = only(&dag) else { panic!("a run") };
    assert_eq!((run.logical_date, run.data_interval), (None, None));
    assert_eq!((run.partition_key, run.partition_date), (Some("2024"), Some(at(3))));
    let without_key = DagFacts { next_dagrun_partition_key: None, ..dag };
    assert_eq!(reason(&without_key), NotCreated::Incomplete("partition key"));
}

#[test]
fn a_run_for_assets_runs_after_the_newest_of_them() {
    let Verdict::Create(run) = only(&asset_dag("a", NOW - 7)) else { panic!("a run") };
    assert_eq!((run.run_type, run.triggered_by), (RunType::AssetTriggered, TriggeredBy::Asset));
    assert_eq!((run.run_after, run.logical_date, run.data_interval), (at(NOW - 7), None, None));
}

#[test]
fn every_reason_can_be_read() {
    let due = scheduled_dag("a", NOW);
    let told = |dag: DagFacts<'_>| reason(&dag).to_string();
    assert_eq!(told(DagFacts { is_paused: true, ..due.clone() }), "the DAG is paused");
    assert_eq!(told(DagFacts { is_stale: true, ..due.clone() }), "the DAG is stale: its file is gone");
    assert_eq!(
        told(DagFacts { has_import_errors: true, ..due.clone() }),
        "the file of the DAG has import errors"
    );
    assert_eq!(
        told(DagFacts { active_runs: 16, ..due.clone() }),
        "16 runs are active, and max_active_runs is 16"
    );
    assert_eq!(
        told(DagFacts { allowed_run_types: Some(ONLY_ASSETS), ..due.clone() }),
        "the DAG does not allow runs of type scheduled"
    );
    assert_eq!(told(idle_dag("a")), "nothing asks for a run");
    assert_eq!(told(scheduled_dag("a", NOW + 1)), "the next run is due at 1970-01-12T13:46:41Z");
    assert_eq!(
        told(DagFacts { next_dagrun: None, ..due.clone() }),
        "the row of the DAG has no logical date for its next run; parse the DAG again"
    );
    assert_eq!(
        reason(&DagFacts { next_dagrun_data_interval: None, ..due }),
        NotCreated::Incomplete("data interval")
    );
}

#[test]
fn the_last_free_place_is_used_and_no_more() {
    let at_limit = |active_runs, max_active_runs| {
        let dag = DagFacts { active_runs, max_active_runs, ..scheduled_dag("a", NOW) };
        matches!(only(&dag), Verdict::Create(_))
    };
    assert!(at_limit(15, Some(16)));
    assert!(!at_limit(16, Some(16)));
    assert!(!at_limit(0, Some(0)));
    assert!(!at_limit(0, None));
    assert!(!at_limit(0, Some(-1)));
}

#[test]
fn backfills_count_for_assets_and_not_for_the_schedule() {
    let busy = |dag| DagFacts { active_runs: 1, active_backfill_runs: 15, ..dag };
    assert!(matches!(only(&busy(scheduled_dag("a", NOW))), Verdict::Create(_)));
    let full = NotCreated::AtMaxActiveRuns { active: 16, limit: 16 };
    assert_eq!(reason(&busy(asset_dag("a", NOW))), full);
    // Then it is the schedule's turn, if that is due too.
    let both = DagFacts { assets_triggered_at: Some(at(1)), ..busy(scheduled_dag("a", NOW)) };
    let Verdict::Create(run) = only(&both) else { panic!("a run") };
    assert_eq!(run.run_type, RunType::Scheduled);
}

#[test]
fn the_flag_counts_the_run_that_is_created() {
    let flag = |active_runs, due| {
        let dag = DagFacts { active_runs, max_active_runs: Some(2), ..scheduled_dag("a", due) };
        decide(&[dag], at(NOW), 1)[0].exceeds_max_non_backfill
    };
    assert!(!flag(0, NOW));
    assert!(flag(1, NOW));
    assert!(!flag(1, NOW + 1));
    assert!(flag(2, NOW));
    assert!(exceeds_max_non_backfill(0, None));
    assert!(exceeds_max_non_backfill(0, Some(-1)));
    assert!(!exceeds_max_non_backfill(0, Some(1)));
    assert!(exceeds_max_non_backfill(1, Some(1)));
}

#[test]
fn a_run_that_exists_moves_the_schedule_on_and_takes_no_place() {
    let exists =
        DagFacts { next_dagrun_exists: true, allowed_run_types: Some(ONLY_ASSETS), ..scheduled_dag("a", 1) };
    assert_eq!(only(&exists), Verdict::AdvanceOnly);
    let full = DagFacts { active_runs: 16, ..exists.clone() };
    assert!(matches!(reason(&full), NotCreated::AtMaxActiveRuns { .. }));
    assert_eq!(created(&[exists, scheduled_dag("b", NOW)], 1), ["b"]);
}

#[test]
fn who_got_a_run_for_a_partition_waits_for_the_next_pass() {
    let got_one = |dag| DagFacts { got_partition_run: true, ..dag };
    assert_eq!(only(&got_one(scheduled_dag("a", NOW))), Verdict::Postponed);
    assert_eq!(only(&got_one(asset_dag("a", NOW))), Verdict::Postponed);
    assert_eq!(reason(&got_one(idle_dag("a"))), NotCreated::NoNextRun);
}

#[test]
fn of_schedule_and_assets_who_waits_longer_is_first() {
    let kind = |dag: &DagFacts<'_>| match only(dag) {
        Verdict::Create(run) => run.run_type,
        other => panic!("{other:?}"),
    };
    let both =
        |due, triggered| DagFacts { assets_triggered_at: Some(at(triggered)), ..scheduled_dag("a", due) };
    assert_eq!(kind(&both(10, 11)), RunType::Scheduled);
    assert_eq!(kind(&both(11, 10)), RunType::AssetTriggered);
    assert_eq!(kind(&both(10, 10)), RunType::AssetTriggered);
    let caught_up = DagFacts { last_scheduled_at: Some(at(12)), ..both(10, 11) };
    assert_eq!(kind(&caught_up), RunType::AssetTriggered);
    let had_its_turn = DagFacts { last_asset_triggered_at: Some(at(13)), ..caught_up };
    assert_eq!(kind(&had_its_turn), RunType::Scheduled);
}

#[test]
fn schedules_and_assets_take_turns_by_age_and_name() {
    let dags = [
        scheduled_dag("s3", 30),
        asset_dag("a2", 25),
        scheduled_dag("s1", 10),
        asset_dag("a1", 20),
        scheduled_dag("s2", 30),
        scheduled_dag("late", NOW + 1),
    ];
    assert_eq!(created(&dags, 10), ["s1", "a1", "a2", "s2", "s3"]);
    assert_eq!(created(&dags, 3), ["s1", "a1", "a2"]);
    let decisions = decide(&dags, at(NOW), 3);
    let verdict = |place: usize| (decisions[place].dag_id, &decisions[place].verdict);
    assert_eq!(verdict(3), ("s2", &Verdict::Postponed));
    assert_eq!(verdict(4), ("s3", &Verdict::Postponed));
    assert_eq!(verdict(5), ("late", &Verdict::Refused(NotCreated::NotDueUntil(at(NOW + 1)))));
    let nothing: Vec<Decision<'_>> = decide(&[], at(NOW), 3);
    assert!(nothing.is_empty());
}

#[test]
fn runs_are_named_by_their_timetable_or_by_chance() {
    let Verdict::Create(scheduled) = only(&scheduled_dag("a", NOW)) else { panic!("a run") };
    let id = scheduled.run_id(&Timetable::Once, [0; 8]).unwrap();
    assert_eq!(id, "scheduled__1970-01-12T13:46:40+00:00");
    let Verdict::Create(triggered) = only(&asset_dag("a", NOW)) else { panic!("a run") };
    let id = triggered.run_id(&Timetable::Once, [0, 1, 26, 61, 62, 255, 52, 51]).unwrap();
    assert_eq!(id, "asset_triggered__1970-01-12T13:46:40+00:00_abA9ah0Z");
}
