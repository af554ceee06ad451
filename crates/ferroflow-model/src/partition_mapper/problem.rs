//! Why a key cannot be mapped.

use super::FormatProblem;
use crate::timetable::KeyMismatch;

/// Why a mapper has no answer to a key. Airflow raises an exception in each of these cases but the last two.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// The key is not a time in the format of the mapper.
    #[error(transparent)]
    Mismatch(#[from] KeyMismatch),
    /// The key looks like the output format of the mapper, which does not have all that makes a date.
    #[error("`{format}` does not say which date a key is of; it needs {needed}")]
    Incomplete {
        /// The format.
        format: String,
        /// What it should have.
        needed: &'static str,
    },
    /// No key can be written by the format.
    #[error(transparent)]
    Format(#[from] FormatProblem),
    /// The key is not among those that are allowed.
    #[error("`{key}` is not one of the allowed keys: {}", allowed.join(", "))]
    NotAllowed {
        /// The key.
        key: String,
        /// Those that are.
        allowed: Vec<String>,
    },
    /// The key has more or fewer segments than there are mappers for them.
    #[error("`{key}` has {found} segments, not {expected}")]
    Segments {
        /// The key.
        key: String,
        /// How many there are,
        found: usize,
        /// and how many there should be.
        expected: usize,
    },
    /// Nothing stands between the segments of keys.
    #[error("the delimiter of the segments is empty")]
    NoDelimiter,
    /// A mapper within another gives several keys, where the outer one needs one.
    #[error("a mapper for a part of the key gives several keys where one is needed")]
    SeveralKeys,
    /// More keys than anybody can mean.
    #[error("the key becomes more than {most} keys")]
    TooManyKeys {
        /// How many there may be.
        most: usize,
    },
    /// Something that works on times was given a text.
    #[error("the mapper gives text where a time is needed")]
    NotATime,
    /// A window that is counted in months would begin within one.
    #[error("the period has to begin with the first day of a month, not with {date}")]
    NotAFirstDay {
        /// The day with which it would.
        date: String,
    },
    /// The answer lies beyond the calendar.
    #[error("the time is beyond the calendar (years 1 to 9999)")]
    OutOfRange,
    /// A custom class takes part: it has to be asked in Python.
    #[error("{class} is a class of its own, evaluated by the Python bridge")]
    NeedsPython {
        /// Its import path.
        class: String,
    },
    /// Python was asked, and this is what it said instead of an answer.
    #[error("{0}")]
    InPython(String),
}

pub(super) type Result<T> = std::result::Result<T, KeyProblem>;
