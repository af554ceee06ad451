//! `trigger`: those that nothing waits for.

use std::collections::HashSet;

use crate::bind::{Bind, binds};
use crate::error::Error;
use crate::statement::sql;
use crate::tx::Tx;

/// What a look at some triggers led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// How many were removed.
    pub removed: u64,
    /// The last one that was looked at; `None` if there are no more.
    pub last: Option<i64>,
}

/// Removes triggers that no watcher, no task instance and no callback waits for: looks at as many as given, after one.
///
/// Removing a trigger removes what waits for it. So they are locked first, which keeps watchers from sharing them, and
/// whether anything waits for them is asked again.
pub async fn sweep(tx: &mut Tx, after: i64, limit: u32) -> Result<Swept, Error> {
    let rows = tx.fetch_all(sql!("trigger/lock_unreferenced"), binds![after, i64::from(limit)]).await?;
    let mut ids: Vec<i64> = rows.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
    let Some(last) = ids.last().copied() else { return Ok(Swept { removed: 0, last: None }) };
    let all: Bind = ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("trigger/referenced"), vec![all; 3]).await?;
    let referenced: HashSet<i64> = rows.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
    ids.retain(|id| !referenced.contains(id));
    if ids.is_empty() {
        return Ok(Swept { removed: 0, last: Some(last) });
    }
    let removed = tx.execute(sql!("trigger/delete_some"), vec![ids.into_iter().collect()]).await?;
    Ok(Swept { removed, last: Some(last) })
}
