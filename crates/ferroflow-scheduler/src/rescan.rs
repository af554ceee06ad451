//! What no event and no notification has told: runs without a scheduler, and rows that others have written.
//!
//! Takes no locks. Whatever is found is looked at again by the step that acts on it.

use std::collections::{BTreeSet, HashMap, HashSet};

use ferroflow_component::{EXECUTOR_CLASS, JobType};
use ferroflow_db::dag_run::ClaimedRun;
use ferroflow_db::dag_run::ownership::{self, PeersAlive, TrackedRun, UnownedRuns};
use ferroflow_db::task_instance::dependencies;
use ferroflow_db::task_instance::scheduling::InstanceRow;
use ferroflow_db::{Error as DbError, Page, ScopedFutureExt as _, Tx};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_telemetry::clock::signed;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::active_runs::{ActiveRuns, RunKey};
use crate::fair_queue::Cause;
use crate::rounds::{FAR_LOOKS, OVERLAP, Part, Rounds};
use crate::run::{ActiveRun, Definition};
use crate::{Context, Error};

/// The type of jobs that schedulers are.
pub const JOB_TYPE: &str = JobType::Scheduler.as_str();

/// A run that was not looked at for so long is left behind, whichever scheduler had it.
const LEFT_BEHIND: SignedDuration = SignedDuration::from_mins(2);

/// How many runs are taken on at a time.
const MAX_RUNS: i64 = 1000;

/// How many instances that others may have are looked at besides those whose turn it is.
const MAX_ELSEWHERE: usize = 5_000;

/// What the last look has found.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Other schedulers that look after their runs by themselves.
    pub peers: HashSet<i64>,
    rounds: Rounds,
    looked: Option<Timestamp>,
    looked_far: Option<Timestamp>,
    /// The run from which on instances that others may have are looked at next.
    elsewhere: i64,
    /// Whether a notification says that DAGs have changed: then all are looked at, and not only those of some runs.
    pub(crate) have_dags_changed: bool,
    /// The run after which those without a scheduler are looked for next, if there are too many for one rescan.
    unowned_runs: i64,
}

impl Surroundings {
    /// Whether the next look goes far back. A clock that was set back makes it so.
    fn is_to_look_far(&self, now: Timestamp) -> bool {
        self.looked_far.is_none_or(|at| now < at || now.duration_since(at) >= FAR_LOOKS)
    }

    /// Instances that others may have, so many at a time: something happens there sooner than elsewhere.
    fn elsewhere(&mut self, active_runs: &ActiveRuns, here: &HashSet<Uuid>) -> Vec<Uuid> {
        let others = active_runs.on_their_way(self.elsewhere + 1).filter(|(_, id)| !here.contains(id));
        let chosen: Vec<(i64, Uuid)> = others.take(MAX_ELSEWHERE).collect();
        self.elsewhere = chosen.last().map_or(0, |(run, _)| *run);
        chosen.into_iter().map(|(_, id)| id).collect()
    }
}

/// What is asked about.
struct Asked<'a> {
    /// Runs, with all of their instances.
    parts: &'a [Part],
    /// Instances that others may have,
    elsewhere: &'a [Uuid],
    /// and since when what was written there is read.
    since: Timestamp,
    definitions: &'a [(&'a str, &'a Definition)],
    /// The runs that are looked after,
    active_runs: &'a ActiveRuns,
    /// and after which one those are looked for that have no scheduler.
    unowned_runs: i64,
}

struct Found {
    peers: Vec<i64>,
    unowned_runs: Page<ClaimedRun, i64>,
    states: Vec<TrackedRun>,
    changed: Vec<(i64, InstanceRow)>,
    changed_dags: BTreeSet<String>,
}

