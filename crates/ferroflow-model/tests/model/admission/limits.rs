//! Every limit at its border, and every refusal in words.

use std::sync::Arc;

use ferroflow_model::admission::{Candidate, Executor, ExecutorName, Refusal, Verdict};
use ferroflow_model::state::TaskState;

use crate::admission::world::{World, candidate, executor, in_pool, mapped, slots};

/// Asserts that a candidate is refused, with these words.
#[track_caller]
fn assert_refused(world: &World, refused: &Candidate, words: &str) {
    assert!(!world.decide().admitted.iter().any(|admitted| admitted.key == refused.key));
    assert_eq!(world.refusal(refused).to_string(), words);
}

#[test]
fn a_pool_has_so_many_slots_and_no_more() {
    let world = World::new(&[("main", 3)], (0..5).map(|index| mapped("d/r/t", index)).collect());
    assert_eq!(world.admitted(), ["t0", "t1", "t2"]);
    assert_refused(&world, &world.candidates[3], "pool 'main' is full: 3 of 3 slots are in use");

    let one_runs = world.clone().holding(TaskState::Running, [candidate("d/r/x")]);
    assert_eq!(one_runs.admitted(), ["t0", "t1"]);
    let two_hold = one_runs.holding(TaskState::Queued, [slots(2, candidate("d/r/y"))]);
    assert_eq!(two_hold.admitted(), [""; 0]);
}

#[test]
fn a_pool_of_minus_one_has_any_number_of_slots() {
    let mut world = World::new(&[("main", -1)], vec![slots(i32::MAX, candidate("d/r/t"))])
        .holding(TaskState::Running, [slots(i32::MAX, candidate("d/r/x"))]);
    assert_eq!(world.admitted(), ["t"]);
    for none in [0, -2, i32::MIN] {
        world.pool("main").slots = none;
        assert!(matches!(world.refusal(&world.candidates[0]), Refusal::PoolFull { .. }), "{none}");
    }
}

#[test]
fn who_is_deferred_keeps_its_slot_if_the_pool_says_so_and_who_awaits_input_never_does() {
    let mut world = World::new(&[("main", 1)], vec![candidate("d/r/t")])
        .holding(TaskState::AwaitingInput, [candidate("d/r/x")])
        .holding(TaskState::Deferred, [candidate("d/r/y")]);
    assert_eq!(world.admitted(), ["t"]);
    world.pool("main").include_deferred = true;
    assert_refused(&world, &world.candidates[0], "pool 'main' is full: 1 of 1 slots are in use");
}

#[test]
fn a_pool_that_does_not_exist_admits_nobody() {
    let world = World::new(&[("main", 1)], vec![in_pool("gone", candidate("d/r/t")), candidate("d/r/u")]);
    assert_eq!(world.admitted(), ["u"]);
    assert_refused(&world, &world.candidates[0], "pool 'gone' does not exist");
    let closed = world.decide().closed_pools;
    assert_eq!((closed.len(), &closed[0].head), (1, &world.candidates[0].key));
}

#[test]
fn who_needs_more_slots_than_the_pool_has_never_runs_and_who_needs_all_of_them_does() {
    let world = World::new(&[("main", 4)], vec![slots(5, candidate("d/r/t"))]);
    assert_refused(&world, &world.candidates[0], "it needs 5 slots, and pool 'main' has 4 in all");
    let world = World::new(&[("main", 4)], vec![slots(4, candidate("d/r/t"))]);
    assert_eq!(world.admitted(), ["t"]);
}

#[test]
fn who_needs_more_slots_than_are_open_lets_others_go() {
    let world = World::new(&[("main", 4)], vec![slots(3, candidate("d/r/t")), slots(2, candidate("d/r/u"))])
        .holding(TaskState::Running, [slots(2, candidate("d/r/x"))]);
    assert_eq!(world.admitted(), ["u"]);
    // With what was admitted meanwhile.
    assert_refused(&world, &world.candidates[0], "pool 'main' is full: 4 of 4 slots are in use");
    let world = World::new(&[("main", 4)], vec![slots(3, candidate("d/r/t"))])
        .holding(TaskState::Running, [slots(2, candidate("d/r/x"))]);
    assert_refused(&world, &world.candidates[0], "it needs 3 slots, and 2 of 4 are open in pool 'main'");
}

