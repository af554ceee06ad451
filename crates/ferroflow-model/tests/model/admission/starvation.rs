//! Where users of Airflow wait for hours: each scenario is played by Airflow's rules, where somebody starves,
//! and by ours, where nobody does.

use ferroflow_model::admission::{Candidate, InstanceKey, Waiting, admit};
use ferroflow_model::state::TaskState;

use crate::admission::airflow_pages::{Nulls, queue_page};
use crate::admission::world::{World, at, backfill, candidate, due, in_pool, mapped, priority, slots};

/// `[scheduler] max_tis_per_query` of Airflow.
const PAGE: usize = 16;

/// Plays so many calls, ten seconds each. Before each, the one that holds something longest ends, if `ends`;
/// after that, `arrives` may add one.
fn play(
    mut world: World,
    calls: i32,
    ends: bool,
    arrives: impl Fn(i32) -> Option<Candidate>,
    mut choose: impl FnMut(&World) -> Vec<InstanceKey>,
) -> Vec<InstanceKey> {
    let mut queued = Vec::new();
    for call in 0..calls {
        if ends && !world.holders.is_empty() {
            world.holders.remove(0);
        }
        world.candidates.extend(arrives(call));
        world.tick.now = at(i64::from(call) * 10);
        let keys = choose(&world);
        world.queue(&keys);
        queued.extend(keys);
    }
    queued
}

/// Our choice, with turns that go on.
fn ours() -> impl FnMut(&World) -> Vec<InstanceKey> {
    let mut waiting = Waiting::default();
    move |world| {
        world.candidates.iter().for_each(|candidate| waiting.insert(candidate.clone()));
        let decision = admit(&waiting, &world.limits, &world.in_use(), world.tick);
        waiting.take_out_admitted(&decision.admitted);
        decision.admitted.into_iter().map(|admitted| admitted.key).collect()
    }
}

fn airflow(nulls: Nulls) -> impl FnMut(&World) -> Vec<InstanceKey> {
    move |world| queue_page(world, PAGE, nulls)
}

fn nobody(_: i32) -> Option<Candidate> {
    None
}

fn count(queued: &[InstanceKey], task: &str) -> usize {
    queued.iter().filter(|key| &*key.task_id == task).count()
}

fn many(number: i32, path: &str) -> Vec<Candidate> {
    (0..number).map(|index| mapped(path, index)).collect()
}

fn with_budget(mut world: World) -> World {
    world.tick.budget = PAGE;
    world
}

/// <https://github.com/apache/airflow/issues/45636>
#[test]
fn a_full_pool_does_not_hide_another() {
    let crowd = many(1000, "a/r/crowd").into_iter().map(|one| priority(2, one));
    let free = many(20, "b/r/free").into_iter().map(|one| in_pool("wide", one));
    let world = with_budget(World::new(&[("main", 1), ("wide", 20)], crowd.chain(free).collect()));

    let queued = play(world.clone(), 50, true, nobody, airflow(Nulls::Last));
    assert_eq!((count(&queued, "crowd"), count(&queued, "free")), (50, 0));

    let queued = play(world, 2, false, nobody, ours());
    assert_eq!((count(&queued, "crowd"), count(&queued, "free")), (1, 20));
}

/// <https://github.com/apache/airflow/issues/19622>: what is at work already is not taken off what Airflow
/// looks at.
#[test]
fn a_dag_at_its_max_active_tasks_does_not_hide_others() {
    let crowd = many(1000, "big/r/crowd").into_iter().map(|one| due(-10, one));
    let mut world =
        with_budget(World::new(&[("main", 128)], crowd.chain([candidate("small/r/one")]).collect()))
            .holding(TaskState::Running, many(16, "big/r/busy"));
    world.dag("big").max_active_tasks = 16;

    let queued = play(world.clone(), 50, true, nobody, airflow(Nulls::Last));
    assert_eq!((count(&queued, "crowd"), count(&queued, "one")), (50, 0));

    let queued = play(world, 1, true, nobody, ours());
    assert_eq!((count(&queued, "crowd"), count(&queued, "one")), (1, 1));
}

/// <https://github.com/apache/airflow/issues/18131>: the same with the limit of a task.
#[test]
fn a_task_at_its_max_active_tis_does_not_hide_others() {
    let limited = |one| Candidate { max_active_tis_per_dag: Some(1), ..due(-10, one) };
    let crowd = many(1000, "big/r/crowd").into_iter().map(limited);
    let world = with_budget(World::new(&[("main", 128)], crowd.chain([candidate("small/r/one")]).collect()));

    let queued = play(world.clone(), 50, true, nobody, airflow(Nulls::Last));
    assert_eq!((count(&queued, "crowd"), count(&queued, "one")), (50, 0));

    let queued = play(world, 1, true, nobody, ours());
    assert_eq!((count(&queued, "crowd"), count(&queued, "one")), (1, 1));
}

