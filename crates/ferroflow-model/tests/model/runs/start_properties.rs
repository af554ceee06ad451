//! What holds for starting runs, whatever the rows.

use std::collections::BTreeMap;

use ferroflow_model::runs::start::{BackfillFacts, DagFacts, QueuedRun, Running, Snapshot, Verdict, decide};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::runs::given::{NOW, at, open_backfill, open_dag, queued_run};

const DAGS: [&str; 5] = ["a", "b", "c", "d", "missing"];

#[derive(Clone, Debug)]
struct Rows {
    names: Vec<String>,
    queued: Vec<(usize, Option<i32>, i32, i64, bool)>,
    dags: Vec<DagFacts<'static>>,
    backfills: Vec<BackfillFacts>,
    running: Vec<Running<'static>>,
}

impl Rows {
    fn runs(&self) -> Vec<QueuedRun<'_>> {
        let runs = self.queued.iter().zip(&self.names);
        let runs = runs.map(|((dag, backfill_id, ordinal, run_after, has_definition), name)| QueuedRun {
            backfill_id: *backfill_id,
            sort_ordinal: backfill_id.map(|_| *ordinal),
            has_definition: *has_definition,
            ..queued_run(DAGS[*dag], name, *run_after)
        });
        runs.collect()
    }

    fn snapshot<'a>(&'a self, queued: &'a [QueuedRun<'a>]) -> Snapshot<'a> {
        Snapshot { queued, dags: &self.dags, backfills: &self.backfills, running: &self.running }
    }

    /// How many places a queue has, and whether its runs may start at all: read off the rows one by one.
    fn places(&self, dag_id: &str, backfill_id: Option<i32>) -> i64 {
        let Some(dag) = self.dags.iter().find(|dag| dag.dag_id == dag_id) else { return 0 };
        let limit = match backfill_id {
            None => dag.max_active_runs.unwrap_or(0),
            Some(id) => match self.backfills.iter().find(|backfill| backfill.id == id) {
                Some(backfill) if !backfill.is_paused => backfill.max_active_runs,
                _ => 0,
            },
        };
        let running = self.running.iter();
        let running = running.filter(|run| run.dag_id == dag_id && run.backfill_id == backfill_id);
        let running: i64 = running.map(|run| i64::from(run.count)).sum();
        if dag.is_paused || dag.is_stale { 0 } else { (i64::from(limit) - running).max(0) }
    }
}

