//! Random worlds. Names, numbers and times are few, so that limits are met and ties occur.

use std::sync::Arc;

use ferroflow_model::admission::{
    Candidate, DEFAULT_PATIENCE, DagLimits, Executor, ExecutorName, Executors, Limits, Pool, Tick,
};
use ferroflow_model::state::TaskState;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::admission::world::{World, at, candidate, mapped};

const TEAMS: &[Option<&str>] = &[None, None, None, None, None, None, None, Some("red"), Some("blue")];
const EXECUTORS: &[Option<&str>] =
    &[None, None, None, None, None, None, Some("A"), Some("b.B"), Some("B"), Some("CExecutor"), Some("Gone")];

/// A world with anything in it.
pub(crate) fn world() -> impl Strategy<Value = World> {
    (limits(), vec(task(), 6), vec(0..4_i64, 9), instances(), (budget(), prop_oneof![0..200_i64, Just(500)]))
        .prop_map(|(limits, tasks, runs, instances, (budget, now))| {
            let mut world = World {
                limits,
                holders: Vec::new(),
                candidates: Vec::new(),
                tick: Tick { now: at(now), patience: DEFAULT_PATIENCE, budget },
            };
            for (identity, instance) in instances {
                let (dag, run, task, map_index) = identity;
                let made = Candidate {
                    is_backfill: run == 2,
                    run_after: at(runs[dag * 3 + run]),
                    waiting_since: at(instance.since),
                    priority_weight: instance.priority,
                    key: mapped(&format!("d{dag}/r{run}/t{task}"), map_index).key,
                    ..tasks[dag * 2 + task].clone()
                };
                match instance.state {
                    None => world.candidates.push(made),
                    Some(state) => world.holders.push((made, state)),
                }
            }
            world
        })
}

#[derive(Clone, Debug)]
struct Instance {
    /// `None` if it waits.
    state: Option<TaskState>,
    priority: i64,
    since: i64,
}

type Identity = (usize, usize, usize, i32);

fn instances() -> impl Strategy<Value = std::collections::BTreeMap<Identity, Instance>> {
    let state = prop_oneof![4 => Just(None), 1 => select(TaskState::ALL).prop_map(Some)];
    let priority = prop_oneof![6 => Just(1_i64), 2 => Just(2), 1 => select(vec![i64::MIN, i64::MAX])];
    let instance = (state, priority, 0..150_i64).prop_map(|(state, priority, since)| Instance {
        state,
        priority,
        since: since / 20 * 20,
    });
    btree_map((0..3_usize, 0..3_usize, 0..2_usize, 0..4_i32), instance, 0..50)
}

/// What a task says about its instances, as one of them.
fn task() -> impl Strategy<Value = Candidate> {
    let slots = prop_oneof![6 => Just(1), 9 => 2..5, 1 => select(vec![0, -1, i32::MAX, i32::MIN])];
    let limit = || prop_oneof![3 => Just(None), 2 => option::of(-1..5)];
    let pool = select(vec!["p0", "p0", "p0", "p1", "p1", "p2", "gone"]);
    (pool, slots, select(EXECUTORS), limit(), limit()).prop_map(
        |(pool, slots, executor, per_dag, per_dagrun)| Candidate {
            pool: pool.into(),
            pool_slots: slots,
            executor: executor.map(Into::into),
            max_active_tis_per_dag: per_dag,
            max_active_tis_per_dagrun: per_dagrun,
            ..candidate("d/r/t")
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let slots = prop_oneof![6 => 1..12, 1 => Just(-1), 1 => select(vec![0, -7, i32::MAX, i32::MIN])];
    let pool = (slots, any::<bool>(), team()).prop_map(|(slots, include_deferred, team)| Pool {
        slots,
        include_deferred,
        team,
    });
    let dag = (prop_oneof![4 => 1..9, 4 => Just(99), 1 => -1..1], prop::bool::weighted(0.1), team())
        .prop_map(|(max_active_tasks, is_paused, team)| DagLimits { max_active_tasks, is_paused, team });
    let named = || (select(vec![(Some("A"), "a.A"), (None, "b.B"), (Some("C"), "c.CExecutor")]), team());
    let executor = || {
        (named(), prop_oneof![1 => -1..9_i64, 2 => Just(99)], 0..3_i64).prop_map(
            |(((alias, path), team), slots, occupied)| {
                let name = ExecutorName { alias: alias.map(Into::into), module_path: path.into(), team };
                Executor { name: Arc::new(name), slots, occupied }
            },
        )
    };
    let parallelism = prop_oneof![1 => 0..12_i64, 3 => Just(i64::MAX)];
    (
        vec(pool, 3),
        vec(dag, 3),
        prop_oneof![1 => vec(executor(), 0..1), 9 => vec(executor(), 1..4)],
        parallelism,
    )
        .prop_map(|(pools, dags, list, parallelism)| {
            let named = |letter: char, number: usize| Arc::from(format!("{letter}{number}"));
            Limits {
                pools: pools.into_iter().enumerate().map(|(n, pool)| (named('p', n), pool)).collect(),
                dags: dags.into_iter().enumerate().map(|(n, dag)| (named('d', n), dag)).collect(),
                executors: Executors { list, parallelism },
            }
        })
}

fn team() -> impl Strategy<Value = Option<Arc<str>>> {
    any::<Index>().prop_map(|index| index.get(TEAMS).map(Arc::from))
}

fn budget() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 0..6_usize, 3 => Just(usize::MAX)]
}
