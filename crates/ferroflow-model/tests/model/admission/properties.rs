//! What holds in every world.

use std::cell::Cell;
use std::collections::BTreeSet;

use ferroflow_model::admission::{Candidate, Decision, InUse, InstanceKey, Verdict, Waiting, admit};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::admission::brute_force::{Fit, fit};
use crate::admission::generate::world;
use crate::admission::reference::{self, Turns};
use crate::admission::world::World;

const CASES: u32 = 600;

fn for_every_world(check: impl Fn(World)) {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&world(), |world| {
            check(world);
            Ok(())
        })
        .unwrap();
}

#[test]
fn no_limit_is_exceeded_and_nobody_is_admitted_twice() {
    let admitted_in_all = Cell::new(0);
    for_every_world(|world| {
        let admitted = world.decide().admitted;
        // Whoever is admitted fits next to all that were before.
        for (place, one) in admitted.iter().enumerate() {
            assert_eq!(
                fit(&world, &admitted[..place], world.find(&one.key)),
                Fit::Fits(one.executor),
                "{one:?}"
            );
        }
        let keys: BTreeSet<&InstanceKey> = admitted.iter().map(|one| &one.key).collect();
        assert_eq!(keys.len(), admitted.len());
        let occupied: i64 = world.limits.executors.list.iter().map(|one| one.occupied).sum();
        let admitted_count = i64::try_from(admitted.len()).unwrap();
        assert!(admitted.len() <= world.tick.budget);
        assert!(admitted.is_empty() || occupied + admitted_count <= world.limits.executors.parallelism);
        admitted_in_all.set(admitted_in_all.get() + admitted.len());
    });
    let (admitted, cases) = (admitted_in_all.get(), usize::try_from(CASES).unwrap());
    assert!(admitted > cases / 2, "{admitted} were admitted in {cases} worlds");
}

#[test]
fn who_fits_is_admitted_unless_the_budget_is_used_up_or_the_slots_are_kept() {
    let kept = Cell::new(0);
    let check = |world: World| {
        let decision = world.decide();
        let used_up = decision.admitted.len() == world.tick.budget || {
            let occupied: i64 = world.limits.executors.list.iter().map(|one| one.occupied).sum();
            occupied + i64::try_from(decision.admitted.len()).unwrap() >= world.limits.executors.parallelism
        };
        for one in &world.candidates {
            let is_admitted = decision.admitted.iter().any(|admitted| admitted.key == one.key);
            if is_admitted || used_up || !matches!(fit(&world, &decision.admitted, one), Fit::Fits(_)) {
                continue;
            }
            let holder = reference::holder(&world, &one.pool);
            assert!(
                holder.is_some_and(|holder| keeps_slots_from(&world, &decision, holder, one)),
                "{:?} fits",
                one.key
            );
            kept.set(kept.get() + 1);
        }
    };
    // Worlds are drawn by lot, and in few of them slots are kept.
    for _ in 0..20 {
        for_every_world(check);
        if kept.get() > 0 {
            break;
        }
    }
    assert!(kept.get() > 0, "slots were kept from {}", kept.get());
}

/// Whether a candidate for which slots are kept has at least the priority of another one, and lacked nothing
/// but slots when the last of its pool was admitted.
fn keeps_slots_from(world: &World, decision: &Decision, holder: &Candidate, other: &Candidate) -> bool {
    let admitted = &decision.admitted;
    let mut moments = (0..=admitted.len())
        .filter(|moment| admitted[*moment..].iter().all(|one| world.find(&one.key).pool != holder.pool));
    holder.priority_weight >= other.priority_weight
        && !admitted.iter().any(|one| one.key == holder.key)
        && moments.any(|moment| fit(world, &admitted[..moment], holder) == Fit::LacksSlots)
}

#[test]
fn it_is_what_the_rules_say_candidate_by_candidate() {
    for_every_world(|world| {
        assert_eq!(world.decide().admitted, reference::admitted(&world, &mut Turns::default()));
    });
}

/// All that a decision says.
fn told(decision: &Decision) -> String {
    format!("{:?}", (&decision.admitted, &decision.refused, &decision.closed_pools, &decision.stopped))
}

#[test]
fn neither_the_order_of_insertion_nor_what_came_and_went_matters() {
    for_every_world(|world| {
        let expected = world.decide();
        let mut waiting = Waiting::default();
        for (candidate, _) in &world.holders {
            waiting.insert(candidate.clone());
        }
        for candidate in world.candidates.iter().rev() {
            waiting.insert(candidate.clone());
        }
        for candidate in world.candidates.iter().step_by(2) {
            assert!(waiting.remove(&candidate.key));
        }
        for (candidate, _) in &world.holders {
            assert!(waiting.remove(&candidate.key));
        }
        for candidate in &world.candidates {
            waiting.insert(candidate.clone());
        }
        assert_eq!(waiting.len(), world.candidates.len());
        let in_use = world.in_use();
        for _ in 0..2 {
            assert_eq!(told(&admit(&waiting, &world.limits, &in_use, world.tick)), told(&expected));
        }
    });
}

#[test]
fn everybody_is_admitted_refused_or_counted_and_can_be_explained() {
    for_every_world(|world| {
        let decision = world.decide();
        let refused: usize = decision.refused.iter().map(|lane| lane.waiting).sum();
        let closed: usize = decision.closed_pools.iter().map(|closed| closed.waiting).sum();
        let not_reached = decision.stopped.as_ref().map_or(0, |stopped| stopped.waiting);
        assert_eq!(decision.admitted.len() + refused + closed + not_reached, world.candidates.len());
        let (waiting, in_use) = (world.waiting(), world.in_use());
        for one in &world.candidates {
            let admitted = decision.admitted.iter().find(|admitted| admitted.key == one.key);
            match (decision.explain(&waiting, &world.limits, &in_use, &one.key), admitted) {
                (Some(Verdict::Admitted(verdict)), Some(admitted)) => assert_eq!(verdict, *admitted),
                (Some(Verdict::Refused(refusal)), None) => assert!(!refusal.to_string().is_empty()),
                (verdict, _) => panic!("{:?}: {verdict:?}", one.key),
            }
        }
    });
}

/// So a scheduler counts only there.
#[test]
fn what_is_at_work_matters_only_in_dags_that_wait_for_an_open_pool() {
    let (uncounted, closed) = (Cell::new(0), Cell::new(0));
    for_every_world(|world| {
        let (waiting, in_use, expected) = (world.waiting(), world.in_use(), world.decide());
        let dags = waiting.dags_of_open_pools(&world.limits, &in_use, usize::MAX).unwrap();
        let mut counted = InUse::default();
        for (holder, state) in &world.holders {
            counted.add_slots(&holder.pool, *state, holder.pool_slots.into());
            if dags.contains(&holder.key.dag_id) {
                counted.add_instances(&holder.key, *state, 1);
            } else {
                uncounted.set(uncounted.get() + 1);
            }
        }
        let decision = admit(&waiting, &world.limits, &counted, world.tick);
        assert_eq!(told(&decision), told(&expected));
        for one in &world.candidates {
            let explained = decision.explain(&waiting, &world.limits, &counted, &one.key);
            assert_eq!(explained, expected.explain(&waiting, &world.limits, &in_use, &one.key));
        }
        closed.set(closed.get() + expected.closed_pools.len());
        let runs = waiting.dags_of_open_pools(&world.limits, &in_use, 0);
        assert_eq!(runs.is_none(), !dags.is_empty(), "more than none are too many");
    });
    assert!(uncounted.get() > 0 && closed.get() > 0, "{} in {}", uncounted.get(), closed.get());
}
