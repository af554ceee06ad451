//! What nobody has told: runs that nobody looks after, and rows that others have written.
//!
//! Takes no locks. Whatever is found is looked at again by the step that acts on it.

use std::collections::{BTreeSet, HashMap, HashSet};

use ferroflow_db::attending::{self, AttendedRun, PeersAlive};
use ferroflow_db::dag_run::ClaimedRun;
use ferroflow_db::task_instance_step::InstanceRow;
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_telemetry::clock::signed;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::attended::{Attended, RunKey};
use crate::run::Definition;
use crate::{Context, Error};

/// What schedulers that look after their runs by themselves have as their `executor_class`; official ones have none.
pub const EXECUTOR_CLASS: &str = "ferroflow";

/// The type of jobs that schedulers are.
pub const JOB_TYPE: &str = "SchedulerJob";

/// A run that was not looked at for so long is left behind, whoever had it.
const LEFT_BEHIND: SignedDuration = SignedDuration::from_mins(2);

/// Clocks differ, and transactions take time: rows that were written so long before the last look are read again.
const OVERLAP: SignedDuration = SignedDuration::from_secs(10);

/// Every so often that is not taken for granted: a clock may be wrong, or somebody may have stood still within a
/// transaction. Then rows are read again that were written this long before.
const FAR_LOOKS: SignedDuration = SignedDuration::from_secs(20);
const FAR: SignedDuration = SignedDuration::from_mins(5);

/// How many runs are taken on at a time.
const MOST_RUNS: i64 = 1000;

/// What the last look has found.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Other schedulers that look after their runs by themselves.
    pub peers: HashSet<i64>,
    looked: Option<Timestamp>,
    looked_far: Option<Timestamp>,
}

impl Surroundings {
    /// Whether the next look goes far back. A clock that was set back makes it so.
    fn is_to_look_far(&self, now: Timestamp) -> bool {
        self.looked_far.is_none_or(|at| now < at || now.duration_since(at) >= FAR_LOOKS)
    }
}

struct Found {
    peers: Vec<i64>,
    unattended: Vec<ClaimedRun>,
    states: Vec<AttendedRun>,
    changed: Vec<(i64, InstanceRow)>,
    changed_dags: BTreeSet<String>,
}

/// Looks around, and has the attended runs know of it.
pub async fn look_around(
    cx: &Context,
    attended: &mut Attended,
    surroundings: &mut Surroundings,
    now: Timestamp,
) -> Result<(), Error> {
    let is_far = surroundings.is_to_look_far(now);
    let reach = if is_far { FAR } else { OVERLAP };
    let since = surroundings.looked.unwrap_or(now).min(now).checked_sub(reach).unwrap_or(Timestamp::MIN);
    let ids = attended.ids();
    let definitions = untied_definitions(attended);
    let (ids_read, definitions) = (ids.as_slice(), &definitions);
    let found: Found = cx
        .db
        .read(|tx| async move { gather(cx, tx, ids_read, definitions, since, now).await }.scope_boxed())
        .await?;
    surroundings.peers = found.peers.into_iter().filter(|id| *id != cx.job_id).collect();
    surroundings.looked = Some(now);
    if is_far {
        surroundings.looked_far = Some(now);
        attended.look_at_the_past();
    }
    take_in_states(attended, &ids, found.states);
    for (id, row) in &found.changed {
        attended.see(*id, row);
    }
    for dag_id in &found.changed_dags {
        attended.dag_has_changed(dag_id);
    }
    for run in found.unattended {
        let key = RunKey { dag_id: run.dag_id, run_id: run.run_id };
        if !attended.contains(&key) {
            attended.attend(key);
        }
    }
    Ok(())
}

/// Looks at runs that somebody has talked of, as far as they are looked after; answers which task instances wait there to
/// be queued that did not before.
pub(crate) async fn look_at(
    cx: &Context,
    attended: &mut Attended,
    keys: &BTreeSet<RunKey>,
    now: Timestamp,
) -> Result<Vec<Uuid>, Error> {
    let ids: Vec<i64> = keys.iter().filter_map(|key| attended.id_of(key)).collect();
    let since = now.checked_sub(OVERLAP).unwrap_or(Timestamp::MIN);
    let ids_read = ids.as_slice();
    let read = cx.db.read(|tx| {
        async move {
            let states = attending::states(tx, ids_read).await?;
            Ok((states, attending::changed(tx, ids_read, since).await?))
        }
        .scope_boxed()
    });
    let (states, changed) = read.await?;
    take_in_states(attended, &ids, states);
    let mut ready = Vec::new();
    for (id, row) in &changed {
        if attended.see(*id, row) && row.state == Some(TaskState::Scheduled) {
            ready.push(row.id);
        }
    }
    Ok(ready)
}

/// Runs that do not run are left, and those of paused DAGs held.
fn take_in_states(attended: &mut Attended, ids: &[i64], states: Vec<AttendedRun>) {
    let there: HashMap<i64, AttendedRun> = states.into_iter().map(|run| (run.id, run)).collect();
    for id in ids {
        match there.get(id) {
            Some(run) if run.state == RunState::Running => attended.hold(*id, run.is_held),
            _ => {
                if let Some(key) = attended.key_of(*id).cloned() {
                    attended.leave(&key);
                }
            }
        }
    }
}

async fn gather(
    cx: &Context,
    tx: &mut Tx,
    ids: &[i64],
    definitions: &[(&str, &Definition)],
    since: Timestamp,
    now: Timestamp,
) -> Result<Found, DbError> {
    let before = |ago: SignedDuration| now.checked_sub(ago).unwrap_or(Timestamp::MIN);
    let threshold = cx.settings.scheduler.scheduler_health_check_threshold;
    let peers = PeersAlive {
        executor_class: EXECUTOR_CLASS,
        heartbeat_since: before(signed(threshold)),
        examined_since: before(LEFT_BEHIND),
    };
    Ok(Found {
        peers: attending::living_peers(tx, JOB_TYPE, peers).await?,
        unattended: attending::unattended(tx, peers, now, MOST_RUNS).await?,
        states: attending::states(tx, ids).await?,
        changed: attending::changed(tx, ids, since).await?,
        changed_dags: cx.definitions.changed(tx, definitions).await?,
    })
}

/// The DAGs that runs follow as they change, each version of them that some run goes by.
fn untied_definitions(attended: &Attended) -> Vec<(&str, &Definition)> {
    let untied = attended.read().filter(|(_, run)| Definition::version_of_run(&run.row).is_none());
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
