//! What holds for creating runs, whatever the rows.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_model::runs::create::{DagFacts, Verdict, decide};
use ferroflow_model::state::RunType;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::runs::given::{NOW, at, idle_dag, scheduled_dag};

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

fn facts(dag_id: &'static str) -> impl Strategy<Value = DagFacts<'static>> {
    let flags = (0..20_u8, 0..8_u8, any::<bool>(), 0..10_u8);
    let limits = (proptest::option::weighted(0.9, -1..4), 0..4_u32, 0..3_u32);
    let times = (
        proptest::option::weighted(0.8, NOW - 5..NOW + 2),
        proptest::option::of(NOW - 5..NOW + 1),
        proptest::option::of(NOW - 5..NOW),
        proptest::option::of(NOW - 5..NOW),
    );
    (flags, limits, times).prop_map(move |(flags, limits, times)| {
        let (closed, exists, partitioned, kinds) = flags;
        let base = times.0.map_or_else(|| idle_dag(dag_id), |due| scheduled_dag(dag_id, due));
        let base = if partitioned {
            let partition_key = (exists != 1).then_some("key");
            DagFacts {
                timetable_partitioned: true,
                next_dagrun_partition_key: partition_key,
                next_dagrun: None,
                ..base
            }
        } else {
            base
        };
        DagFacts {
            is_paused: closed == 1,
            is_stale: closed == 2,
            has_import_errors: closed == 3,
            got_partition_run: closed == 4,
            next_dagrun_exists: exists == 0,
            allowed_run_types: (kinds == 0).then_some(&[RunType::AssetTriggered]),
            max_active_runs: limits.0,
            active_runs: limits.1,
            active_backfill_runs: limits.2,
            assets_triggered_at: times.1.map(at),
            last_scheduled_at: times.2.map(at),
            last_asset_triggered_at: times.3.map(at),
            ..base
        }
    })
}

fn rows() -> impl Strategy<Value = Vec<DagFacts<'static>>> {
    NAMES.map(facts).prop_shuffle().prop_map(Vec::from)
}

/// Whether the schedule could give this DAG a run: a list of everything that must hold.
fn schedule_could(dag: &DagFacts<'_>) -> bool {
    let open = !(dag.is_paused || dag.is_stale || dag.has_import_errors);
    let due = dag.next_dagrun_create_after.is_some_and(|due| due <= at(NOW));
    let room = i64::from(dag.active_runs) < i64::from(dag.max_active_runs.unwrap_or(0));
    let complete = if dag.timetable_partitioned {
        dag.next_dagrun_partition_key.is_some()
    } else {
        dag.next_dagrun.is_some()
    };
    open && due && room && complete
}

/// Whether that run is there already.
fn exists(dag: &DagFacts<'_>) -> bool {
    dag.next_dagrun_exists && dag.next_dagrun.is_some()
}

fn assets_could(dag: &DagFacts<'_>) -> bool {
    let open = !(dag.is_paused || dag.is_stale || dag.has_import_errors);
    let active = i64::from(dag.active_runs) + i64::from(dag.active_backfill_runs);
    open && dag.assets_triggered_at.is_some() && active < i64::from(dag.max_active_runs.unwrap_or(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn every_dag_is_answered_and_none_that_could_have_a_run_is_refused(
        dags in rows(), limit in 0..14_usize,
    ) {
        let facts: BTreeMap<&str, &DagFacts<'_>> = dags.iter().map(|dag| (dag.dag_id, dag)).collect();
        let decisions = decide(&dags, at(NOW), limit);
        let answered: BTreeSet<&str> = decisions.iter().map(|decision| decision.dag_id).collect();
        prop_assert_eq!((answered.len(), decisions.len()), (dags.len(), dags.len()));
        let (mut created, mut postponed) = (0, 0);
        for decision in &decisions {
            let dag = facts[decision.dag_id];
            let forbidden = dag.allowed_run_types.is_some();
            let by_schedule = schedule_could(dag) && !exists(dag) && !forbidden;
            let advances = schedule_could(dag) && exists(dag);
            match &decision.verdict {
                Verdict::Create(run) if run.run_type == RunType::Scheduled => prop_assert!(by_schedule),
                Verdict::Create(_) => prop_assert!(assets_could(dag)),
                Verdict::AdvanceOnly => prop_assert!(advances),
                Verdict::Postponed => prop_assert!(by_schedule || advances || assets_could(dag)),
                Verdict::Refused(reason) => {
                    prop_assert!(!by_schedule && !advances && !assets_could(dag), "{reason}");
                }
            }
            created += usize::from(matches!(decision.verdict, Verdict::Create(_)));
            postponed += usize::from(decision.verdict == Verdict::Postponed && !dag.got_partition_run);
            let active = dag.active_runs + u32::from(matches!(decision.verdict, Verdict::Create(_)));
            let exceeds = i64::from(active) >= i64::from(dag.max_active_runs.unwrap_or(0));
            prop_assert_eq!(decision.exceeds_max_non_backfill, exceeds);
        }
        prop_assert!(created <= limit);
        prop_assert!(created == limit || postponed == 0, "{created} of {limit}, and {postponed} postponed");
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter(
        (dags, shuffled) in rows().prop_flat_map(|dags| (Just(dags.clone()), Just(dags).prop_shuffle())),
        limit in 0..14_usize,
    ) {
        prop_assert_eq!(decide(&dags, at(NOW), limit), decide(&shuffled, at(NOW), limit));
    }

    #[test]
    fn each_kind_gets_half_of_a_pass_or_all_that_it_wants(
        due in vec(NOW - 100..NOW, 0..12), triggered in vec(NOW - 100..NOW, 0..12), limit in 1..14_usize,
    ) {
        let (schedules, assets) = (due.len(), triggered.len());
        let names: Vec<String> = (0..24).map(|number| format!("d{number}")).collect();
        let scheduled = due.iter().zip(&names).map(|(due, name)| scheduled_dag(name, *due));
        let by_assets = triggered.iter().zip(&names[12..]);
        let by_assets = by_assets.map(|(at, name)| crate::runs::given::asset_dag(name, *at));
        let dags: Vec<DagFacts<'_>> = scheduled.chain(by_assets).collect();
        let decisions = decide(&dags, at(NOW), limit);
        let count = |kind: RunType| decisions.iter().filter(|decision| {
            matches!(&decision.verdict, Verdict::Create(run) if run.run_type == kind)
        }).count();
        prop_assert!(count(RunType::Scheduled) >= schedules.min(limit / 2));
        prop_assert!(count(RunType::AssetTriggered) >= assets.min(limit / 2));
        // Even a limit of one goes to whoever waits longest.
        let oldest = due.iter().chain(&triggered).min();
        if let (Some(oldest), Some(first)) = (oldest, decisions.first()) {
            let Verdict::Create(run) = &first.verdict else { panic!("{first:?}") };
            prop_assert_eq!(run.run_after, at(*oldest));
        }
    }
}
