//! Callbacks that were taken and wait: first for the folder of their bundle, then for a child.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use ferroflow_python::bundles::BundleError;
use ferroflow_python::helper::HelperError;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::callbacks::{self, Callback};
use crate::looks::Tracked;
use crate::manager::{Event, Label, Manager};

/// How long callbacks rest whose folder cannot be had. It doubles each time,
const FIRST_REST: SignedDuration = SignedDuration::from_secs(5);
/// up to this.
const LONGEST_REST: SignedDuration = SignedDuration::from_mins(1);
/// After so many failures in a row a version is given up whose bundle can be used.
const MOST_FAILURES: u32 = 5;
/// Whoever waits for so long for a folder is held up.
const SOON: SignedDuration = SignedDuration::from_secs(5);
/// How many callbacks of a bundle may be held up before no more of it are taken.
const MOST_HELD_UP: usize = 200;

/// A bundle, in one of its versions if it has any. One whose folder cannot be had, or whose class hangs, keeps no other
/// waiting.
pub(crate) type Version = (String, Option<String>);

/// Callbacks that were taken and wait.
#[derive(Default)]
pub(crate) struct WaitingCallbacks {
    for_folders: VecDeque<Callback>,
    searches: BTreeMap<Version, Search>,
    for_children: VecDeque<(Callback, PathBuf)>,
}

/// The folder of a version is looked for.
#[derive(Debug, Default)]
struct Search {
    since: Option<Timestamp>,
    failures: u32,
    rests_until: Option<Timestamp>,
}

impl Search {
    fn rests(&self, now: Timestamp) -> bool {
        // One that is further away than it was is that of a clock that was set back.
        self.rests_until.is_some_and(|until| until > now && until.duration_since(now) <= LONGEST_REST)
    }

    fn holds_up(&self, now: Timestamp) -> bool {
        self.rests(now) || self.since.is_some_and(|since| now.duration_since(since).abs() >= SOON)
    }
}

impl WaitingCallbacks {
    pub(crate) fn add(&mut self, callback: Callback) {
        self.for_folders.push_back(callback);
    }

    /// The callbacks that wait here. That whose folder is being found is none of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Callback> {
        self.for_folders.iter().chain(self.for_children.iter().map(|(callback, _)| callback))
    }

    /// Whether more of a bundle may be taken: what is taken is not given to another processor, so that it is no more than
    /// can be run soon.
    pub(crate) fn has_room_for(&self, bundle: &str, now: Timestamp) -> bool {
        let holds_up = |version: &Version| self.searches.get(version).is_some_and(|it| it.holds_up(now));
        let of_bundle = self.for_folders.iter().filter(|callback| callback.bundle() == bundle);
        let (held_up, waiting): (Vec<_>, Vec<_>) =
            of_bundle.partition(|callback| holds_up(&callback.version()));
        let mut searches = self.searches.iter().filter(|((of, _), _)| of == bundle);
        let is_asked = searches.any(|(_, search)| search.since.is_some() && !search.holds_up(now));
        let is_ready = self.for_children.iter().any(|(callback, _)| callback.bundle() == bundle);
        waiting.is_empty() && held_up.len() < MOST_HELD_UP && !is_ready && !is_asked
    }

    pub(crate) fn next_for_a_child(&mut self) -> Option<(Callback, PathBuf)> {
        self.for_children.pop_front()
    }

    /// One callback of each version whose folder can be asked for now.
    fn take_for_folders(&mut self, now: Timestamp) -> Vec<Callback> {
        let mut taken = Vec::new();
        for callback in std::mem::take(&mut self.for_folders) {
            let search = self.searches.entry(callback.version()).or_default();
            if search.since.is_some() || search.rests(now) {
                self.for_folders.push_back(callback);
            } else {
                search.since = Some(now);
                taken.push(callback);
            }
        }
        taken
    }

    /// A folder could not be had. Returns the callbacks that are given up: those of a version that cannot be had again and
    /// again, though its bundle can be used.
    fn failed(&mut self, callback: Callback, is_given_up_one_day: bool, now: Timestamp) -> Vec<Callback> {
        let version = callback.version();
        self.for_folders.push_front(callback);
        let search = self.searches.entry(version.clone()).or_default();
        search.failures = search.failures.saturating_add(1);
        if is_given_up_one_day && search.failures >= MOST_FAILURES {
            self.searches.remove(&version);
            let (given_up, left) =
                std::mem::take(&mut self.for_folders).into_iter().partition(|it| it.version() == version);
            self.for_folders = left;
            return Vec::from(given_up);
        }
        let rest = FIRST_REST.saturating_mul(1 << (search.failures - 1).min(10)).min(LONGEST_REST);
        search.rests_until = Some(now.checked_add(rest).unwrap_or(Timestamp::MAX));
        Vec::new()
    }
}

