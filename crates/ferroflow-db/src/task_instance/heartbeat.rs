//! Heartbeats of many task instances at once.

use std::collections::HashSet;

use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{BATCH, Bind, sql};
use crate::{Error, Tx};

/// What there is under an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceStatus {
    /// The current try of an instance.
    Current {
        /// Where it stands, in Airflow's word.
        state: Option<String>,
        /// The host it runs on.
        hostname: Option<String>,
        /// Its process.
        pid: Option<i32>,
    },
    /// An earlier try.
    Archived,
}

/// Notes that these instances, each with its process, run on a host. Returns those that do and that no other transaction has
/// locked: others are left alone, and no row is waited for. A process of the list counts for every instance of it:
/// the caller has them all, and knows which belongs to which.
pub async fn record(
    tx: &mut Tx,
    hostname: &str,
    running: &[(Uuid, i32)],
    now: Timestamp,
) -> Result<HashSet<(Uuid, i32)>, Error> {
    let mut heard = HashSet::with_capacity(running.len());
    for running in running.chunks(BATCH) {
        let binds = vec![
            running.iter().map(|(id, _)| *id).collect(),
            Bind::from(hostname),
            running.iter().map(|(_, pid)| *pid).collect(),
        ];
        let rows = tx.fetch_all(sql!("task_instance/lock_beating"), binds).await?;
        let locked: Vec<(Uuid, i32)> =
            rows.iter().map(|row| Ok((row.get("id")?, row.get("pid")?))).collect::<Result<_, Error>>()?;
        if locked.is_empty() {
            continue;
        }
        let binds = vec![Bind::from(now), Bind::from(now), locked.iter().map(|(id, _)| *id).collect()];
        tx.execute(sql!("task_instance/heartbeat"), binds).await?;
        heard.extend(locked);
    }
    Ok(heard)
}

/// What there is under these ids; of an id that is nowhere, nothing.
pub async fn statuses(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<(Uuid, InstanceStatus)>, Error> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let list: Bind = ids.iter().copied().collect();
        for row in &tx.fetch_all(sql!("task_instance/heartbeats"), vec![list; 2]).await? {
            let pulse = if row.get::<i64>("is_archived")? == 1 {
                InstanceStatus::Archived
            } else {
                InstanceStatus::Current {
                    state: tx.or_note(row.optional("state"))?.flatten(),
                    hostname: tx.or_note(row.optional("hostname"))?.flatten(),
                    pid: tx.or_note(row.optional("pid"))?.flatten(),
                }
            };
            found.push((row.get("id")?, pulse));
        }
    }
    Ok(found)
}
