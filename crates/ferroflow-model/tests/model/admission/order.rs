//! Who comes first.

use ferroflow_model::admission::{Admitted, Candidate, Turns, Waiting, admit};

use crate::admission::world::{World, at, backfill, candidate, due, in_pool, mapped, name, priority};

fn since(second: i64, candidate: Candidate) -> Candidate {
    Candidate { waiting_since: at(second), ..candidate }
}

#[test]
fn priority_then_when_it_was_due_then_how_long_it_waits_then_the_names() {
    let sorted = vec![
        priority(2, since(9, due(9, candidate("z/z/a")))),
        due(-1, since(9, candidate("z/z/b"))),
        since(1, candidate("z/z/c")),
        since(2, candidate("a/a/d")),
        since(2, candidate("a/b/e")),
        since(2, mapped("b/a/f", 0)),
        since(2, mapped("b/a/f", 1)),
        since(2, candidate("b/a/g")),
        priority(-5, candidate("a/a/h")),
    ];
    let mut world = World::new(&[("main", -1)], sorted);
    let expected = ["a", "b", "c", "d", "e", "f0", "f1", "g", "h"];
    assert_eq!(world.admitted(), expected);
    world.candidates.reverse();
    assert_eq!(world.admitted(), expected);
    world.tick.budget = 4;
    assert_eq!(world.admitted(), expected[..4]);
}

#[test]
fn who_waits_longer_of_a_lane_goes_before_a_smaller_map_index() {
    let world = World::new(&[("main", -1)], vec![since(5, mapped("d/r/t", 0)), since(3, mapped("d/r/t", 1))]);
    assert_eq!(world.admitted(), ["t1", "t0"]);
}

#[test]
fn lanes_are_woven_by_the_wait_of_each() {
    let one = |task: &str, index, second| since(second, mapped(&format!("d/r/{task}"), index));
    let candidates = vec![one("a", 0, 1), one("a", 1, 4), one("b", 0, 2), one("b", 1, 3), one("b", 2, 5)];
    let world = World::new(&[("main", -1)], candidates);
    assert_eq!(world.admitted(), ["a0", "b0", "b1", "a1", "b2"]);
}

#[test]
fn backfills_and_other_runs_take_turns_at_equal_priority() {
    let mut candidates: Vec<Candidate> =
        (0..4).map(|index| backfill(due(-1000, mapped("d/old/b", index)))).collect();
    candidates.extend((0..2).map(|index| mapped("d/new/n", index)));
    candidates.push(priority(2, backfill(candidate("d/old/high"))));
    let world = World::new(&[("main", -1)], candidates);
    assert_eq!(world.admitted(), ["high", "n0", "b0", "n1", "b1", "b2", "b3"]);
}

/// Admits one at a time, for so many calls; each ends before the next.
fn one_after_the_other(world: &World, calls: usize) -> Vec<String> {
    let mut waiting = world.waiting();
    (0..calls)
        .flat_map(|_| {
            let decision = admit(&waiting, &world.limits, &world.in_use(), world.tick);
            waiting.take_out_admitted(&decision.admitted);
            decision.admitted
        })
        .map(|admitted| name(&admitted.key))
        .collect()
}

#[test]
fn turns_go_on_from_call_to_call() {
    let mut candidates: Vec<Candidate> =
        (0..9).map(|index| backfill(due(-1000, mapped("d/old/b", index)))).collect();
    candidates.extend((0..2).map(|index| mapped("d/new/n", index)));
    let mut world = World::new(&[("main", 1)], candidates.clone());
    assert_eq!(one_after_the_other(&world, 5), ["n0", "b0", "n1", "b1", "b2"]);

    // The same if the budget is what only one gets.
    world = World::new(&[("main", -1)], candidates);
    world.tick.budget = 1;
    assert_eq!(one_after_the_other(&world, 5), ["n0", "b0", "n1", "b1", "b2"]);
}

#[test]
fn what_is_admitted_elsewhere_does_not_change_whose_turn_it_is_in_a_pool() {
    // With one turn for all pools, the free pool's admission would always leave it with the backfill.
    let mut candidates: Vec<Candidate> = (0..9).map(|index| backfill(mapped("d/old/b", index))).collect();
    candidates.extend((0..9).map(|index| due(1, mapped("d/new/n", index))));
    candidates.extend((0..9).map(|index| in_pool("busy", mapped("d/new/x", index))));
    let world = World::new(&[("main", 1), ("busy", 1)], candidates);
    let admitted = one_after_the_other(&world, 6);
    for letter in ["b", "n"] {
        let count = admitted.iter().filter(|name| name.starts_with(letter)).count();
        assert_eq!(count, 3, "{admitted:?}");
    }
}

