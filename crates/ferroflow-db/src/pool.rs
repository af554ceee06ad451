//! `slot_pool`: how many task instances of a kind may run at once.

use crate::notifications::{self, Notification};
use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// The pool of every task that names none.
pub const DEFAULT_POOL: &str = "default_pool";

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// How many slots; negative sets no limit.
    pub slots: i32,
    /// Whether a deferred task instance keeps its slots.
    pub include_deferred: bool,
    /// The team it belongs to.
    pub team_name: Option<String>,
}

/// One pool, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedPool {
    /// Its name.
    pub name: String,
    /// How many slots; negative sets no limit.
    pub slots: i32,
    /// What it is for.
    pub description: Option<String>,
    /// Whether a deferred task instance keeps its slots.
    pub include_deferred: bool,
    /// The team it belongs to.
    pub team_name: Option<String>,
}

/// All pools, in the order in which they were made.
pub async fn list(tx: &mut Tx) -> Result<Vec<DescribedPool>, Error> {
    let rows = tx.fetch_all(sql!("slot_pool/list_described"), Vec::new()).await?;
    let described = |row: &Row| {
        Ok(DescribedPool {
            name: row.get("pool")?,
            slots: row.get("slots")?,
            description: row.optional("description")?,
            include_deferred: row.get("include_deferred")?,
            team_name: row.optional("team_name")?,
        })
    };
    rows.iter().map(described).collect()
}

/// Makes a pool, or makes the one of that name so. Schedulers are told that there may be slots.
pub async fn set(tx: &mut Tx, pool: &DescribedPool) -> Result<(), Error> {
    let binds = binds![
        pool.name.as_str(),
        pool.slots,
        pool.description.as_deref(),
        pool.include_deferred,
        pool.team_name.as_deref(),
    ];
    tx.execute(sql!("slot_pool/set"), binds).await?;
    notifications::notify(tx, Notification::Slots).await
}

/// Deletes a pool. False if there is none of that name.
pub async fn delete(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    Ok(tx.execute(sql!("slot_pool/delete"), binds![name]).await? == 1)
}

/// All pools, locked until the transaction ends: the scheduler that holds them may queue task instances. `None` if
/// another scheduler does; the transaction is of no use then.
pub async fn lock_all(tx: &mut Tx) -> Result<Option<Vec<Pool>>, Error> {
    match tx.fetch_all(sql!("slot_pool/lock_all"), Vec::new()).await {
        // On PostgreSQL, who is not let in sees no pool.
        Ok(rows) if rows.is_empty() => {
            let any = tx.fetch_optional(sql!("slot_pool/any"), Vec::new()).await?;
            Ok(any.is_none().then(Vec::new))
        }
        Ok(rows) => tx.readable(&rows, pool).map(Some),
        Err(error) if error.is_busy() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the default pool unless it exists.
pub async fn add_default_if_missing(tx: &mut Tx, slots: i32) -> Result<(), Error> {
    if tx.fetch_optional(sql!("slot_pool/find"), binds![DEFAULT_POOL]).await?.is_none() {
        tx.execute(sql!("slot_pool/insert"), binds![DEFAULT_POOL, slots, "Default pool", false]).await?;
    }
    Ok(())
}

pub(crate) fn pool(row: &Row) -> Result<Pool, Error> {
    Ok(Pool {
        name: row.get("pool")?,
        slots: row.get("slots")?,
        include_deferred: row.get("include_deferred")?,
        team_name: row.optional("team_name")?,
    })
}
