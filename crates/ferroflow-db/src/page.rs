//! Lists that are read in parts, by the id of their rows.

use crate::error::Error;
use crate::row::{Column, Row};
use crate::tx::Tx;

/// Some of many rows: those that can be read, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, I> {
    /// What can be read. However little that is, there may be more behind it.
    pub found: Vec<T>,
    /// Where the next part begins: after this id. `None` if this was the last.
    pub next: Option<I>,
}

impl Tx {
    /// What rows mean that a statement with a limit has found, in the order of `id`.
    pub(crate) fn page<T, I: Column>(
        &self,
        rows: &[Row],
        limit: i64,
        decode: impl FnMut(&Row) -> Result<T, Error>,
    ) -> Result<Page<T, I>, Error> {
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= limit);
        let last = || rows.iter().rev().find_map(|row| row.get("id").ok());
        Ok(Page { found: self.readable(rows, decode)?, next: is_full.then(last).flatten() })
    }
}
