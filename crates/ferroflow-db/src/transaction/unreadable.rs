//! Rows of which a column holds something else than it should.
//!
//! A list is read row by row: one that cannot be read is left out, and told of here, so that it keeps back no other. Of
//! rows that only mean something together (the instances of a run, say) one spoils all, and the error names it.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use crate::statement::Row;
use crate::statement::row::shortened;
use crate::{Error, Json, Tx};

/// So many are remembered, so that each is told of once.
const REMEMBERED: usize = 100_000;

/// So many wait to be reported; others are found again.
const WAITING: usize = 1_000;

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BadRow {
    /// What read it: `table/operation`.
    pub operation: &'static str,
    /// Which row: the columns that name it, and what they hold.
    pub key: String,
    /// The column.
    pub column: &'static str,
    /// What it holds, shortened.
    pub value: String,
    /// What is wrong with that.
    pub reason: String,
}

impl BadRow {
    /// A row whose JSON was taken over as text, and in which a value is looked for in vain.
    pub(crate) fn inside(
        (operation, key): (&'static str, String),
        column: &'static str,
        json: &Json,
        reason: &dyn fmt::Display,
    ) -> Error {
        let value = format!("{:?}", shortened(json.text()));
        Error::Column(Box::new(Self {
            operation,
            key,
            column,
            value,
            reason: shortened(&reason.to_string()),
        }))
    }

    /// The table it was read from, first of all.
    pub fn table(&self) -> &'static str {
        self.operation.split('/').next().unwrap_or(self.operation)
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, key, column, value, reason } = self;
        write!(
            f,
            "{operation}: column {column} of the row with {key} holds {value} and cannot be read: {reason}"
        )
    }
}

/// The rows that could not be read: each is told of once.
#[derive(Debug, Default)]
pub struct Unreadable(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// What tells them apart, and the same in the order in which they were found.
    known: HashSet<u64>,
    in_order: VecDeque<u64>,
    untold: Vec<BadRow>,
}

impl Unreadable {
    /// Notes a row. One that is known is not told of again.
    pub fn note(&self, bad: &BadRow) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.untold.len() >= WAITING {
            return;
        }
        let mark = mark(bad);
        if !noted.known.insert(mark) {
            return;
        }
        noted.in_order.push_back(mark);
        if noted.in_order.len() > REMEMBERED
            && let Some(oldest) = noted.in_order.pop_front()
        {
            noted.known.remove(&oldest);
        }
        noted.untold.push(bad.clone());
    }

    /// What was read; nothing if a row of it cannot be, which is noted.
    pub fn or_note<T>(&self, read: Result<T, Error>) -> Result<Option<T>, Error> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(Error::Column(bad)) => {
                self.note(&bad);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The rows that were noted since this was last asked.
    pub fn take(&self) -> Vec<BadRow> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).untold)
    }
}

/// What tells a row from others, with what is wrong with it.
fn mark(bad: &BadRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    bad.hash(&mut hasher);
    hasher.finish()
}

impl Tx {
    /// The rows that could not be read.
    pub fn unreadable(&self) -> &Unreadable {
        &self.unreadable
    }

    /// What rows mean, each by itself: those that cannot be read are noted, and left out.
    pub(crate) fn readable<T>(
        &self,
        rows: &[Row],
        mut decode: impl FnMut(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut read = Vec::with_capacity(rows.len());
        for row in rows {
            read.extend(self.or_note(decode(row))?);
        }
        Ok(read)
    }

    /// A row as it was read; nothing if it cannot be, which is noted.
    pub(crate) fn or_note<T>(&self, read: Result<T, Error>) -> Result<Option<T>, Error> {
        self.unreadable.or_note(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(key: &str) -> BadRow {
        BadRow {
            operation: "pool/lock_all",
            key: key.to_owned(),
            column: "slots",
            value: "'many'".to_owned(),
            reason: "is no number".to_owned(),
        }
    }

    #[test]
    fn a_row_is_told_of_once() {
        let unreadable = Unreadable::default();
        for key in ["a", "b", "a"] {
            unreadable.note(&bad(key));
        }
        assert_eq!(unreadable.take(), [bad("a"), bad("b")]);
        unreadable.note(&bad("b"));
        assert_eq!(unreadable.take(), []);
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let unreadable = Unreadable::default();
        let mut told = 0;
        for number in 0..=REMEMBERED {
            unreadable.note(&bad(&number.to_string()));
            if number % WAITING == 0 {
                told += unreadable.take().len();
            }
        }
        assert_eq!(told + unreadable.take().len(), REMEMBERED + 1);
        let noted = unreadable.0.lock().unwrap();
        assert_eq!((noted.known.len(), noted.in_order.len()), (REMEMBERED, REMEMBERED));
    }

    #[test]
    fn of_many_that_are_found_together_all_are_told_in_the_end() {
        let unreadable = Unreadable::default();
        let all: Vec<BadRow> = (0..=2 * WAITING).map(|number| bad(&number.to_string())).collect();
        let mut told = Vec::new();
        for _ in 0..4 {
            for row in &all {
                unreadable.note(row);
            }
            let some = unreadable.take();
            assert!(some.len() <= WAITING);
            told.extend(some);
        }
        assert_eq!(told, all);
    }
}