/// Seen of the real Airflow in `testdata/admission`: its page is not full, so it does not look for more.
#[test]
fn the_first_tasks_of_a_run_do_not_hide_the_rest_of_it() {
    let blocked =
        |index| Candidate { max_active_tis_per_dag: Some(0), ..priority(2, mapped("d/r/blocked", index)) };
    let candidates = vec![blocked(0), blocked(1), candidate("d/r/ready")];
    let mut world = with_budget(World::new(&[("main", 128)], candidates));
    world.dag("d").max_active_tasks = 2;

    assert_eq!(play(world.clone(), 50, true, nobody, airflow(Nulls::Last)), []);
    assert_eq!(count(&play(world, 1, true, nobody, ours()), "ready"), 1);
}

/// <https://github.com/apache/airflow/issues/18051>: by logical date, all of a backfill comes before what is
/// due now.
#[test]
fn a_backfill_does_not_block_other_runs() {
    let past = many(1000, "d/backfill__past/old").into_iter().map(|one| backfill(due(-100_000, one)));
    let now = many(4, "e/scheduled__now/new");
    let world = with_budget(World::new(&[("main", 4)], past.chain(now).collect()));

    let queued = play(world.clone(), 50, true, nobody, airflow(Nulls::Last));
    assert_eq!((count(&queued, "old"), count(&queued, "new")), (53, 0));

    let queued = play(world, 5, true, nobody, ours());
    assert_eq!((count(&queued, "old"), count(&queued, "new")), (4, 4));
}

/// <https://github.com/apache/airflow/pull/72730>: nor do other runs block a backfill, however many come.
#[test]
fn other_runs_do_not_block_a_backfill() {
    let world = with_budget(World::new(&[("main", 1)], vec![backfill(candidate("d/backfill__now/old"))]));
    // Runs that catch up are all due before the one that is filled in.
    let catching_up = |call| Some(due(-100_000 + i64::from(call), mapped("d/scheduled__past/new", call)));

    let queued = play(world.clone(), 50, true, catching_up, airflow(Nulls::Last));
    assert_eq!((count(&queued, "old"), count(&queued, "new")), (0, 50));

    let queued = play(world, 2, true, catching_up, ours());
    assert_eq!((count(&queued, "old"), count(&queued, "new")), (1, 1));
}

/// <https://github.com/apache/airflow/issues/70880>: without a logical date, it depends on the database.
#[test]
fn a_run_that_an_asset_triggered_has_its_place_by_when_it_was_due() {
    let by_asset = due(0, candidate("d/asset_triggered__x/asset"));
    let world = with_budget(World::new(&[("main", 1)], vec![by_asset]));
    let dated = |call| Some(due(i64::from(call) * 10 + 1, mapped("d/scheduled__x/dated", call)));

    // On PostgreSQL it waits as long as others come, although they were due later.
    let queued = play(world.clone(), 50, true, dated, airflow(Nulls::Last));
    assert_eq!((count(&queued, "asset"), count(&queued, "dated")), (0, 50));
    assert_eq!(count(&play(world.clone(), 1, true, dated, ours()), "asset"), 1);

    // Elsewhere it is the others that wait, although they were due earlier.
    let by_assets = |call| Some(due(i64::from(call) * 10 + 1, mapped("d/asset_triggered__x/asset", call)));
    let world = with_budget(World::new(&[("main", 1)], vec![due(0, candidate("d/scheduled__x/dated"))]));
    let queued = play(world.clone(), 50, true, by_assets, airflow(Nulls::First));
    assert_eq!((count(&queued, "asset"), count(&queued, "dated")), (50, 0));
    assert_eq!(count(&play(world, 1, true, by_assets, ours()), "dated"), 1);
}

/// <https://github.com/apache/airflow/issues/26933>: what Airflow does not look at cannot go first.
#[test]
fn a_low_priority_does_not_go_before_a_high_one() {
    let blocked = Candidate { max_active_tis_per_dag: Some(0), ..priority(10, candidate("d/r/blocked")) };
    let candidates = vec![blocked, priority(9, candidate("d/r/high")), priority(1, candidate("e/r/low"))];
    let mut world = with_budget(World::new(&[("main", 1), ("empty", 100)], candidates));
    world.dag("d").max_active_tasks = 1;

    let queued = play(world.clone(), 1, false, nobody, airflow(Nulls::Last));
    assert_eq!((count(&queued, "high"), count(&queued, "low")), (0, 1));

    let queued = play(world, 1, false, nobody, ours());
    assert_eq!((count(&queued, "high"), count(&queued, "low")), (1, 0));
}

/// <https://github.com/apache/airflow/issues/29474>
#[test]
fn who_needs_several_slots_does_not_starve_behind_those_who_need_one() {
    let world = with_budget(World::new(&[("main", 4)], vec![slots(4, due(-10, candidate("d/r/big")))]))
        .holding(TaskState::Running, many(4, "d/r/busy"));
    let small = |call| Some(due(i64::from(call) * 10, mapped("d/r/small", call)));

    let queued = play(world.clone(), 50, true, small, airflow(Nulls::Last));
    assert_eq!((count(&queued, "small"), count(&queued, "big")), (50, 0));

    // Six calls of patience and a bit, and then four ends.
    let queued = play(world, 12, true, small, ours());
    assert_eq!(count(&queued, "big"), 1);
}