#[test]
fn slots_below_one_are_added_up_and_given_back_with_the_next_call() {
    let odd = vec![slots(0, candidate("d/r/a")), slots(-3, candidate("d/r/b")), slots(1, candidate("d/r/c"))];
    let mut world = World::new(&[("main", 1)], [odd, vec![candidate("d/r/d")]].concat());
    assert_eq!(world.admitted(), ["a", "b", "c"]);
    let keys: Vec<_> = world.decide().admitted.into_iter().map(|admitted| admitted.key).collect();
    world.queue(&keys);
    assert_eq!(world.admitted(), ["d"]);

    let full = World::new(&[("main", 1)], vec![slots(0, candidate("d/r/a"))])
        .holding(TaskState::Running, [candidate("d/r/x")]);
    assert_refused(&full, &full.candidates[0], "pool 'main' is full: 1 of 1 slots are in use");
}

#[test]
fn a_pool_of_a_team_is_for_its_dags() {
    let mut world = World::new(&[("main", 9)], vec![candidate("d/r/t")]);
    world.pool("main").team = Some("red".into());
    assert_refused(&world, &world.candidates[0], "pool 'main' belongs to team 'red', and the DAG to no team");
    world.dag("d").team = Some("blue".into());
    assert_refused(
        &world,
        &world.candidates[0],
        "pool 'main' belongs to team 'red', and the DAG to team 'blue'",
    );
    world.dag("d").team = Some("red".into());
    assert_eq!(world.admitted(), ["t"]);
    world.pool("main").team = None;
    assert_eq!(world.admitted(), ["t"]);
}

#[test]
fn max_active_tasks_counts_what_is_queued_and_running_in_one_run() {
    let others = vec![candidate("d/other/o"), candidate("d/r/t"), candidate("d/r/u")];
    let mut world = World::new(&[("main", -1)], others)
        .holding(TaskState::Running, [candidate("d/r/x"), candidate("e/r/x")])
        .holding(TaskState::Deferred, [candidate("d/r/y")])
        .holding(TaskState::AwaitingInput, [candidate("d/r/z")]);
    world.dag("d").max_active_tasks = 2;
    assert_eq!(world.admitted(), ["o", "t"]);
    let words = "run 'r' of DAG 'd' has 2 task instances at work, and max_active_tasks is 2";
    assert_refused(&world, &world.candidates[2], words);
    for nobody in [1, 0, -1, i32::MIN] {
        world.dag("d").max_active_tasks = nobody;
        assert!(matches!(world.refusal(&world.candidates[1]), Refusal::RunFull { .. }), "{nobody}");
    }
}

#[test]
fn max_active_tis_per_dag_counts_all_that_is_active_over_all_runs() {
    let limited = |path: &str| Candidate { max_active_tis_per_dag: Some(5), ..candidate(path) };
    let mut world =
        World::new(&[("main", -1)], vec![limited("d/r1/t"), limited("d/r2/t"), limited("d/r3/u")]);
    for (state, run) in [
        (TaskState::Queued, "a"),
        (TaskState::Running, "b"),
        (TaskState::Deferred, "c"),
        (TaskState::AwaitingInput, "e"),
        (TaskState::UpForRetry, "f"),
        (TaskState::Restarting, "g"),
    ] {
        world = world.holding(state, [candidate(&format!("d/{run}/t")), candidate(&format!("x/{run}/t"))]);
    }
    assert_eq!(world.admitted(), ["t", "u"]);
    let words = "task 'd.t' has 5 active instances, and max_active_tis_per_dag is 5";
    assert_refused(&world, &world.candidates[1], words);
    world.candidates.iter_mut().for_each(|candidate| candidate.max_active_tis_per_dag = Some(-1));
    assert_eq!(world.admitted(), [""; 0]);
}

#[test]
fn max_active_tis_per_dagrun_counts_all_that_is_active_in_the_run() {
    let limited = |index| Candidate { max_active_tis_per_dagrun: Some(3), ..mapped("d/r/t", index) };
    let world = World::new(&[("main", -1)], vec![limited(10), limited(11)])
        .holding(TaskState::Deferred, [mapped("d/r/t", 0), mapped("d/elsewhere/t", 0)])
        .holding(TaskState::AwaitingInput, [mapped("d/r/t", 1), mapped("d/r/u", 1), mapped("e/r/t", 1)]);
    assert_eq!(world.admitted(), ["t10"]);
    let words = "task 'd.t' has 3 active instances in run 'r', and max_active_tis_per_dagrun is 3";
    assert_refused(&world, &world.candidates[1], words);
}