/// Looks around, and has the attended runs know of it. `here` are the tries that executors of this scheduler have: of
/// those it hears.
pub(crate) async fn rescan(
    cx: &Context,
    active_runs: &mut ActiveRuns,
    surroundings: &mut Surroundings,
    here: &HashSet<Uuid>,
    now: Timestamp,
) -> Result<(), Error> {
    let is_far = surroundings.is_to_look_far(now);
    let sizes = active_runs.sizes();
    let parts = surroundings.rounds.next(&sizes, now);
    let of_parts: usize = parts.iter().map(|part| part.ids.len()).sum();
    let elsewhere =
        if of_parts < sizes.len() { surroundings.elsewhere(active_runs, here) } else { Vec::new() };
    let since = surroundings.looked.unwrap_or(now).min(now).checked_sub(OVERLAP).unwrap_or(Timestamp::MIN);
    let definitions = if of_parts < sizes.len() && !surroundings.have_dags_changed {
        untied(parts.iter().flat_map(|part| &part.ids).filter_map(|id| active_runs.read_run(*id)))
    } else {
        untied(active_runs.read())
    };
    let asked = &Asked {
        parts: &parts,
        elsewhere: &elsewhere,
        since,
        definitions: &definitions,
        active_runs,
        unowned_runs: surroundings.unowned_runs,
    };
    let found: Found = cx.db.read(|tx| async move { gather(cx, tx, asked, now).await }.scope_boxed()).await?;
    surroundings.peers = found.peers.into_iter().filter(|id| *id != cx.job_id).collect();
    if is_far {
        look_at_the_past(cx, active_runs).await?;
        surroundings.looked_far = Some(now);
    }
    surroundings.looked = Some(now);
    surroundings.have_dags_changed = false;
    surroundings.rounds.done(&parts, &sizes, now);
    let ids: Vec<i64> = parts.into_iter().flat_map(|part| part.ids).collect();
    take_in_states(active_runs, &ids, found.states);
    for (id, row) in &found.changed {
        active_runs.see(*id, row);
    }
    for dag_id in &found.changed_dags {
        active_runs.dag_has_changed(dag_id);
    }
    surroundings.unowned_runs = found.unowned_runs.next.unwrap_or(surroundings.unowned_runs);
    for run in found.unowned_runs.found {
        let key = key_of(&run);
        if !active_runs.contains(&key) {
            active_runs.track(key, run.id, Cause::Crowd);
        }
    }
    Ok(())
}

/// Any run may wait for one before it of which there is no event: it is made, or is gone, or another scheduler's.
async fn look_at_the_past(cx: &Context, active_runs: &mut ActiveRuns) -> Result<(), Error> {
    let asked = &active_runs.with_past();
    if asked.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let read = cx.db.read(|tx| {
        async move {
            let [scheduled, any] = asked;
            let mut earlier = dependencies::earlier_of(tx, scheduled, false).await?;
            earlier.extend(dependencies::earlier_of(tx, any, true).await?);
            Ok(earlier)
        }
        .scope_boxed()
    });
    let elsewhere = active_runs.compare_past(&read.await?);
    let ids: &BTreeSet<i64> = &elsewhere.iter().map(|(_, earlier)| *earlier).collect();
    let ids: &Vec<i64> = &ids.iter().copied().collect();
    let stands = cx.db.read(|tx| async move { dependencies::progress(tx, ids).await }.scope_boxed()).await?;
    active_runs.compare_stands(&elsewhere, &stands);
    Ok(())
}

/// Looks at runs that notifications name, as far as they are tracked; answers which task instances wait there to
/// be queued that did not before.
pub(crate) async fn look_at(
    cx: &Context,
    active_runs: &mut ActiveRuns,
    keys: &BTreeSet<RunKey>,
    now: Timestamp,
) -> Result<Vec<Uuid>, Error> {
    let ids: Vec<i64> = keys.iter().filter_map(|key| active_runs.id_of(key)).collect();
    let since = now.checked_sub(OVERLAP).unwrap_or(Timestamp::MIN);
    let ids_read = ids.as_slice();
    let read = cx.db.read(|tx| {
        async move {
            let states = ownership::states(tx, ids_read).await?;
            Ok((states, ownership::changed(tx, ids_read, since).await?))
        }
        .scope_boxed()
    });
    let (states, changed) = read.await?;
    take_in_states(active_runs, &ids, states);
    let mut ready = Vec::new();
    for (id, row) in &changed {
        if active_runs.see(*id, row) && row.state == Some(TaskState::Scheduled) {
            ready.push(row.id);
        }
    }
    Ok(ready)
}

