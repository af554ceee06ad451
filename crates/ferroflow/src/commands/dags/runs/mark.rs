//! How a state looks: a letter, and on a terminal a colour.

use ferroflow_model::state::{RunState, TaskState};

use crate::output::Text;

/// What stands for the instances of a task in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// There are none.
    Absent,
    /// Nobody has looked at them.
    Unseen,
    /// They are in this state, or the worst of them is.
    In(TaskState),
}

/// All that can be seen, the worst first, with their letters.
const LETTERS: [(Mark, char); 14] = [
    (Mark::In(TaskState::Failed), 'F'),
    (Mark::In(TaskState::UpstreamFailed), 'U'),
    (Mark::In(TaskState::UpForRetry), 'T'),
    (Mark::In(TaskState::Restarting), 'C'),
    (Mark::In(TaskState::Running), 'R'),
    (Mark::In(TaskState::Queued), 'q'),
    (Mark::In(TaskState::Scheduled), 's'),
    (Mark::In(TaskState::Deferred), 'D'),
    (Mark::In(TaskState::UpForReschedule), 'w'),
    (Mark::In(TaskState::AwaitingInput), 'i'),
    (Mark::Unseen, '.'),
    (Mark::In(TaskState::Success), '+'),
    (Mark::In(TaskState::Skipped), '-'),
    (Mark::In(TaskState::Removed), 'x'),
];

impl Mark {
    /// That of several instances: the one that somebody should see first.
    pub(super) fn worst(states: impl Iterator<Item = Option<TaskState>>) -> Self {
        let place = |mark: &Self| LETTERS.iter().position(|(known, _)| known == mark);
        states.map(|state| state.map_or(Self::Unseen, Self::In)).min_by_key(place).unwrap_or(Self::Absent)
    }

    /// That of a run.
    pub(super) fn of_run(state: RunState) -> Self {
        Self::In(match state {
            RunState::Queued => TaskState::Queued,
            RunState::Running => TaskState::Running,
            RunState::Success => TaskState::Success,
            RunState::Failed => TaskState::Failed,
        })
    }

    /// Its letter; a blank for what is not there.
    pub(super) fn letter(self) -> char {
        LETTERS.iter().find(|(known, _)| *known == self).map_or(' ', |(_, letter)| *letter)
    }

    /// Its name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Absent => "",
            Self::Unseen => "no state yet",
            Self::In(state) => state.as_str(),
        }
    }

    /// Adds words in its colour.
    pub(super) fn paint(self, text: Text, words: &str) -> Text {
        let Self::In(state) = self else { return text.faint(words) };
        match state {
            TaskState::Success => text.good(words),
            TaskState::Failed | TaskState::UpstreamFailed => text.bad(words),
            TaskState::Running | TaskState::Queued | TaskState::Restarting => text.busy(words),
            TaskState::UpForRetry
            | TaskState::UpForReschedule
            | TaskState::Deferred
            | TaskState::AwaitingInput => text.odd(words),
            TaskState::Scheduled | TaskState::Skipped | TaskState::Removed => text.faint(words),
        }
    }
}

/// What the letters mean that are in use.
pub(super) fn legend(used: &[Mark]) -> Text {
    let mut text = Text::new();
    for (mark, letter) in LETTERS.iter().filter(|(mark, _)| used.contains(mark)) {
        text = mark.paint(text, &letter.to_string()).plain(&format!(" {}   ", mark.word()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_letter_of_its_own() {
        let mut letters: Vec<char> = TaskState::ALL.iter().map(|state| Mark::In(*state).letter()).collect();
        letters.extend([Mark::Unseen.letter(), Mark::Absent.letter()]);
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), TaskState::ALL.len() + 2);
    }

    #[test]
    fn the_worst_is_what_somebody_should_see() {
        let states = [Some(TaskState::Success), None, Some(TaskState::Running)];
        assert_eq!(Mark::worst(states.into_iter()), Mark::In(TaskState::Running));
        let with_failed = states.into_iter().chain([Some(TaskState::Failed)]);
        assert_eq!(Mark::worst(with_failed), Mark::In(TaskState::Failed));
        assert_eq!(Mark::worst([Some(TaskState::Success), None].into_iter()), Mark::Unseen);
        assert_eq!(Mark::worst(std::iter::empty()), Mark::Absent);
    }
}
