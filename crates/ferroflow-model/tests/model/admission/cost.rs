//! What cannot run is not looked at one by one.

use ferroflow_model::admission::Candidate;

use crate::admission::world::{World, candidate, in_pool, mapped, slots};

#[test]
fn ten_thousand_behind_a_limit_are_one_lane() {
    let limited = |index| Candidate { max_active_tis_per_dag: Some(3), ..mapped("d/r/t", index) };
    let world = World::new(&[("main", -1)], (0..10_000).map(limited).collect());
    let decision = world.decide();
    assert_eq!(decision.admitted.len(), 3);
    assert_eq!(decision.refused.iter().map(|lane| lane.waiting).collect::<Vec<_>>(), [9_997]);
}

#[test]
fn a_thousand_lanes_behind_a_full_pool_are_not_looked_at() {
    let lanes = (0..1_000).map(|number| in_pool("full", candidate(&format!("d{number}/r/t")))).collect();
    let mut world = World::new(&[("main", -1), ("full", 0)], lanes);
    world.candidates.push(candidate("d1/r/free"));
    let decision = world.decide();
    assert_eq!(decision.admitted.len(), 1);
    assert_eq!(decision.refused, []);
    assert_eq!(decision.closed_pools.iter().map(|closed| closed.waiting).collect::<Vec<_>>(), [1_000]);
}

#[test]
fn a_thousand_lanes_of_a_full_run_or_a_paused_dag_are_one() {
    let lanes = (0..1_000).map(|number| candidate(&format!("d/r/t{number}")));
    let mut world = World::new(&[("main", -1)], lanes.chain([candidate("e/r/free")]).collect());
    let told = |world: &World| {
        let decision = world.decide();
        let refused = decision.refused.iter().map(|refused| (refused.waiting, refused.refusal.to_string()));
        (decision.admitted.len(), refused.collect::<Vec<_>>())
    };
    world.dag("d").max_active_tasks = 3;
    let full = "run 'r' of DAG 'd' has 3 task instances at work, and max_active_tasks is 3".to_owned();
    assert_eq!(told(&world), (4, vec![(997, full)]));
    world.dag("d").is_paused = true;
    assert_eq!(told(&world), (1, vec![(1_000, "DAG 'd' is paused".to_owned())]));
}

#[test]
fn a_lane_that_cannot_run_does_not_hide_another_of_its_run() {
    let mut world = World::new(&[("main", 4)], vec![slots(5, candidate("d/r/a")), candidate("d/r/b")]);
    world.candidates.extend((0..3).map(|index| mapped("d/r/c", index)));
    world.dag("d").max_active_tasks = 2;
    let decision = world.decide();
    assert_eq!(world.admitted(), ["b", "c0"]);
    assert_eq!(decision.refused.iter().map(|refused| refused.waiting).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_pool_that_becomes_full_is_left_at_once() {
    let lanes = (0..1_000).map(|number| candidate(&format!("d{number}/r/t"))).collect();
    let decision = World::new(&[("main", 2)], lanes).decide();
    assert_eq!((decision.admitted.len(), decision.refused.len()), (2, 0));
    assert_eq!(decision.closed_pools[0].waiting, 998);
}
