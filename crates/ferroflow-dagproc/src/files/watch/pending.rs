//! Changes that may not be complete yet.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// So many ticks without an event, and a path has settled.
pub(super) const QUIET: u8 = 3;

/// More paths at once than this are as good as everything.
const MOST: usize = 4096;

/// Paths of which something was heard, and for how many ticks nothing more.
#[derive(Debug, Default)]
pub(super) struct Pending {
    paths: BTreeMap<PathBuf, u8>,
    everything: bool,
}

/// Changes that are complete.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) paths: Vec<PathBuf>,
    /// Events were lost: anything may have changed.
    pub(super) everything: bool,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.everything
    }

    /// Something was heard of a path; none stands for lost events.
    pub(super) fn note(&mut self, event: Option<PathBuf>) {
        match event {
            Some(path) if !self.everything => {
                self.paths.insert(path, 0);
                self.everything = self.paths.len() > MOST;
            }
            Some(_) => {}
            None => self.everything = true,
        }
        if self.everything {
            self.paths.clear();
        }
    }

    /// Time has passed. What has settled is no longer pending.
    pub(super) fn tick(&mut self) -> Settled {
        let mut settled = Settled { everything: std::mem::take(&mut self.everything), paths: Vec::new() };
        for quiet in self.paths.values_mut() {
            *quiet += 1;
        }
        settled.paths.extend(self.paths.extract_if(.., |_, quiet| *quiet >= QUIET).map(|(path, _)| path));
        settled
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{MOST, Pending, QUIET, Settled};

    #[test]
    fn a_path_settles_when_nothing_more_is_heard_of_it() {
        let mut pending = Pending::default();
        pending.note(Some("a".into()));
        pending.note(Some("b".into()));
        for _ in 1..QUIET {
            assert_eq!(pending.tick(), Settled::default());
            pending.note(Some("b".into()));
        }
        assert_eq!(pending.tick().paths, [PathBuf::from("a")]);
        for _ in 2..QUIET {
            assert_eq!(pending.tick(), Settled::default());
        }
        assert_eq!(pending.tick().paths, [PathBuf::from("b")]);
        assert!(pending.is_empty());
    }

    #[test]
    fn too_many_paths_are_everything() {
        let mut pending = Pending::default();
        for number in 0..=MOST {
            pending.note(Some(number.to_string().into()));
        }
        assert_eq!(pending.tick(), Settled { paths: Vec::new(), everything: true });
        assert!(pending.is_empty());
    }
}
