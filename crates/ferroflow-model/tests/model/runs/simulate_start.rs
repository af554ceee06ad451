//! Many passes of starting runs: limits hold, nobody waits for ever, and everything starts in the end.

use std::collections::BTreeMap;

use ferroflow_model::runs::start::{BackfillFacts, DagFacts, QueuedRun, Running, Snapshot, Verdict, decide};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::runs::given::{at, open_backfill, open_dag, queued_run};

const BEGIN: i64 = 1_000_000;

/// A queue: whether it is a backfill's, how many run at once, for how many passes, and how many arrive in
/// each pass for how long.
#[derive(Clone, Debug)]
struct Queue {
    is_backfill: bool,
    places: i32,
    run_length: i64,
    first: usize,
    /// Every so many passes one more arrives, with a time long ago.
    arrives_every: Option<i64>,
}

fn queue() -> impl Strategy<Value = Queue> {
    let arrives = proptest::option::of(1..4_i64);
    (any::<bool>(), 1..5_i32, 0..5_i64, 0..25_usize, arrives).prop_map(
        |(is_backfill, places, run_length, first, arrives_every)| Queue {
            is_backfill,
            places,
            run_length,
            first,
            arrives_every,
        },
    )
}

struct World {
    queues: Vec<Queue>,
    dag_ids: Vec<String>,
    run_ids: Vec<String>,
    /// Of each queue: the numbers of the runs that wait, when those that run end, and when the last started.
    waiting: Vec<Vec<i32>>,
    ends: Vec<Vec<i64>>,
    last_started: Vec<Option<i64>>,
    postponed_in_a_row: Vec<usize>,
}

impl World {
    fn new(queues: Vec<Queue>) -> Self {
        let count = queues.len();
        Self {
            run_ids: (0..200).map(|number| format!("{number:03}")).collect(),
            dag_ids: (0..count).map(|queue| format!("d{queue}")).collect(),
            waiting: queues.iter().map(|queue| (0..).take(queue.first).collect()).collect(),
            ends: vec![Vec::new(); count],
            last_started: vec![None; count],
            postponed_in_a_row: vec![0; count],
            queues,
        }
    }

    fn backfill_id(&self, queue: usize) -> Option<i32> {
        self.queues[queue].is_backfill.then(|| i32::try_from(queue).unwrap())
    }

    /// One pass; `arriving` says whether new runs still come. Returns how many started.
    fn pass(&mut self, now: i64, limit: usize, arriving: bool) -> usize {
        for (place, queue) in self.queues.iter().enumerate() {
            self.ends[place].retain(|end| *end > now);
            if arriving && queue.arrives_every.is_some_and(|every| now % every == 0) {
                self.waiting[place].push(i32::try_from(now - BEGIN).unwrap() + 100);
            }
        }
        let started = self.started(now, limit);
        let total = started.values().map(Vec::len).sum();
        for (queue, runs) in started {
            self.waiting[queue].retain(|run| !runs.contains(run));
            let end = now + self.queues[queue].run_length;
            self.ends[queue].extend(runs.iter().map(|_| end));
            self.last_started[queue] = Some(now);
            assert!(self.ends[queue].len() <= usize::try_from(self.queues[queue].places).unwrap());
        }
        total
    }

    /// Asks which runs start, and counts for how long the first of each queue was postponed.
    fn started(&mut self, now: i64, limit: usize) -> BTreeMap<usize, Vec<i32>> {
        let mut queued = Vec::new();
        for (queue, runs) in self.waiting.iter().enumerate() {
            // The later the queue, the older its runs.
            let age = 1000 * i64::try_from(queue).unwrap();
            queued.extend(runs.iter().map(|run| {
                let run_id = &self.run_ids[usize::try_from(*run).unwrap()];
                let run_after = i64::from(*run) - age;
                let (backfill_id, sort_ordinal) = (self.backfill_id(queue), Some(*run));
                QueuedRun { backfill_id, sort_ordinal, ..queued_run(&self.dag_ids[queue], run_id, run_after) }
            }));
        }
        let dags: Vec<DagFacts<'_>> =
            self.dag_ids.iter().zip(&self.queues).map(|(id, queue)| open_dag(id, queue.places)).collect();
        let backfills: Vec<BackfillFacts> =
            self.queues.iter().zip(0..).map(|(queue, id)| open_backfill(id, queue.places)).collect();
        let running: Vec<Running<'_>> = self
            .dag_ids
            .iter()
            .enumerate()
            .map(|(queue, dag_id)| Running {
                dag_id,
                backfill_id: self.backfill_id(queue),
                count: u32::try_from(self.ends[queue].len()).unwrap(),
                last_started: self.last_started[queue].map(at),
            })
            .collect();
        let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &running };
        let mut started: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
        let mut is_postponed = vec![false; self.queues.len()];
        for decision in decide(&snapshot, at(now), limit) {
            let queue: usize = decision.dag_id[1..].parse().unwrap();
            match decision.verdict {
                Verdict::Start => started.entry(queue).or_default().push(decision.run_id.parse().unwrap()),
                Verdict::Postponed => is_postponed[queue] = true,
                Verdict::Refused(_) => {}
            }
        }
        for (queue, waits) in is_postponed.into_iter().enumerate() {
            let waits = waits && !started.contains_key(&queue);
            self.postponed_in_a_row[queue] = if waits { self.postponed_in_a_row[queue] + 1 } else { 0 };
        }
        started
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_queue_gets_its_turn_and_every_run_starts(queues in vec(queue(), 1..9), limit in 1..6_usize) {
        let mut world = World::new(queues);
        let most = world.queues.len() / (limit / 2).max(1) + 1;
        for now in BEGIN..BEGIN + 80 {
            world.pass(now, limit, true);
            let longest = world.postponed_in_a_row.iter().max().copied().unwrap_or_default();
            prop_assert!(longest <= most, "{longest} passes, at most {most} are right");
        }
        let mut now = BEGIN + 80;
        while world.waiting.iter().any(|waiting| !waiting.is_empty()) {
            // Whoever waits can start, or waits for one that runs.
            let busy = world.ends.iter().flatten().any(|end| *end > now);
            prop_assert!(world.pass(now, limit, false) > 0 || busy);
            now += 1;
        }
    }
}