#[test]
fn a_paused_or_unknown_dag_does_not_run() {
    let mut world = World::new(&[("main", -1)], vec![candidate("d/r/t")]);
    world.dag("d").is_paused = true;
    assert_refused(&world, &world.candidates[0], "DAG 'd' is paused");
    world.limits.dags.clear();
    assert_refused(&world, &world.candidates[0], "DAG 'd' is not known");
}

#[test]
fn an_executor_takes_what_it_has_slots_for() {
    let with = |path, executor: &str| Candidate { executor: Some(executor.into()), ..candidate(path) };
    let candidates =
        vec![with("d/r/a", "Small"), with("d/r/b", "Small"), with("d/r/c", "Small"), candidate("d/r/e")];
    let mut world = World::new(&[("main", -1)], candidates);
    world.limits.executors.list.push(Executor { occupied: 3, ..executor("Small", 5) });
    assert_eq!(world.admitted(), ["a", "b", "e"]);
    let places: Vec<usize> = world.decide().admitted.iter().map(|admitted| admitted.executor).collect();
    assert_eq!(places, [1, 1, 0]);
    assert_refused(&world, &world.candidates[2], "executor 'Small' is full: 5 of 5 slots are in use");
}

#[test]
fn an_executor_is_found_by_alias_path_or_class_for_its_team_or_for_all() {
    let mut world = World::new(&[("main", -1)], vec![candidate("d/r/t")]);
    let of = |team: &str, alias| {
        let executor = executor(alias, 9);
        let name = ExecutorName { team: Some(team.into()), ..(*executor.name).clone() };
        Executor { name: Arc::new(name), ..executor }
    };
    world.limits.executors.list =
        vec![executor("First", 9), of("red", "First"), of("red", "Second"), of("blue", "Third")];
    let mut place = |wanted: Option<&str>, team: Option<&str>| {
        world.candidates[0].executor = wanted.map(Into::into);
        world.dag("d").team = team.map(Into::into);
        world.decide().admitted.first().map(|admitted| admitted.executor)
    };
    assert_eq!(place(None, None), Some(0));
    assert_eq!(place(None, Some("red")), Some(1));
    assert_eq!(place(None, Some("blue")), Some(3));
    assert_eq!(place(None, Some("green")), Some(0));
    assert_eq!(place(Some("Second"), Some("red")), Some(2));
    assert_eq!(place(Some("site.executors.SecondExecutor"), Some("red")), Some(2));
    assert_eq!(place(Some("SecondExecutor"), Some("red")), Some(2));
    // The first in the list, although the team has one of the same name.
    assert_eq!(place(Some("First"), Some("red")), Some(0));
    assert_eq!(place(Some("Second"), Some("blue")), None);
    assert_eq!(place(Some("Second"), None), None);
    assert_eq!(place(Some("executors.SecondExecutor"), Some("red")), None);
}

#[test]
fn an_executor_that_is_not_there_is_named() {
    let wanted = Candidate { executor: Some("Gone".into()), ..candidate("d/r/t") };
    let mut world = World::new(&[("main", -1)], vec![wanted, candidate("d/r/u")]);
    assert_refused(&world, &world.candidates[0], "there is no executor 'Gone' for DAGs of no team");
    world.dag("d").team = Some("red".into());
    assert_refused(&world, &world.candidates[0], "there is no executor 'Gone' for DAGs of team 'red'");
    world.limits.executors.list.clear();
    assert_refused(&world, &world.candidates[1], "there is no executor for DAGs of team 'red'");
}

#[test]
fn parallelism_bounds_all_executors_together() {
    let mut world = World::new(&[("main", -1)], (0..4).map(|index| mapped("d/r/t", index)).collect());
    world.limits.executors.parallelism = 5;
    world.limits.executors.list =
        vec![Executor { occupied: 1, ..executor("A", 9) }, Executor { occupied: 2, ..executor("B", 9) }];
    assert_eq!(world.admitted(), ["t0", "t1"]);
    let stopped = world.decide().stopped.unwrap();
    assert_eq!(stopped.waiting, 2);
    assert_eq!(stopped.refusal.to_string(), "the executors have 5 tasks, and [core] parallelism is 5");
    assert_eq!(world.refusal(&world.candidates[2]), stopped.refusal);
}

