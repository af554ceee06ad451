//! Who needs several slots gets them in the end.

use ferroflow_model::admission::{Candidate, Refusal};
use ferroflow_model::state::TaskState;
use jiff::SignedDuration;

use crate::admission::world::{
    World, at, backfill, candidate, due, executor, in_pool, mapped, priority, slots,
};

/// A pool of 4 of which 2 are open, one that wants 3, and small ones before and after it.
fn contested() -> World {
    let candidates = vec![due(1, slots(3, candidate("d/r/big"))), due(2, candidate("d/r/late"))];
    World::new(&[("main", 4), ("other", 4)], candidates)
        .holding(TaskState::Running, [slots(2, candidate("d/r/x"))])
}

#[test]
fn open_slots_are_kept_once_patience_has_run_out() {
    let mut world = contested();
    world.tick.now = at(59);
    assert_eq!(world.admitted(), ["late"]);
    world.tick.now = at(60);
    assert_eq!(world.admitted(), [""; 0]);
    assert_eq!(
        world.refusal(&world.candidates[1]).to_string(),
        "the 2 open slots of pool 'main' are kept for 'd.big' of run 'r', which needs 3"
    );
    let decision = world.decide();
    assert!(matches!(decision.refused[0].refusal, Refusal::TooFewSlots { .. }));
    assert_eq!((decision.closed_pools[0].waiting, &*decision.closed_pools[0].pool), (1, "main"));
    world.tick.patience = SignedDuration::from_secs(61);
    assert_eq!(world.admitted(), ["late"]);
}

#[test]
fn who_has_a_higher_priority_and_who_is_in_another_pool_still_goes() {
    let mut world = contested();
    world.tick.now = at(100);
    world.candidates.push(candidate("d/r/early"));
    world.candidates.push(backfill(candidate("d/r/backfill")));
    world.candidates.push(priority(0, candidate("d/r/low")));
    world.candidates.push(due(3, in_pool("other", candidate("d/r/elsewhere"))));
    world.candidates.push(due(9, priority(2, candidate("d/r/high"))));
    assert_eq!(world.admitted(), ["high", "elsewhere"]);
}

#[test]
fn it_is_admitted_when_it_fits_and_then_others_are() {
    let mut world = contested();
    world.tick.now = at(100);
    world.holders.clear();
    assert_eq!(world.admitted(), ["big", "late"]);
    // Also before those that were due earlier, as they would take what it needs.
    world.candidates.push(candidate("d/r/early"));
    assert_eq!(world.admitted(), ["big", "early"]);
}

#[test]
fn nothing_is_kept_for_who_could_not_run_anyway() {
    let blocked: [fn(&mut World); 6] = [
        |world| world.dag("b").is_paused = true,
        |world| world.dag("b").max_active_tasks = 0,
        |world| world.candidates[0].max_active_tis_per_dag = Some(0),
        |world| world.candidates[0].max_active_tis_per_dagrun = Some(0),
        |world| world.candidates[0].executor = Some("Gone".into()),
        |world| world.candidates[0].pool_slots = 5,
    ];
    for (number, block) in blocked.into_iter().enumerate() {
        let candidates = vec![due(1, slots(3, candidate("b/r/big"))), due(2, candidate("d/r/late"))];
        let mut world = World::new(&[("main", 4)], candidates)
            .holding(TaskState::Running, [slots(2, candidate("d/r/x"))]);
        world.tick.now = at(100);
        assert_eq!(world.admitted(), [""; 0], "{number}");
        block(&mut world);
        assert_eq!(world.admitted(), ["late"], "{number}");
    }
}

#[test]
fn slots_are_kept_for_the_first_only() {
    let mut world = contested();
    world.tick.now = at(100);
    world.candidates.insert(0, slots(4, candidate("d/r/bigger")));
    let Refusal::SlotsReserved { holder, wanted, open, .. } = world.refusal(&world.candidates[2]) else {
        panic!("{}", world.refusal(&world.candidates[2]));
    };
    assert_eq!((&*holder.task_id, wanted, open), ("bigger", 4, 2));
}

