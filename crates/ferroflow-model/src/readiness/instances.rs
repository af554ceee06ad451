//! The instances of one task in a run.

use jiff::Timestamp;

use crate::id::NOT_MAPPED;
use crate::state::TaskState;

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
    /// Whether looking at it would settle it, although it is already on its way.
    pub(super) would_settle: bool,
    /// It was to be looked at in this examination, but was removed before its turn.
    pub(super) lost_its_turn: bool,
    /// When a retry, or the next look of a sensor, is due.
    pub(super) due: Option<Timestamp>,
}

impl Cell {
    pub(super) fn new(map_index: i32, state: Option<TaskState>, due: Option<Timestamp>) -> Self {
        Self {
            map_index,
            state,
            counted: None,
            is_met: false,
            would_settle: false,
            lost_its_turn: false,
            due,
        }
    }

    pub(super) fn is_unfinished(&self) -> bool {
        !self.state.is_some_and(TaskState::is_finished)
    }

    /// Whether it can be scheduled from where it stands.
    pub(super) fn is_candidate(&self) -> bool {
        matches!(self.state, None | Some(TaskState::UpForRetry | TaskState::UpForReschedule))
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

    /// The instance that stands for all, as long as nobody knows how many there will be.
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

    /// Puts an instance in its place. One with the same map index is replaced.
    pub(super) fn insert(&mut self, cell: Cell) {
        match self {
            Self::None => *self = Self::One(cell),
            Self::One(one) if one.map_index == cell.map_index => *one = cell,
            Self::One(one) => {
                let mut cells = vec![*one, cell];
                cells.sort_by_key(|cell| cell.map_index);
                *self = Self::Many(cells);
            }
            Self::Many(cells) if cells.last().is_none_or(|last| last.map_index < cell.map_index) => {
                cells.push(cell);
            }
            Self::Many(cells) => match cells.binary_search_by_key(&cell.map_index, |cell| cell.map_index) {
                Ok(place) => cells[place] = cell,
                Err(place) => cells.insert(place, cell),
            },
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
