//! Sets of states of task instances, of which one is "none".

use crate::state::TaskState;

/// A set of states, a bit for each: none is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States(u16);

impl States {
    /// Every state.
    pub const EVERY: Self = Self((1 << (TaskState::ALL.len() + 1)) - 1);

    /// These.
    pub(super) const fn of(states: &[Option<TaskState>]) -> Self {
        let mut bits = 0;
        let mut place = 0;
        while place < states.len() {
            bits |= Self::bit(states[place]);
            place += 1;
        }
        Self(bits)
    }

    /// Every state but these.
    pub(super) const fn all_but(states: &[TaskState]) -> Self {
        let mut bits = Self::EVERY.0;
        let mut place = 0;
        while place < states.len() {
            bits &= !Self::bit(Some(states[place]));
            place += 1;
        }
        Self(bits)
    }

    /// Whether this is one of them.
    pub const fn contains(self, state: Option<TaskState>) -> bool {
        self.0 & Self::bit(state) != 0
    }

    /// Each of them, none first.
    pub fn iter(self) -> impl Iterator<Item = Option<TaskState>> {
        let every = std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some));
        every.filter(move |state| self.contains(*state))
    }

    const fn bit(state: Option<TaskState>) -> u16 {
        match state {
            None => 1,
            Some(state) => 2 << state as u16,
        }
    }
}
