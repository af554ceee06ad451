//! What is said of a task instance replaces what was, and nothing overflows.

use std::collections::BTreeMap;

use ferroflow_model::admission::{Candidate, InUse, InstanceKey, admit};
use ferroflow_model::state::TaskState;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use crate::admission::world::{World, candidate, in_pool, mapped, slots};

fn set(in_use: &mut InUse, one: &Candidate, state: Option<TaskState>) {
    in_use.set(&one.key, &one.pool, one.pool_slots, state);
}

#[test]
fn what_started_and_ended_leaves_no_trace() {
    let one = slots(3, candidate("d/r/t"));
    let holds = [TaskState::Queued, TaskState::Running, TaskState::Deferred, TaskState::AwaitingInput];
    for state in TaskState::ALL {
        let mut in_use = InUse::default();
        set(&mut in_use, &one, Some(*state));
        assert_eq!(in_use != InUse::default(), holds.contains(state), "{state}");
        for end in [None, Some(TaskState::Success), Some(TaskState::Scheduled)] {
            let mut ended = in_use.clone();
            set(&mut ended, &one, end);
            assert_eq!(ended, InUse::default(), "{state}");
        }
    }
}

#[test]
fn what_ended_without_having_started_makes_no_room() {
    let mut in_use = InUse::default();
    for end in [None, Some(TaskState::Failed)] {
        set(&mut in_use, &slots(2, candidate("d/r/x")), end);
    }
    let world = World::new(&[("main", 2)], (0..6).map(|index| mapped("d/r/t", index)).collect());
    assert_eq!(admit(&world.waiting(), &world.limits, &in_use, world.tick).admitted.len(), 2);
    assert_eq!(in_use, InUse::default());
}

#[test]
fn what_is_said_twice_or_too_late_is_put_right_by_the_next_word() {
    let one = slots(2, candidate("d/r/t"));
    let (mut expected, mut often) = (InUse::default(), InUse::default());
    set(&mut expected, &one, Some(TaskState::Running));
    for state in [None, Some(TaskState::Queued), Some(TaskState::Running), Some(TaskState::Running)] {
        set(&mut often, &one, state);
    }
    assert_eq!(often, expected);
    set(&mut often, &one, None);
    set(&mut often, &one, None);
    assert_eq!(often, InUse::default());
}

#[test]
fn the_end_of_one_that_is_only_in_a_sum_makes_no_room() {
    let (ended, waits) = (candidate("d/r/ended"), candidate("d/r/waits"));
    let mut in_use = InUse::default();
    in_use.add_slots(&ended.pool, TaskState::Running, 1);
    in_use.add_instances(&ended.key, TaskState::Running, 1);
    set(&mut in_use, &ended, None);
    let world = World::new(&[("main", 1)], vec![waits]);
    assert!(admit(&world.waiting(), &world.limits, &in_use, world.tick).admitted.is_empty());
}

#[test]
fn a_sum_below_zero_makes_no_room() {
    let one = candidate("d/r/t");
    let mut in_use = InUse::default();
    for state in [TaskState::Queued, TaskState::Deferred] {
        in_use.add_instances(&one.key, state, -5);
    }
    assert_eq!(in_use, InUse::default());
}

#[test]
fn in_the_end_it_is_what_the_last_words_say() {
    let state = prop_oneof![1 => Just(None), 4 => select(TaskState::ALL).prop_map(Some)];
    let slots_of_one = prop_oneof![4 => 0..4, 1 => select(vec![-1, i32::MIN, i32::MAX])];
    let word = (0..4_i32, select(vec!["main", "other"]), slots_of_one, state);
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&vec(word, 0..30), |words| {
            let mut in_use = InUse::default();
            let mut last: BTreeMap<InstanceKey, (Candidate, Option<TaskState>)> = BTreeMap::new();
            for (index, pool, slots_of_one, state) in words {
                let path = format!("d/r{}/t", index % 2);
                let one = in_pool(pool, slots(slots_of_one, mapped(&path, index)));
                set(&mut in_use, &one, state);
                last.insert(one.key.clone(), (one, state));
            }
            let mut anew = InUse::default();
            for (one, state) in last.values() {
                set(&mut anew, one, *state);
            }
            assert_eq!(in_use, anew);
            for (one, _) in last.values() {
                set(&mut in_use, one, None);
            }
            assert_eq!(in_use, InUse::default());
            Ok(())
        })
        .unwrap();
}

#[test]
fn sums_have_no_end_that_matters() {
    let one = candidate("d/r/t");
    let mut in_use = InUse::default();
    for _ in 0..3 {
        in_use.add_slots(&one.pool, TaskState::Running, i64::MAX);
        in_use.add_slots(&one.pool, TaskState::Deferred, i64::MAX);
        in_use.add_instances(&one.key, TaskState::Running, i64::MAX);
    }
    let mut world = World::new(&[("main", 1)], vec![one.clone()]);
    world.pool("main").include_deferred = true;
    assert!(admit(&world.waiting(), &world.limits, &in_use, world.tick).admitted.is_empty());
    // Nor is anything lost of what comes on top of them.
    let before = in_use.clone();
    set(&mut in_use, &one, Some(TaskState::Running));
    set(&mut in_use, &one, None);
    assert_eq!(in_use, before);
}
