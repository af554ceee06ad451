//! Lists that are read in parts.

use crate::statement::row::Column;
use crate::statement::{Bind, Row, Statement};
use crate::{Error, Tx};

/// Behind rows that cannot be read, so many more are looked at together.
const BEHIND: i64 = 500;

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

    /// What the first rows mean that a statement finds, as many as asked for and as can be read: those that cannot be do
    /// not count, however many they are. The last two binds of the statement are how many rows it reads, and how many
    /// before them it passes over.
    pub(crate) async fn first_readable<T>(
        &mut self,
        statement: &'static Statement,
        binds: Vec<Bind>,
        limit: u32,
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut found, mut part, mut passed) = (Vec::new(), i64::from(limit), 0_i64);
        loop {
            let binds = binds.iter().cloned().chain([part.into(), passed.into()]).collect();
            let rows = self.fetch_all(statement, binds).await?;
            found.extend(self.readable(&rows, &decode)?);
            let read = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            if found.len() >= wanted || read < part {
                found.truncate(wanted);
                return Ok(found);
            }
            (part, passed) = (BEHIND, passed.saturating_add(read));
        }
    }
}
