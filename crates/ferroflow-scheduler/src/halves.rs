//! A batch that the database refuses is done in halves, down to what it does not take: nothing else is lost for that.

use ferroflow_db::{Db, Dialect, Error as DbError};

/// Puts the halves of a batch that was refused on top of what is left to be done, or answers the one that the database does
/// not take. An error that concerns no row comes out: no part would fare better.
pub(crate) fn halve<T: Copy>(
    db: &Db,
    batch: &[T],
    error: DbError,
    left: &mut Vec<Vec<T>>,
) -> Result<Option<(T, DbError)>, DbError> {
    // SQLite has one lock for all rows.
    let is_for_all = error.is_busy() && db.dialect() == Dialect::Sqlite;
    if is_for_all || !error.is_about_rows() {
        return Err(error);
    }
    if batch.len() < 2 {
        return Ok(batch.first().map(|one| (*one, error)));
    }
    let (first, second) = batch.split_at(batch.len() / 2);
    left.extend([second.to_vec(), first.to_vec()]);
    Ok(None)
}
