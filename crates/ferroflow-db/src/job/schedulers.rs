//! `job`, as far as schedulers see from it which of them are gone.

use jiff::Timestamp;

use crate::job::row::latest_possible;
use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// A scheduler that has not been heard of for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerWithoutHeartbeat {
    /// Its row.
    pub id: i64,
    /// The host it ran on.
    pub hostname: Option<String>,
    /// When it was last heard of.
    pub latest_heartbeat: Option<Timestamp>,
}

/// The schedulers that are said to run and were last heard of before a time, or at none that can be believed.
pub async fn without_heartbeat(
    tx: &mut Tx,
    before: Timestamp,
    now: Timestamp,
) -> Result<Vec<SchedulerWithoutHeartbeat>, Error> {
    let rows =
        tx.fetch_all(sql!("job/schedulers_without_heartbeat"), binds![before, latest_possible(now)]).await?;
    let scheduler = |row: &Row| {
        Ok(SchedulerWithoutHeartbeat {
            id: row.get("id")?,
            // Whatever they hold, it is silent.
            hostname: tx.or_note(row.optional("hostname"))?.flatten(),
            latest_heartbeat: tx.or_note(row.optional("latest_heartbeat"))?.flatten(),
        })
    };
    tx.readable(&rows, scheduler)
}

/// Notes that a scheduler is gone. False if it has sent a heartbeat since, or if another scheduler was faster.
pub async fn fail(tx: &mut Tx, id: i64, before: Timestamp, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("job/fail"), binds![id, before, latest_possible(now)]).await? == 1)
}

/// The schedulers that were heard of since a time and do not run any more: ended, or given up.
pub async fn ended(tx: &mut Tx, since: Timestamp) -> Result<Vec<i64>, Error> {
    let rows = tx.fetch_all(sql!("job/ended_schedulers"), binds![since]).await?;
    tx.readable(&rows, |row| row.get("id"))
}
