//! Many calls: task instances come, are admitted, and end.

use std::collections::BTreeMap;

use ferroflow_model::admission::{Candidate, InUse, InstanceKey, Tick, Waiting, admit};
use ferroflow_model::state::TaskState;
use jiff::SignedDuration;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::admission::reference::{self, Turns};
use crate::admission::world::{World, at, candidate, mapped, slots};

const SECONDS_PER_CALL: i64 = 10;

/// The scheduler's view of a world in which time passes. What it keeps is told of every change, and compared
/// with the same made anew.
struct Passing {
    world: World,
    waiting: Waiting,
    in_use: InUse,
    turns: Turns,
    /// Who runs, and until which call.
    running: BTreeMap<InstanceKey, (Candidate, usize)>,
    call: usize,
}

impl Passing {
    fn new(world: World) -> Self {
        let (waiting, in_use) = (world.waiting(), world.in_use());
        Self { world, waiting, in_use, turns: Turns::default(), running: BTreeMap::new(), call: 0 }
    }

    fn arrive(&mut self, candidate: Candidate) {
        self.waiting.insert(candidate.clone());
        self.world.candidates.push(candidate);
    }

    /// A call: who has ended makes room, and who fits begins. Each runs for as many calls as `length` says.
    fn pass(&mut self, length: impl Fn(&Candidate) -> usize) -> Vec<InstanceKey> {
        let call = self.call;
        for (_, (ended, _)) in self.running.extract_if(.., |_, (_, until)| *until <= call) {
            self.in_use.set(&ended.key, &ended.pool, ended.pool_slots, None);
            self.world.holders.retain(|(holder, _)| holder.key != ended.key);
        }
        self.world.tick.now = at(i64::try_from(call).unwrap() * SECONDS_PER_CALL);
        assert_eq!(self.in_use, self.world.in_use());
        let decision = admit(&self.waiting, &self.world.limits, &self.in_use, self.world.tick);
        assert_eq!(decision.admitted, reference::admitted(&self.world, &mut self.turns));
        self.waiting.take_out_admitted(&decision.admitted);
        let keys: Vec<InstanceKey> = decision.admitted.into_iter().map(|admitted| admitted.key).collect();
        for key in &keys {
            let begun = self.world.find(key).clone();
            self.world.candidates.retain(|one| one.key != *key);
            let until = call + length(&begun);
            self.begin(begun, until);
        }
        self.call += 1;
        keys
    }

    fn begin(&mut self, begun: Candidate, until: usize) {
        self.in_use.set(&begun.key, &begun.pool, begun.pool_slots, Some(TaskState::Queued));
        self.world.holders.push((begun.clone(), TaskState::Queued));
        self.running.insert(begun.key.clone(), (begun, until));
    }
}

#[derive(Clone, Debug)]
struct Arrival {
    call: usize,
    is_backfill: bool,
    priority: i64,
    pool: &'static str,
    slots: i32,
    per_dag: Option<i32>,
    length: usize,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let limit = prop_oneof![3 => Just(None), 1 => (1..3).prop_map(Some)];
    let arrival = (
        (0..40_usize, any::<bool>(), 0..2_i64, 1..4_usize),
        (prop_oneof![Just("main"), Just("other")], prop_oneof![4 => Just(1), 1 => 2..=4], limit),
    );
    vec(
        arrival.prop_map(|((call, is_backfill, priority, length), (pool, slots, per_dag))| Arrival {
            call,
            is_backfill,
            priority,
            pool,
            slots,
            per_dag,
            length,
        }),
        1..60,
    )
}

#[test]
fn everybody_who_can_run_does_in_the_end() {
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&(arrivals(), 1..6_usize), |(arrivals, budget)| {
            run_to_the_end(&arrivals, budget);
            Ok(())
        })
        .unwrap();
}

fn run_to_the_end(arrivals: &[Arrival], budget: usize) {
    let known =
        arrivals.iter().enumerate().map(|(number, _)| candidate(&format!("d{}/r/t", number % 3))).collect();
    let mut world = World::new(&[("main", 4), ("other", 5)], known);
    world.candidates.clear();
    world.tick = Tick { budget, ..world.tick };
    let mut passing = Passing::new(world);
    // If only one ran at a time, it would take so many calls; patience and the last arrival come on top.
    let bound = 40 + 7 + arrivals.iter().map(|arrival| arrival.length).sum::<usize>() + arrivals.len();
    let mut admitted = 0;
    for call in 0..bound {
        for (number, arrival) in arrivals.iter().enumerate().filter(|(_, arrival)| arrival.call == call) {
            let second = i64::try_from(call).unwrap() * SECONDS_PER_CALL;
            passing.arrive(Candidate {
                is_backfill: arrival.is_backfill,
                priority_weight: arrival.priority,
                pool: arrival.pool.into(),
                max_active_tis_per_dag: arrival.per_dag,
                run_after: at(second),
                waiting_since: at(second),
                ..slots(
                    arrival.slots,
                    mapped(&format!("d{}/r/t", number % 3), i32::try_from(number).unwrap()),
                )
            });
        }
        let length = |one: &Candidate| arrivals[usize::try_from(one.key.map_index).unwrap()].length;
        admitted += passing.pass(length).len();
    }
    assert_eq!(admitted, arrivals.len(), "within {bound} calls");
    assert!(passing.waiting.is_empty());
}

/// Small ones come as fast as slots become open, and one that needs them all waits. After how many calls does
/// it run, if one slot becomes open after each `every` of them?
fn calls_until_the_big_one_runs(patience: SignedDuration, every: usize) -> Option<usize> {
    let big = slots(4, candidate("d/r/big"));
    let mut world = World::new(&[("main", 4)], vec![big.clone()]);
    world.tick.patience = patience;
    let mut passing = Passing::new(world);
    // At no time does more than one slot become open.
    (0..4).for_each(|number| {
        passing.begin(mapped("d/r/first", number), usize::try_from(number).unwrap() * every);
    });
    for call in 0..100 * every {
        let number = i32::try_from(call).unwrap();
        let second = i64::from(number) * SECONDS_PER_CALL;
        if call % every == 0 {
            let small = mapped("d/r/small", number);
            passing.arrive(Candidate { run_after: at(second), waiting_since: at(second), ..small });
        }
        if passing.pass(|_| 4 * every).contains(&big.key) {
            return Some(call);
        }
    }
    None
}

#[test]
fn who_needs_all_slots_runs_soon_after_its_patience_ends() {
    let (patience, length) = (6, 4);
    let calls = calls_until_the_big_one_runs(SignedDuration::from_secs(60), 1).unwrap();
    assert!((patience..=patience + length + 1).contains(&calls), "{calls}");
    // Without that it would never run.
    assert_eq!(calls_until_the_big_one_runs(SignedDuration::MAX, 1), None);
}

#[test]
fn in_the_end_slots_are_kept_for_longer_than_any_task_runs() {
    // Each runs for twenty minutes. The first time that slots are kept for longer than that, it is from
    // the 37th minute to the 69th.
    let calls = calls_until_the_big_one_runs(SignedDuration::from_secs(60), 30).unwrap();
    assert!((37 * 6..69 * 6).contains(&calls), "{calls}");
}