/// Runs that do not run are left, and those of paused DAGs held.
fn take_in_states(active_runs: &mut ActiveRuns, ids: &[i64], states: Vec<TrackedRun>) {
    let there: HashMap<i64, TrackedRun> = states.into_iter().map(|run| (run.id, run)).collect();
    for id in ids {
        match there.get(id) {
            Some(run) if run.state == RunState::Running => active_runs.hold(*id, run.is_held),
            _ => {
                if let Some(key) = active_runs.key_of(*id).cloned() {
                    // Whatever waits for it looks at it.
                    active_runs.past_has_changed(&key, None);
                    active_runs.untrack(&key);
                }
            }
        }
    }
}

async fn gather(cx: &Context, tx: &mut Tx, asked: &Asked<'_>, now: Timestamp) -> Result<Found, DbError> {
    let before = |ago: SignedDuration| now.checked_sub(ago).unwrap_or(Timestamp::MIN);
    let threshold = cx.settings.scheduler.scheduler_health_check_threshold;
    let peers = PeersAlive {
        executor_class: EXECUTOR_CLASS,
        heartbeat_since: before(signed(threshold)),
        examined_since: before(LEFT_BEHIND),
    };
    let (mut states, mut changed) = (Vec::new(), Vec::new());
    for part in asked.parts {
        states.extend(ownership::states(tx, &part.ids).await?);
        changed.extend(ownership::changed(tx, &part.ids, part.since).await?);
    }
    if !asked.elsewhere.is_empty() {
        changed.extend(ownership::changed_some(tx, asked.elsewhere, asked.since).await?);
    }
    Ok(Found {
        peers: ownership::living_peers(tx, JOB_TYPE, peers).await?,
        unowned_runs: unowned_runs(tx, asked, peers, now).await?,
        states,
        changed,
        changed_dags: cx.definitions.changed(tx, asked.definitions).await?,
    })
}

/// Runs without a scheduler. Those that cannot be read or written stay such, and however many they are, they hide no other
/// for good: where a rescan finds only what is known, the next goes on where it has ended.
async fn unowned_runs(
    tx: &mut Tx,
    asked: &Asked<'_>,
    peers: PeersAlive<'_>,
    now: Timestamp,
) -> Result<Page<ClaimedRun, i64>, DbError> {
    let UnownedRuns { runs, may_be_more } = ownership::unowned(tx, peers, now, MAX_RUNS).await?;
    if may_be_more && runs.iter().all(|run| asked.active_runs.contains(&key_of(run))) {
        return ownership::unowned_in_turn(tx, peers, now, asked.unowned_runs, MAX_RUNS).await;
    }
    Ok(Page { found: runs, next: None })
}

fn key_of(run: &ClaimedRun) -> RunKey {
    RunKey { dag_id: run.dag_id.clone(), run_id: run.run_id.clone() }
}

/// The DAGs that runs follow as they change, each version of them that some run goes by.
fn untied<'a>(runs: impl Iterator<Item = (&'a RunKey, &'a ActiveRun)>) -> Vec<(&'a str, &'a Definition)> {
    let untied = runs.filter(|(_, run)| Definition::version_of_run(&run.row).is_none());
    let mut all: Vec<(&str, &Definition)> =
        untied.map(|(key, run)| (key.dag_id.as_str(), &*run.definition)).collect();
    // Runs of one DAG stand together, and nearly always share it.
    all.dedup_by(|(_, one), (_, other)| std::ptr::eq(*one, *other));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_far_now_and_then_and_when_the_clock_was_set_back() {
        let start = Timestamp::constant(1_800_000_000, 0);
        let mut surroundings = Surroundings::default();
        assert!(surroundings.is_to_look_far(start));
        surroundings.looked_far = Some(start);
        assert!(!surroundings.is_to_look_far(start + FAR_LOOKS / 2));
        assert!(surroundings.is_to_look_far(start + FAR_LOOKS));
        assert!(surroundings.is_to_look_far(start - SignedDuration::from_secs(1)));
    }
}
