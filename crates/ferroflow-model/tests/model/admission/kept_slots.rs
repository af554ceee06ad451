//! That slots are kept for one does not stop the others for ever, nor do they stop it.

use std::collections::BTreeMap;

use ferroflow_model::admission::{Candidate, DEFAULT_PATIENCE, InstanceKey, Waiting, admit};
use ferroflow_model::state::TaskState;

use crate::admission::world::{World, at, candidate, due, mapped, name, slots};

/// Minutes of waiting, which are times of the default patience: in which slots are kept, and in which not.
const KEPT: [i64; 7] = [1, 3, 4, 6, 9, 11, 18];
const PAUSES: [i64; 5] = [0, 2, 5, 10, 19];

fn small_ones(number: i32) -> impl Iterator<Item = Candidate> {
    (0..number).map(|index| due(1, mapped("e/r/small", index)))
}

#[test]
fn a_wide_task_does_not_freeze_a_pool_of_which_one_slot_is_taken_for_ever() {
    let wide = slots(128, candidate("d/r/wide"));
    let mut world = World::new(&[("main", 128)], [wide].into_iter().chain(small_ones(500)).collect())
        .holding(TaskState::Running, [candidate("s/r/stream")]);
    assert_eq!(DEFAULT_PATIENCE.as_secs(), 60);
    for (minutes, admitted) in [(&KEPT[..], 0), (&PAUSES[..], 127)] {
        for minute in minutes {
            world.tick.now = at(minute * 60);
            assert_eq!(world.admitted().len(), admitted, "minute {minute}");
        }
    }
}

#[test]
fn two_wide_tasks_do_not_fill_the_pauses_of_each_other() {
    let wide = |number: i32, second| Candidate {
        waiting_since: at(second),
        ..slots(128, due(number.into(), candidate(&format!("d/r/wide{number}"))))
    };
    for second in [-60, -30, 30, 60] {
        let candidates = [wide(-1, 0), wide(0, second)].into_iter().chain(small_ones(500));
        let mut world = World::new(&[("main", 128)], candidates.collect())
            .holding(TaskState::Running, [candidate("s/r/stream")]);
        // Those of the one that waits longest count.
        for minute in &PAUSES[1..] {
            world.tick.now = at(minute * 60 + second.min(0));
            assert_eq!(world.admitted().len(), 127, "minute {minute}, {second}");
        }
    }
}

#[test]
fn running_tasks_that_wait_for_others_of_their_pool_see_them_run() {
    let (big, small) = (slots(4, candidate("d/r/big")), candidate("d/r/small"));
    let small = Candidate { run_after: at(61), waiting_since: at(61), ..small };
    let sensors = [candidate("d/r/sensor1"), candidate("d/r/sensor2")];
    let mut world = World::new(&[("main", 4)], vec![big]).holding(TaskState::Running, sensors);
    let mut admitted = Vec::new();
    for call in 0..100 {
        let second = call * 10;
        world.tick.now = at(second);
        if second == 70 {
            world.candidates.push(small.clone());
        }
        if admitted.iter().any(|(_, name)| name == "small") {
            world.holders.clear();
        }
        let keys: Vec<InstanceKey> = world.decide().admitted.into_iter().map(|one| one.key).collect();
        world.queue(&keys);
        admitted.extend(keys.iter().map(|key| (second, name(key))));
    }
    assert_eq!(admitted, [(120, "small".to_owned()), (130, "big".to_owned())]);
}

/// A catchup with years to go: a task every so many seconds, each of which runs for twice as long, so that half
/// of the pool becomes open each time. It was due long before one that needs the whole pool. When does that
/// one run?
fn second_in_which_the_large_one_runs(pool: i32, every: i64) -> Option<i64> {
    let big = slots(pool, due(10_000, candidate("d/now/big")));
    let mut world = World::new(&[("main", pool)], vec![big, candidate("c/r/old")]);
    world.candidates.pop();
    let mut waiting = Waiting::default();
    let mut ends = BTreeMap::new();
    for second in (0..100_000).step_by(5) {
        if second % every == 0 {
            let old = slots(pool / 2, due(second - 1_000_000, candidate(&format!("c/r{second}/old"))));
            world.candidates.push(Candidate { waiting_since: at(second), ..old });
        }
        world.holders.retain(|(holder, _)| second < ends[&holder.key]);
        world.tick.now = at(second);
        world.candidates.iter().for_each(|one| waiting.insert(one.clone()));
        let decision = admit(&waiting, &world.limits, &world.in_use(), world.tick);
        waiting.take_out_admitted(&decision.admitted);
        let keys: Vec<InstanceKey> = decision.admitted.into_iter().map(|one| one.key).collect();
        if keys.iter().any(|key| &*key.task_id == "big") {
            return Some(second);
        }
        ends.extend(keys.iter().map(|key| (key.clone(), second + every * 2)));
        world.queue(&keys);
    }
    None
}

#[test]
fn older_small_tasks_that_keep_coming_do_not_starve_a_large_one() {
    assert_eq!(second_in_which_the_large_one_runs(2, 5), Some(65));
}

/// These have patience as well, and it ends while they wait for the larger one.
#[test]
fn older_large_tasks_that_keep_coming_do_not_starve_a_larger_one() {
    for every in [100, 200, 400] {
        let second = second_in_which_the_large_one_runs(4, every).unwrap();
        assert!(second < every * 10, "{second}, {every}");
    }
}