#[test]
fn the_one_of_a_lane_that_waits_longest_decides() {
    let waits = |index, second| Candidate { waiting_since: at(second), ..slots(3, mapped("d/r/big", index)) };
    let mut world = contested();
    world.tick.now = at(100);
    world.candidates = vec![waits(0, 90), waits(1, 10), due(2, candidate("d/r/late"))];
    assert_eq!(world.admitted(), [""; 0]);
    world.candidates[1].waiting_since = at(80);
    assert_eq!(world.admitted(), ["late"]);
}

#[test]
fn a_backfill_that_waits_has_slots_kept_from_other_runs() {
    let mut world = contested();
    world.tick.now = at(100);
    world.candidates[0] = backfill(world.candidates[0].clone());
    // Although it is the other runs' turn.
    assert_eq!(world.admitted(), [""; 0]);
    world.tick.patience = SignedDuration::MAX;
    assert_eq!(world.admitted(), ["late"]);
}

#[test]
fn without_patience_nothing_is_kept() {
    let mut world = contested();
    world.tick.now = at(100);
    for patience in [SignedDuration::ZERO, SignedDuration::MIN] {
        world.tick.patience = patience;
        assert_eq!(world.admitted(), ["late"]);
    }
}

#[test]
fn a_pool_without_end_keeps_its_order() {
    let mut world = contested();
    world.tick.now = at(100);
    world.pool("main").slots = -1;
    world.candidates.push(candidate("d/r/early"));
    assert_eq!(world.admitted(), ["early", "big", "late"]);
}

#[test]
fn who_lost_something_else_to_another_pool_keeps_nothing() {
    // Those that go first fill the run of the big one, or its executor, before it is looked at.
    let blocked: [fn(&mut World); 2] =
        [|world| world.dag("b").max_active_tasks = 1, |world| world.limits.executors.list[1].slots = 1];
    for (number, block) in blocked.into_iter().enumerate() {
        for weight in [1, 2] {
            let named = |one| Candidate { executor: Some("Small".into()), ..one };
            let before = named(priority(weight, in_pool("other", candidate("b/r/before"))));
            let big = named(due(1, slots(3, candidate("b/r/big"))));
            let mut world =
                World::new(&[("main", 4), ("other", 4)], vec![before, big, due(2, candidate("d/r/late"))])
                    .holding(TaskState::Running, [slots(2, candidate("d/r/x"))]);
            world.limits.executors.list.push(executor("Small", 100));
            world.tick.now = at(100);
            assert_eq!(world.admitted(), ["before"], "{number}");
            block(&mut world);
            assert_eq!(world.admitted(), ["before", "late"], "{number}");
        }
    }
}

#[test]
fn lanes_of_a_run_that_one_of_them_went_ahead_of_are_all_seen() {
    let run = ["a", "c", "e"].map(|task| due(1, candidate(&format!("d/r/{task}"))));
    let others = ["b", "d"].map(|task| due(1, slots(2, candidate(&format!("d/r/{task}")))));
    let mut world = World::new(&[("main", 7)], [run.to_vec(), others.to_vec()].concat());
    world.tick.now = at(100);
    assert_eq!(world.admitted(), ["b", "a", "c", "d", "e"]);
    world.dag("d").max_active_tasks = 1;
    let decision = world.decide();
    assert_eq!(decision.refused.iter().map(|refused| refused.waiting).collect::<Vec<_>>(), [4]);
}

#[test]
fn who_was_refused_with_its_run_is_not_looked_at_again() {
    let run = [priority(2, candidate("d/r/high")), priority(2, candidate("d/r/next"))];
    let rest = [due(1, slots(3, candidate("d/r/big"))), due(2, candidate("e/r/late"))];
    let mut world = World::new(&[("main", 8)], [run, rest].concat());
    world.dag("d").max_active_tasks = 1;
    world.tick.now = at(100);
    assert_eq!(world.admitted(), ["high", "late"]);
    assert_eq!(world.decide().refused.iter().map(|refused| refused.waiting).collect::<Vec<_>>(), [2]);
}
