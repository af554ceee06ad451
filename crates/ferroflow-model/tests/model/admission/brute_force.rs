//! Whether a candidate fits, found by counting everybody anew.

use ferroflow_model::admission::{Admitted, Candidate};
use ferroflow_model::state::TaskState;

use crate::admission::world::World;

/// What is in the way of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Nothing; it goes to this executor.
    Fits(usize),
    /// Only that too few slots of its pool are open.
    LacksSlots,
    /// Something else.
    Blocked,
}

/// Whether a candidate fits within every limit but the budget and `parallelism`, next to all that was
/// admitted.
pub(crate) fn fit(world: &World, admitted: &[Admitted], candidate: &Candidate) -> Fit {
    let Some(dag) = world.limits.dags.get(&candidate.key.dag_id).filter(|dag| !dag.is_paused) else {
        return Fit::Blocked;
    };
    let Some(pool) = world.limits.pools.get(&candidate.pool) else {
        return Fit::Blocked;
    };
    if pool.team.is_some() && pool.team != dag.team {
        return Fit::Blocked;
    }
    let Some(executor) = executor(world, candidate, dag.team.as_deref()) else {
        return Fit::Blocked;
    };
    let with_it = admitted.iter().filter(|one| one.executor == executor).count();
    let chosen = &world.limits.executors.list[executor];
    let others_fit = chosen.occupied + i64::try_from(with_it).unwrap() < chosen.slots
        && active(world, admitted, candidate)
            .into_iter()
            .all(|(count, limit)| limit.is_none_or(|limit| count < limit));
    let total = if pool.slots == -1 { i64::MAX / 2 } else { pool.slots.into() };
    let open = total - slots(world, admitted, candidate, pool.include_deferred);
    match i64::from(candidate.pool_slots) {
        wanted if !others_fit || open <= 0 || wanted > total => Fit::Blocked,
        wanted if wanted > open => Fit::LacksSlots,
        _ => Fit::Fits(executor),
    }
}

/// Whether what is in the way of a candidate is in the way of all of its run that wait for the same pool.
pub(crate) fn is_run_blocked(world: &World, admitted: &[Admitted], candidate: &Candidate) -> bool {
    let Some(dag) = world.limits.dags.get(&candidate.key.dag_id).filter(|dag| !dag.is_paused) else {
        return true;
    };
    let [(count, limit), ..] = active(world, admitted, candidate);
    let pool = &world.limits.pools[&candidate.pool];
    pool.team.is_some() && pool.team != dag.team || limit.is_some_and(|limit| count >= limit)
}

/// The counts that limits are for, each with its limit: of the run, of the task, of the task in the run.
fn active(world: &World, admitted: &[Admitted], candidate: &Candidate) -> [(i32, Option<i32>); 3] {
    let mut counts = [0; 3];
    let held = world.holders.iter().map(|(holder, state)| (&holder.key, *state));
    for (key, state) in held.chain(admitted.iter().map(|one| (&one.key, TaskState::Queued))) {
        let executing = state == TaskState::Queued || state == TaskState::Running;
        let active = executing || state == TaskState::Deferred || state == TaskState::AwaitingInput;
        let same_run = key.run_id == candidate.key.run_id;
        let same_task = key.task_id == candidate.key.task_id;
        if key.dag_id == candidate.key.dag_id {
            counts[0] += i32::from(executing && same_run);
            counts[1] += i32::from(active && same_task);
            counts[2] += i32::from(active && same_task && same_run);
        }
    }
    let of_dag = world.limits.dags[&candidate.key.dag_id].max_active_tasks;
    [
        (counts[0], Some(of_dag)),
        (counts[1], candidate.max_active_tis_per_dag),
        (counts[2], candidate.max_active_tis_per_dagrun),
    ]
}

fn slots(world: &World, admitted: &[Admitted], candidate: &Candidate, include_deferred: bool) -> i64 {
    let held = world.holders.iter().filter(|(holder, state)| {
        let holds = match state {
            TaskState::Queued | TaskState::Running => true,
            TaskState::Deferred => include_deferred,
            _ => false,
        };
        holds && holder.pool == candidate.pool
    });
    // What a negative number gives back counts from the next call on.
    let taken = admitted.iter().map(|one| world.find(&one.key)).filter(|one| one.pool == candidate.pool);
    held.map(|(holder, _)| i64::from(holder.pool_slots)).sum::<i64>()
        + taken.map(|one| i64::from(one.pool_slots.max(0))).sum::<i64>()
}

fn executor(world: &World, candidate: &Candidate, team: Option<&str>) -> Option<usize> {
    let list = &world.limits.executors.list;
    let mut for_team =
        (0..list.len()).filter(|place| team.is_some() && list[*place].name.team.as_deref() == team);
    match &candidate.executor {
        None if list.is_empty() => None,
        None => Some(for_team.next().unwrap_or(0)),
        Some(name) => (0..list.len()).find(|place| {
            let one = &list[*place];
            let named = one.name.alias.as_ref() == Some(name)
                || one.name.module_path == *name
                || one.name.module_path.split('.').next_back() == Some(name);
            named && (one.name.team.is_none() || one.name.team.as_deref() == team)
        }),
    }
}
