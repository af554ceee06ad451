//! The instances of one task in a run.

use jiff::Timestamp;

use crate::id::NOT_MAPPED;
use crate::state::{TaskState, is_schedulable, is_unfinished};

/// What a run remembers of an instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) map_index: i32,
    pub(super) state: Option<TaskState>,
    /// The state in which others know it to be finished. An examination looks at what was finished when it began,
    /// so that what it decides reaches others in the next one.
    pub(super) counted: Option<TaskState>,
    /// Whether nothing within the run keeps it from running, as of when it was last looked at.
    pub(super) is_met: bool,
    /// Whether looking at it would settle it, which happens to one that is already on its way only if nothing else can
    /// run.
    pub(super) would_settle: bool,
    /// When the examination under way looks at it.
    pub(super) turn: Turn,
    /// When a retry, or the next look of a sensor, is due.
    pub(super) due: Option<Timestamp>,
}

/// When an examination looks at an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// In its order.
    Usual,
    /// In its order, although it was removed before that.
    AfterRemoval,
    /// Not with the others: it was made meanwhile.
    Later,
}

impl Cell {
    pub(super) fn new(map_index: i32, state: Option<TaskState>, due: Option<Timestamp>) -> Self {
        Self { map_index, state, counted: None, is_met: false, would_settle: false, turn: Turn::Usual, due }
    }

    pub(super) fn is_unfinished(&self) -> bool {
        is_unfinished(self.state)
    }

    /// Whether it can be scheduled from where it stands.
    pub(super) fn is_candidate(&self) -> bool {
        is_schedulable(self.state)
    }
}

/// The instances of a task, sorted by map index. Most tasks have one, which needs no memory of its own.
#[derive(Clone, Debug, Default)]
pub(super) enum Instances {
    #[default]
    None,
    One(Cell),
    Many(Vec<Cell>),
}

impl Instances {
    pub(super) fn as_slice(&self) -> &[Cell] {
        match self {
            Self::None => &[],
            Self::One(cell) => std::slice::from_ref(cell),
            Self::Many(cells) => cells,
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Cell] {
        match self {
            Self::None => &mut [],
            Self::One(cell) => std::slice::from_mut(cell),
            Self::Many(cells) => cells,
        }
    }

    /// Where the instance with this map index is.
    pub(super) fn find(&self, map_index: i32) -> Option<usize> {
        let cells = self.as_slice();
        // Indexes mostly run from 0 without a gap.
        let likely = usize::try_from(map_index).unwrap_or(0);
        if cells.get(likely).is_some_and(|cell| cell.map_index == map_index) {
            return Some(likely);
        }
        cells.binary_search_by_key(&map_index, |cell| cell.map_index).ok()
    }

    pub(super) fn get(&self, map_index: i32) -> Option<&Cell> {
        self.find(map_index).map(|place| &self.as_slice()[place])
    }

    pub(super) fn get_mut(&mut self, map_index: i32) -> Option<&mut Cell> {
        self.find(map_index).map(|place| &mut self.as_mut_slice()[place])
    }

    /// The instance that stands for all, as long as it is not known how many there will be.
    pub(super) fn unexpanded(&self) -> Option<&Cell> {
        self.as_slice().first().filter(|cell| cell.map_index == NOT_MAPPED)
    }

    /// Those with indexes from `start` up to before `end`.
    pub(super) fn between(&self, start: i128, end: i128) -> &[Cell] {
        let cells = self.as_slice();
        let from = cells.partition_point(|cell| i128::from(cell.map_index) < start);
        let to = cells.partition_point(|cell| i128::from(cell.map_index) < end);
        &cells[from..to.max(from)]
    }

    /// Adds an instance, whose place [`Self::sort`] finds.
    pub(super) fn push(&mut self, cell: Cell) {
        match self {
            Self::None => *self = Self::One(cell),
            Self::One(one) => *self = Self::Many(vec![*one, cell]),
            Self::Many(cells) => cells.push(cell),
        }
    }

    /// Puts those that were added in their places. Of two with the same map index the later one stays.
    pub(super) fn sort(&mut self) {
        if let Self::Many(cells) = self {
            cells.sort_by_key(|cell| cell.map_index);
            cells.dedup_by(|later, earlier| {
                let is_same = later.map_index == earlier.map_index;
                if is_same {
                    *earlier = *later;
                }
                is_same
            });
        }
    }

    pub(super) fn remove(&mut self, map_index: i32) -> Option<Cell> {
        let place = self.find(map_index)?;
        match self {
            Self::None => None,
            Self::One(cell) => {
                let cell = *cell;
                *self = Self::None;
                Some(cell)
            }
            Self::Many(cells) => Some(cells.remove(place)),
        }
    }
}
