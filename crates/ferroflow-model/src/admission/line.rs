//! The candidates of a pool, one after the other, as far as a call wants to see them.

use std::collections::{BTreeSet, btree_set};
use std::iter::Peekable;
use std::sync::Arc;

use foldhash::HashMap;

use super::candidate::{Place, RunKey};
use super::queue::{ClassQueue, PoolQueue};
use super::turns::{ByClass, Class, first};

/// A pool's candidates in their order.
pub(super) struct PoolLine<'a> {
    pub(super) pool: &'a Arc<str>,
    classes: ByClass<ClassLine<'a>>,
    turn: Class,
    /// Who the open slots are kept for. It goes before everybody of the same priority.
    pub(super) holder: Option<Place>,
    /// How many candidates were neither admitted nor refused yet.
    pub(super) left: usize,
}

/// The candidates of one class: the first of runs, and those behind one that left the line.
struct ClassLine<'a> {
    queue: &'a ClassQueue,
    firsts: Peekable<btree_set::Iter<'a, Place>>,
    behind: BTreeSet<Place>,
    /// The one that went before its turn, until its place in the line is reached.
    ahead: Option<Place>,
    /// How many were neither admitted nor refused yet, of the runs of which some were.
    left: HashMap<RunKey, usize>,
}

impl<'a> PoolLine<'a> {
    pub(super) fn new(pool: &'a Arc<str>, queue: &'a PoolQueue, turn: Class) -> Self {
        let line = |queue: &'a ClassQueue| ClassLine {
            queue,
            firsts: queue.firsts.iter().peekable(),
            behind: BTreeSet::new(),
            ahead: None,
            left: HashMap::default(),
        };
        let classes = ByClass { other: line(&queue.classes.other), backfill: line(&queue.classes.backfill) };
        Self { pool, classes, turn, holder: None, left: queue.waiting }
    }

    /// The next candidate, which leaves the line.
    pub(super) fn next(&mut self) -> Option<Place> {
        let class = first(self.classes.other.peek(), self.classes.backfill.peek(), self.turn)?;
        let next = self.classes.of(class).peek()?;
        // The least is the highest.
        let Some(holder) = self.holder.clone().filter(|holder| holder.priority <= next.priority) else {
            return self.classes.of(class).next();
        };
        self.classes.of(holder.lane.class).ahead = Some(holder.clone());
        Some(holder)
    }

    /// One was admitted: the other class has the next turn, and the candidate behind it comes into the line.
    pub(super) fn admitted(&mut self, place: &Place, behind: Option<Place>) {
        let line = self.classes.of(place.lane.class);
        line.behind.extend(behind);
        *line.left_of(place) -= 1;
        self.left -= 1;
        self.turn = place.lane.class.next();
        self.holder.take_if(|holder| holder == place);
    }

    /// So many were refused, of the lane of a candidate.
    pub(super) fn refused_lane(&mut self, place: &Place, waiting: usize) {
        *self.classes.of(place.lane.class).left_of(place) -= waiting;
        self.left -= waiting;
    }

    /// All that is left of the run of a candidate was refused; how many these are.
    pub(super) fn refused_run(&mut self, place: &Place) -> usize {
        let waiting = std::mem::take(self.classes.of(place.lane.class).left_of(place));
        self.left -= waiting;
        waiting
    }
}

impl ClassLine<'_> {
    fn left_of(&mut self, place: &Place) -> &mut usize {
        self.left.entry(place.lane.run()).or_insert_with_key(|run| self.queue.waiting(run))
    }

    fn peek(&mut self) -> Option<&Place> {
        while let Some(next) = [self.firsts.peek().copied(), self.behind.first()].into_iter().flatten().min()
        {
            if self.left.get(&next.lane.run()) == Some(&0) {
                // Of a run that was refused, some may be in the line.
                self.pop();
            } else if self.ahead.as_ref() == Some(next) {
                self.next();
            } else {
                break;
            }
        }
        [self.firsts.peek().copied(), self.behind.first()].into_iter().flatten().min()
    }

    fn next(&mut self) -> Option<Place> {
        let next = self.pop()?;
        if next.admitted_before == 0 {
            self.behind.extend(self.queue.next_lane(&next).cloned());
        }
        Some(next)
    }

    fn pop(&mut self) -> Option<Place> {
        let is_behind =
            self.behind.first().is_some_and(|place| self.firsts.peek().is_none_or(|first| place < *first));
        if is_behind { self.behind.pop_first() } else { self.firsts.next().cloned() }
    }
}