impl Manager {
    /// Finds the folders of callbacks, one for each version at a time. That takes no child: a bundle may hang.
    pub(crate) fn find_folders(&mut self, now: Timestamp) {
        for callback in self.callbacks.take_for_folders(now) {
            let (cx, label) = (Arc::clone(&self.cx), Label::Folder(callback.id(), callback.version()));
            self.spawn(label, async move {
                let folder = callbacks::folder(&cx, &callback).await;
                Event::FolderFound(callback, folder)
            });
        }
    }

    /// The search for a folder has ended, however it did.
    pub(crate) fn searched(&mut self, version: &Version) {
        if let Some(search) = self.callbacks.searches.get_mut(version) {
            search.since = None;
        }
    }

    /// One whose bundle is not configured any more is dropped; if the bundle cannot be used now, it waits.
    pub(crate) fn folder_found(
        &mut self,
        callback: Callback,
        folder: Result<Option<PathBuf>, Error>,
        now: Timestamp,
    ) {
        let place = callback.place();
        match folder {
            Ok(Some(folder)) => {
                self.callbacks.searches.remove(&callback.version());
                self.callbacks.for_children.push_back((callback, folder));
            }
            Ok(None) => {
                tracing::error!(file = place, "a callback is dropped: its bundle is not configured any more");
                self.callbacks.searches.remove(&callback.version());
                self.remove(callback.held);
            }
            Err(error) => {
                let reason = ferroflow_telemetry::chain(&error);
                let (bundle, version) = callback.version();
                let can_be_used = self.bundles.get(bundle.as_str()).is_some_and(Tracked::can_be_used);
                let is_about_version = version.is_some() && can_be_used && is_of_its_class(&error);
                let given_up = self.callbacks.failed(callback, is_about_version, now);
                if given_up.is_empty() {
                    tracing::error!(file = place, "a callback waits until its bundle can be used: {reason}");
                }
                for callback in given_up {
                    let file = callback.place();
                    tracing::error!(
                        file,
                        version,
                        "a callback is dropped: this version of its bundle cannot be had: {reason}"
                    );
                    self.remove(callback.held);
                }
            }
        }
    }
}

/// Whether the class of a bundle has failed, and not what is needed to ask it.
fn is_of_its_class(error: &Error) -> bool {
    match error {
        Error::Bundle(BundleError::Failed { source, .. }) => {
            matches!(source, HelperError::Raised(_) | HelperError::TimedOut { .. } | HelperError::Died { .. })
        }
        Error::Bundle(BundleError::Nonsense { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callbacks::callback_of;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn versions(callbacks: &[Callback]) -> Vec<Option<String>> {
        callbacks.iter().map(|callback| callback.version().1).collect()
    }

    fn waiting(versions: &[&str]) -> WaitingCallbacks {
        let mut waiting = WaitingCallbacks::default();
        for version in versions {
            waiting.add(callback_of("dags", version));
        }
        waiting
    }

    #[test]
    fn a_version_that_hangs_keeps_no_other_waiting() {
        let mut waiting = waiting(&["hangs", "hangs", "good"]);
        assert!(!waiting.has_room_for("dags", at(0)));
        let asked = waiting.take_for_folders(at(0));
        assert_eq!(versions(&asked), [Some("hangs".to_owned()), Some("good".to_owned())]);
        assert!(!waiting.has_room_for("dags", at(1)), "they may be found soon");
        waiting.searches.remove(&callback_of("dags", "good").version());
        assert!(waiting.has_room_for("dags", at(10)));
        for _ in 0..MOST_HELD_UP {
            waiting.add(callback_of("dags", "hangs"));
        }
        assert!(!waiting.has_room_for("dags", at(10)) && waiting.has_room_for("other", at(10)));
        assert!(waiting.take_for_folders(at(10)).is_empty());
    }

    #[test]
    fn a_version_that_cannot_be_had_is_given_up_with_all_that_wait_for_it() {
        let mut waiting = waiting(&["gone", "good", "gone"]);
        let (mut now, mut rests) = (at(0), Vec::new());
        let given_up = loop {
            let mut asked = waiting.take_for_folders(now);
            let Some(place) = asked.iter().position(|it| it.version().1.as_deref() == Some("gone")) else {
                rests.push(1);
                now = now.checked_add(SignedDuration::from_secs(1)).unwrap();
                continue;
            };
            let callback = asked.remove(place);
            waiting.searches.get_mut(&callback.version()).unwrap().since = None;
            let given_up = waiting.failed(callback, true, now);
            if !given_up.is_empty() {
                break given_up;
            }
        };
        assert_eq!((given_up.len(), rests.len()), (2, 5 + 10 + 20 + 40));
        assert!(waiting.for_folders.is_empty(), "the good one is asked for");

        let mut waiting = waiting_for_long();
        assert!(waiting.take_for_folders(at(59)).is_empty());
        assert_eq!(waiting.take_for_folders(at(60)).len(), 1, "without its bundle it is never given up");
    }

    fn waiting_for_long() -> WaitingCallbacks {
        let mut waiting = waiting(&["gone"]);
        for _ in 0..100 {
            let callback = waiting.for_folders.pop_front().unwrap();
            assert!(waiting.failed(callback, false, at(0)).is_empty());
        }
        waiting
    }
}
