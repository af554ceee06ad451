//! Backfills and all other runs take turns, so that neither has to wait for the end of the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::candidate::Place;

/// The two kinds of runs that take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Class {
    /// Runs that no backfill asked for. They begin.
    #[default]
    Other,
    /// Runs of backfills.
    Backfill,
}

impl Class {
    /// Whose turn it is after this one's.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Other => Self::Backfill,
            Self::Backfill => Self::Other,
        }
    }
}

/// Whose turn it is, at equal priority. A pool has its own: if there were only one turn for all, what is
/// admitted elsewhere could give every slot of a pool to the same class.
///
/// [`Waiting`](super::Waiting) remembers it. Code that builds a new one hands it on, with
/// [`Waiting::turns`](super::Waiting::turns) and [`Waiting::with_turns`](super::Waiting::with_turns);
/// otherwise the same class begins each time, and the other never runs in a pool that has room for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Whose turn it is among the pools.
    pub(super) all: Class,
    /// Whose turn it is in a pool. Where there is none, none was admitted since one waits.
    pub(super) pools: BTreeMap<Arc<str>, Class>,
}

impl Turns {
    /// Whose turn it is in a pool.
    pub(super) fn of_pool(&self, pool: &str) -> Class {
        self.pools.get(pool).copied().unwrap_or_default()
    }

    /// The other class has the next turn after one that was admitted.
    pub(super) fn go_on(&mut self, pool: &Arc<str>, admitted: Class) {
        self.all = admitted.next();
        self.pools.insert(Arc::clone(pool), self.all);
    }
}

/// One thing for each class.
#[derive(Clone, Debug, Default)]
pub(super) struct ByClass<T> {
    pub(super) other: T,
    pub(super) backfill: T,
}

impl<T> ByClass<T> {
    pub(super) const fn of(&mut self, class: Class) -> &mut T {
        match class {
            Class::Other => &mut self.other,
            Class::Backfill => &mut self.backfill,
        }
    }
}

/// The class that goes first: that of the higher priority, or else the one whose turn it is.
pub(super) fn first(other: Option<&Place>, backfill: Option<&Place>, turn: Class) -> Option<Class> {
    let (Some(other), Some(backfill)) = (other, backfill) else {
        return other.map(|_| Class::Other).or(backfill.map(|_| Class::Backfill));
    };
    Some(match other.priority.cmp(&backfill.priority) {
        std::cmp::Ordering::Less => Class::Other,
        std::cmp::Ordering::Equal => turn,
        std::cmp::Ordering::Greater => Class::Backfill,
    })
}