fn rows() -> impl Strategy<Value = Rows> {
    let backfill = || proptest::option::of(1..5);
    let ready = prop::bool::weighted(0.9);
    let queued = vec((0..5_usize, backfill(), 1..4, NOW - 6..NOW + 2, ready), 0..30);
    let dags = vec((0..12_u8, proptest::option::weighted(0.9, -1..6)), 4);
    let backfills = vec((0..6_u8, -1..5), 3);
    let running = vec((0..5_usize, backfill(), 0..3_u32, proptest::option::of(NOW - 9..NOW)), 0..8);
    (queued, dags, backfills, running).prop_map(|(queued, dags, backfills, running)| Rows {
        names: (0..queued.len()).map(|number| format!("r{number}")).collect(),
        queued,
        dags: dags
            .iter()
            .zip(DAGS)
            .map(|((closed, limit), dag_id)| DagFacts {
                is_paused: *closed == 0,
                is_stale: *closed == 1,
                max_active_runs: *limit,
                ..open_dag(dag_id, 0)
            })
            .collect(),
        backfills: backfills
            .iter()
            .zip(1..)
            .map(|((closed, limit), id)| BackfillFacts {
                is_paused: *closed < 2,
                is_completed: *closed % 2 == 0,
                ..open_backfill(id, *limit)
            })
            .collect(),
        running: running
            .iter()
            .map(|(dag, backfill_id, count, last_started)| Running {
                dag_id: DAGS[*dag],
                backfill_id: *backfill_id,
                count: *count,
                last_started: last_started.map(at),
            })
            .collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn limits_hold_and_no_place_stays_free_while_a_run_waits_for_it(rows in rows(), limit in 0..20_usize) {
        let queued = rows.runs();
        let decisions = decide(&rows.snapshot(&queued), at(NOW), limit);
        prop_assert_eq!(decisions.len(), queued.len());
        let verdicts: BTreeMap<&str, Verdict> =
            decisions.iter().map(|decision| (decision.run_id, decision.verdict)).collect();
        let mut queues: BTreeMap<(Option<i32>, &str), Vec<&QueuedRun<'_>>> = BTreeMap::new();
        for run in &queued {
            queues.entry((run.backfill_id, run.dag_id)).or_default().push(run);
        }
        let (mut started, mut startable) = (0, 0);
        for ((backfill_id, dag_id), mut runs) in queues {
            runs.retain(|run| run.run_after <= at(NOW) && run.has_definition);
            runs.sort_by_key(|run| (run.sort_ordinal, run.run_after, run.run_id));
            let places = usize::try_from(rows.places(dag_id, backfill_id)).unwrap();
            for (place, run) in runs.iter().enumerate() {
                let verdict = verdicts[run.run_id];
                let may_start = place < places;
                prop_assert_eq!(may_start, !matches!(verdict, Verdict::Refused(_)), "{:?}", run);
                startable += usize::from(may_start);
            }
            // Of a queue, none starts while one before it is postponed.
            let order: Vec<Verdict> = runs.iter().map(|run| verdicts[run.run_id]).collect();
            let started_here = order.iter().take_while(|verdict| **verdict == Verdict::Start).count();
            prop_assert!(order[started_here..].iter().all(|verdict| *verdict != Verdict::Start));
            started += started_here;
        }
        let total = decisions.iter().filter(|decision| decision.verdict == Verdict::Start).count();
        prop_assert_eq!(total, started);
        prop_assert_eq!(started, startable.min(limit));
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter(
        (rows, order) in rows().prop_flat_map(|rows| {
            let order: Vec<usize> = (0..rows.queued.len()).collect();
            (Just(rows), Just(order).prop_shuffle())
        }),
        limit in 0..20_usize,
    ) {
        let queued = rows.runs();
        let shuffled: Vec<QueuedRun<'_>> = order.iter().map(|place| queued[*place]).collect();
        let mut turned = rows.clone();
        turned.dags.reverse();
        turned.backfills.reverse();
        turned.running.reverse();
        let one = decide(&rows.snapshot(&queued), at(NOW), limit);
        prop_assert_eq!(&one, &decide(&turned.snapshot(&shuffled), at(NOW), limit));
        prop_assert_eq!(&one, &decide(&rows.snapshot(&queued), at(NOW), limit));
    }

    #[test]
    fn every_queue_with_a_free_place_has_a_run_among_the_first(
        lengths in vec((any::<bool>(), 1..9_usize, 1..9), 1..9), limit in 1..30_usize,
    ) {
        let names: Vec<String> = (0..90).map(|number| format!("r{number:02}")).collect();
        let dag_ids: Vec<String> = (0..9).map(|number| format!("d{number}")).collect();
        let mut queued = Vec::new();
        for (queue, (is_backfill, length, _)) in lengths.iter().enumerate() {
            for run in 0..*length {
                let backfill_id = is_backfill.then(|| i32::try_from(queue).unwrap());
                // The longer the queue, the older its runs: by age alone they would be first.
                let run = queued_run(&dag_ids[queue], &names[queue * 9 + run], i64::try_from(run).unwrap());
                queued.push(QueuedRun { backfill_id, sort_ordinal: Some(1), ..run });
            }
        }
        let limits = || lengths.iter().zip(0..).map(|((.., places), queue)| (queue, *places));
        let dags = dag_ids.iter().zip(limits()).map(|(dag_id, (_, places))| open_dag(dag_id, places));
        let dags: Vec<DagFacts<'_>> = dags.collect();
        let backfills: Vec<BackfillFacts> = limits().map(|(id, places)| open_backfill(id, places)).collect();
        let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &[] };
        let decisions = decide(&snapshot, at(NOW), limit);
        for kind in [true, false] {
            let of_kind = lengths.iter().zip(&dag_ids).filter(|((is_backfill, ..), _)| *is_backfill == kind);
            let dags_of_kind: Vec<&str> = of_kind.map(|(_, dag_id)| dag_id.as_str()).collect();
            let started = decisions.iter().filter(|decision| decision.verdict == Verdict::Start);
            let mut served: Vec<&str> = started.map(|decision| decision.dag_id).collect();
            served.retain(|dag_id| dags_of_kind.contains(dag_id));
            served.sort_unstable();
            served.dedup();
            prop_assert!(served.len() >= dags_of_kind.len().min(limit / 2), "{decisions:?}");
        }
    }
}
