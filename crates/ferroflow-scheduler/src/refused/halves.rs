//! A batch that the database refuses is written in halves, down to what it does not take: nothing else is lost for that.

use std::time::Duration;

use ferroflow_db::{Db, Dialect, Error as DbError};
use ferroflow_telemetry::clock::{Stopwatch, signed};
use jiff::{SignedDuration, Timestamp};

/// Once a lock was met, those in the halves are hardly waited for (MySQL and MariaDB count from a second).
const PATIENCE_IN_HALVES: Duration = Duration::from_millis(20);

/// So long locks are met before what is locked is left for another time.
const LONGEST: Duration = Duration::from_secs(3);

/// Batches that are still to be written.
pub(crate) struct Batches<T> {
    db: Db,
    /// The next one last.
    left: Vec<Vec<T>>,
    /// How many of them are no part of another.
    whole: usize,
    /// Since when locks are met.
    held: Option<Stopwatch>,
    /// Whether a lock was met by one alone, which is not tried again soon.
    has_found_held: bool,
    /// Whether the rest is left for another time.
    is_over: bool,
}

impl<T: Copy> Batches<T> {
    pub(crate) fn new(db: &Db, mut batches: Vec<Vec<T>>) -> Self {
        batches.reverse();
        let whole = batches.len();
        Self { db: db.clone(), left: batches, whole, held: None, has_found_held: false, is_over: false }
    }

    /// The next batch, unless others have kept rows locked for long enough.
    pub(crate) fn next(&mut self) -> Option<Vec<T>> {
        let next = if self.is_over { None } else { self.left.pop() };
        self.whole = self.whole.min(self.left.len());
        next
    }

    /// A batch is to be written once more.
    pub(crate) fn again(&mut self, batch: Vec<T>) {
        if !batch.is_empty() {
            self.left.push(batch);
        }
    }

    /// The database by which a batch is written.
    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Takes in the halves of a batch that was refused, or answers the one that the database does not take. An error that
    /// concerns no row comes out: no part would fare better.
    pub(crate) fn refused(&mut self, batch: &[T], error: DbError) -> Result<Option<(T, DbError)>, DbError> {
        // SQLite has one lock for all rows.
        let is_for_all = error.is_busy() && self.db.dialect() == Dialect::Sqlite;
        if is_for_all || !error.is_about_rows() {
            return Err(error);
        }
        if error.is_busy() && self.held.is_none() {
            self.held = Some(Stopwatch::start());
            self.db = self.db.with_lock_patience(PATIENCE_IN_HALVES);
        }
        if batch.len() < 2 {
            self.has_found_held |= error.is_busy();
            self.put_together();
            return Ok(batch.first().map(|one| (*one, error)));
        }
        let is_long = self.held.is_some_and(|held| held.elapsed() > LONGEST);
        if error.is_busy() && self.has_found_held && is_long {
            self.is_over = true;
            self.left.push(batch.to_vec());
            return Ok(None);
        }
        let (first, second) = batch.split_at(batch.len() / 2);
        self.left.extend([second.to_vec(), first.to_vec()]);
        Ok(None)
    }

    /// What the database did not take is found: there may be nothing against all the others.
    fn put_together(&mut self) {
        let parts = self.left.split_off(self.whole);
        let together: Vec<T> = parts.into_iter().rev().flatten().collect();
        self.again(together);
    }

    /// When what was just refused was: it may have taken long since a step began.
    pub(crate) fn later(&self, now: Timestamp) -> Timestamp {
        let since = self.held.map_or(SignedDuration::ZERO, |held| signed(held.elapsed()));
        now.checked_add(since).unwrap_or(Timestamp::MAX)
    }

    /// Whether a batch that was refused is still being written: who stops in the midst of it would meet the same again.
    pub(crate) fn is_in_halves(&self) -> bool {
        self.left.len() > self.whole
    }

    /// What is not written.
    pub(crate) fn left(&self) -> impl Iterator<Item = T> {
        self.left.iter().flatten().copied()
    }
}
