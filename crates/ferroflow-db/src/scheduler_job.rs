//! `job`, as far as schedulers see from it which of them are gone.

use jiff::Timestamp;

use crate::bind::binds;
use crate::error::Error;
use crate::row::Row;
use crate::statement::sql;
use crate::tx::Tx;

/// A scheduler that has not been heard of for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentScheduler {
    /// Its row.
    pub id: i64,
    /// The host it ran on.
    pub hostname: Option<String>,
    /// When it was last heard of.
    pub latest_heartbeat: Option<Timestamp>,
}

/// The schedulers that are said to run and were last heard of before a time.
pub async fn silent(tx: &mut Tx, before: Timestamp) -> Result<Vec<SilentScheduler>, Error> {
    let rows = tx.fetch_all(sql!("job/silent_schedulers"), binds![before]).await?;
    let scheduler = |row: &Row| {
        Ok(SilentScheduler {
            id: row.get("id")?,
            hostname: row.optional("hostname")?,
            latest_heartbeat: row.optional("latest_heartbeat")?,
        })
    };
    rows.iter().map(scheduler).collect()
}

/// Notes that a scheduler is gone. False if it was heard of since, or if somebody was faster.
pub async fn give_up(tx: &mut Tx, id: i64, before: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("job/give_up"), binds![id, before]).await? == 1)
}

/// The schedulers that were heard of since a time and do not run any more: ended, or given up.
pub async fn ended(tx: &mut Tx, since: Timestamp) -> Result<Vec<i64>, Error> {
    let rows = tx.fetch_all(sql!("job/ended_schedulers"), binds![since]).await?;
    rows.iter().map(|row| row.get("id")).collect()
}
