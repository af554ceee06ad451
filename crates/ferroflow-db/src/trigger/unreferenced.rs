//! `trigger`: those that nothing waits for.

use std::collections::HashSet;

use crate::statement::{Bind, binds, sql};
use crate::{Error, Tx};

/// What a look at some triggers led to.
#[derive(Debug, Default)]
pub struct Swept {
    /// How many were removed.
    pub removed: u64,
    /// The last one that was looked at; `None` if there are no more.
    pub last: Option<i64>,
    /// Those that are still there, and why.
    pub left: Vec<(i64, Error)>,
}

/// Removes triggers that no watcher, no task instance and no callback waits for: looks at as many as given, after one.
///
/// Removing a trigger removes what waits for it. So they are locked first, which keeps watchers from sharing them, and
/// whether anything waits for them is asked again.
pub async fn sweep(tx: &mut Tx, after: i64, limit: u32) -> Result<Swept, Error> {
    let rows = tx.fetch_all(sql!("trigger/lock_unreferenced"), binds![after, i64::from(limit)]).await?;
    let mut ids: Vec<i64> = rows.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
    let Some(last) = ids.last().copied() else { return Ok(Swept::default()) };
    let all: Bind = ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("trigger/referenced"), vec![all; 3]).await?;
    let referenced: HashSet<i64> = rows.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
    ids.retain(|id| !referenced.contains(id));
    let mut swept = Swept { last: Some(last), ..Swept::default() };
    for some in ids.chunks(tx.rows_in_a_part(ids.len())) {
        tx.begin_part().await?;
        let removed = tx.execute(sql!("trigger/delete_some"), vec![some.iter().copied().collect()]).await;
        match tx.end_part(removed).await? {
            Ok(removed) => swept.removed += removed,
            Err(error) => swept.left.extend(some.first().map(|id| (*id, error))),
        }
    }
    Ok(swept)
}