#[test]
fn the_budget_is_for_those_that_can_run() {
    let mut candidates: Vec<Candidate> =
        (0..50).map(|index| in_pool("full", mapped("d/r/a", index))).collect();
    candidates
        .extend((0..50).map(|index| Candidate { executor: Some("Gone".into()), ..mapped("d/r/b", index) }));
    candidates.extend((0..3).map(|index| mapped("d/r/c", index)));
    let mut world = World::new(&[("main", -1), ("full", 0)], candidates);
    world.tick.budget = 2;
    assert_eq!(world.admitted(), ["c0", "c1"]);
    let words = "2 were admitted at once, which is the most; others were before it";
    assert_refused(&world, &world.candidates[102], words);
    assert_refused(&world, &world.candidates[0], "pool 'full' is full: 0 of 0 slots are in use");
    world.tick.budget = 0;
    assert_eq!(world.admitted(), [""; 0]);
    world.tick.budget = 3;
    assert_eq!(world.decide().stopped, None);
}

#[test]
fn the_first_limit_in_airflow_s_order_is_named() {
    let mut world = World::new(
        &[("main", 0)],
        vec![Candidate {
            max_active_tis_per_dag: Some(0),
            max_active_tis_per_dagrun: Some(0),
            executor: Some("Gone".into()),
            ..slots(3, candidate("d/r/t"))
        }],
    );
    let one = world.candidates[0].clone();
    world.pool("main").team = Some("red".into());
    world.dag("d").max_active_tasks = 0;
    assert!(matches!(world.refusal(&one), Refusal::PoolOfAnotherTeam { .. }));
    world.pool("main").team = None;
    assert!(matches!(world.refusal(&one), Refusal::PoolFull { .. }));
    world.pool("main").slots = 2;
    assert!(matches!(world.refusal(&one), Refusal::LargerThanPool { .. }));
    world.pool("main").slots = 3;
    let busy = world.clone().holding(TaskState::Queued, [candidate("e/r/t")]);
    assert!(matches!(busy.refusal(&one), Refusal::TooFewSlots { .. }));
    assert!(matches!(world.refusal(&one), Refusal::RunFull { .. }));
    world.dag("d").max_active_tasks = 1;
    assert!(matches!(world.refusal(&one), Refusal::TaskFull { .. }));
    world.candidates[0].max_active_tis_per_dag = None;
    assert!(matches!(world.refusal(&one), Refusal::TaskFullInRun { .. }));
    world.candidates[0].max_active_tis_per_dagrun = Some(1);
    assert!(matches!(world.refusal(&one), Refusal::ExecutorUnknown { .. }));
}

#[test]
fn everybody_is_accounted_for() {
    let mut world =
        World::new(&[("main", 3), ("full", 0)], (0..9).map(|index| mapped("d/r/a", index)).collect());
    world.candidates.extend((0..4).map(|index| in_pool("full", mapped("d/r/b", index))));
    world.candidates.extend((0..7).map(|index| Candidate {
        max_active_tis_per_dag: Some(2),
        priority_weight: 2,
        ..mapped("d/r/c", index)
    }));
    let decision = world.decide();
    assert_eq!(decision.admitted.len(), 3);
    let refused: Vec<_> = decision.refused.iter().map(|lane| (lane.head.map_index, lane.waiting)).collect();
    assert_eq!(refused, [(2, 5)]);
    let closed: Vec<_> = decision.closed_pools.iter().map(|closed| (&*closed.pool, closed.waiting)).collect();
    assert_eq!(closed, [("full", 4), ("main", 8)]);
    world.tick.budget = 1;
    assert_eq!(world.decide().stopped.unwrap().waiting, 9 + 6);
}

#[test]
fn what_nobody_waits_for_is_not_told() {
    let mut world = World::new(&[("main", 1)], vec![candidate("d/r/t")]);
    world.tick.budget = 1;
    let decision = world.decide();
    assert_eq!(decision.admitted.len(), 1);
    assert_eq!((decision.refused, decision.closed_pools, decision.stopped), (vec![], vec![], None));
}

#[test]
fn one_that_does_not_wait_has_no_verdict_and_one_that_came_later_is_free() {
    let world = World::new(&[("main", 3)], vec![candidate("d/r/t")]);
    let (decision, mut waiting) = (world.decide(), world.waiting());
    let explain = |waiting: &_, key| decision.explain(waiting, &world.limits, &world.in_use(), key);
    let (known, late) = (&world.candidates[0].key, candidate("d/r/late"));
    assert_eq!(explain(&waiting, &late.key), None);
    waiting.insert(late.clone());
    assert_eq!(explain(&waiting, &late.key), Some(Verdict::Free));
    assert!(matches!(explain(&waiting, known), Some(Verdict::Admitted(admitted)) if admitted.key == *known));
}