#[test]
fn pools_share_the_budget_by_turns_too() {
    let mut candidates: Vec<Candidate> =
        (0..9).map(|index| backfill(due(-1000, mapped("d/old/b", index)))).collect();
    candidates.extend((0..9).map(|index| in_pool("own", mapped("d/new/n", index))));
    let mut world = World::new(&[("main", -1), ("own", -1)], candidates);
    world.tick.budget = 1;
    assert_eq!(one_after_the_other(&world, 4), ["n0", "b0", "n1", "b1"]);
}

#[test]
fn a_candidate_put_in_again_replaces_the_former_one() {
    let mut waiting = Waiting::default();
    let world = World::new(&[("main", -1), ("empty", 0)], vec![candidate("d/r/t")]);
    waiting.insert(in_pool("empty", candidate("d/r/t")));
    waiting.insert(candidate("d/r/t"));
    assert_eq!(waiting.len(), 1);
    let decision = admit(&waiting, &world.limits, &world.in_use(), world.tick);
    assert_eq!(decision.admitted.len(), 1);
    assert_eq!(decision.closed_pools, []);
    assert!(waiting.remove(&candidate("d/r/t").key));
    assert!(!waiting.remove(&candidate("d/r/t").key));
    assert!(waiting.is_empty());
}

#[test]
fn a_pool_that_nobody_waits_for_is_forgotten_with_its_turn() {
    let (new, old) = (candidate("d/r/new"), backfill(due(-1000, candidate("d/r/old"))));
    let world = World::new(&[("main", 1), ("other", 1)], vec![new.clone(), old.clone()]);
    let mut waiting = world.waiting();
    let next = |waiting: &Waiting| {
        let decision = admit(waiting, &world.limits, &world.in_use(), world.tick);
        (name(&decision.admitted[0].key), decision.admitted)
    };
    let (first, admitted) = next(&waiting);
    assert_eq!(first, "new");
    waiting.take_out_admitted(&admitted);
    waiting.insert(old.clone());
    waiting.insert(new.clone());
    assert_eq!(next(&waiting).0, "old");

    // The same, but in between both were in another pool.
    for pool in ["other", "main"] {
        waiting.insert(in_pool(pool, old.clone()));
        waiting.insert(in_pool(pool, new.clone()));
    }
    assert_eq!(next(&waiting).0, "new");
}

/// Who is admitted in each call of a scheduler that loads all anew each time, of a pool of one slot in which
/// each ends before the next call.
fn admitted_by_queues_built_anew(calls: usize, hands_on: bool) -> Vec<String> {
    let others = (0..100).map(|index| mapped("d/r/other", index));
    let backfills = (0..100).map(|index| backfill(due(1, mapped("d/b/backfill", index))));
    let mut world = World::new(&[("main", 1)], others.chain(backfills).collect());
    let mut turns = Turns::default();
    let mut names = Vec::new();
    for _ in 0..calls {
        let mut waiting = world.waiting().with_turns(turns.clone());
        let decision = admit(&waiting, &world.limits, &world.in_use(), world.tick);
        waiting.take_out_admitted(&decision.admitted);
        if hands_on {
            turns = waiting.turns();
        }
        let [admitted] = &decision.admitted[..] else {
            panic!("{:?}", decision.admitted);
        };
        names.push(name(&admitted.key));
        world.candidates.retain(|one| one.key != admitted.key);
    }
    names
}

#[test]
fn both_classes_have_their_turns_in_queues_that_are_built_anew_if_turns_are_handed_on() {
    assert_eq!(admitted_by_queues_built_anew(4, true), ["other0", "backfill0", "other1", "backfill1"]);
    assert_eq!(admitted_by_queues_built_anew(4, false), ["other0", "other1", "other2", "other3"]);
}

#[test]
fn turns_that_are_handed_on_say_nothing_of_pools_that_nobody_waits_for() {
    let mut waiting = World::new(&[], vec![candidate("d/r/a"), candidate("d/r/b")]).waiting();
    let admitted = |path| [Admitted { key: candidate(path).key, executor: 0 }];
    waiting.take_out_admitted(&admitted("d/r/a"));
    let turns = waiting.turns();
    assert_eq!(waiting.clone().with_turns(turns.clone()).turns(), turns);
    waiting.take_out_admitted(&admitted("d/r/b"));
    assert_ne!(waiting.turns(), turns);
    assert_eq!(Waiting::default().with_turns(turns).turns(), waiting.turns());
}
