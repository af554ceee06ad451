//! Callbacks that were taken and wait: first for the folder of their bundle, then for a child.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use ferroflow_python::bundles::BundleError;
use ferroflow_python::helper::HelperError;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::bundle::Occasion;
use crate::callbacks::{self, Callback};
use crate::looks::{Counts, Tracked};
use crate::manager::{Event, Label, Manager};
use crate::rest::Rest;

/// After so many failures in a row a version is given up, if its bundle could be used before and after each of them.
const MAX_FAILURES: u32 = 5;
/// A callback that waits so long for a folder is held up.
const SOON: SignedDuration = SignedDuration::from_secs(5);
/// How many callbacks of a bundle may be held up before no more of it are taken.
const MAX_HELD_UP: usize = 200;

/// A bundle, in one of its versions if it has any. One whose folder cannot be had, or whose class hangs, keeps no other
/// waiting.
pub(crate) type Version = (String, Option<String>);

/// Callbacks that were taken and wait.
#[derive(Default)]
pub(crate) struct WaitingCallbacks {
    for_folders: VecDeque<Callback>,
    searches: BTreeMap<Version, Search>,
    for_children: VecDeque<(Callback, PathBuf)>,
    /// Python has no child for any.
    no_child: Rest,
    /// There is none for those of a file, by its bundle and path.
    stuck: BTreeMap<String, Rest>,
}

/// The folder of a version is looked for.
#[derive(Debug, Default)]
struct Search {
    since: Option<Timestamp>,
    rest: Rest,
    /// How often in a row that has failed which speaks against the version.
    failures: u32,
    /// How many looks at the bundle had been begun at the last of them.
    looks: u64,
}

impl Search {
    fn holds_up(&self, now: Timestamp) -> bool {
        self.rest.is_on(now) || self.since.is_some_and(|since| now.duration_since(since).abs() >= SOON)
    }

    /// Notes a failure; with the looks at the bundle, if the bundle can be used. That may be long ago: a failure counts only
    /// if its class was asked since the one before.
    fn failed(&mut self, usable: Option<Counts>, now: Timestamp) {
        self.rest.begin(now);
        let Some(looks) = usable else {
            self.failures = 0;
            return;
        };
        if self.failures == 0 || looks.asked > self.looks {
            self.failures += 1;
            self.looks = looks.begun;
        }
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
        let for_children = self.for_children.iter().filter(|(callback, _)| callback.bundle() == bundle);
        let (stuck, ready): (Vec<_>, Vec<_>) =
            for_children.partition(|(callback, _)| self.is_stuck(callback, now));
        let is_held_up = self.no_child.is_on(now) || held_up.len() + stuck.len() >= MAX_HELD_UP;
        waiting.is_empty() && !is_held_up && ready.is_empty() && !is_asked
    }

    pub(crate) fn next_for_a_child(&mut self, now: Timestamp) -> Option<(Callback, PathBuf)> {
        if self.no_child.is_on(now) {
            return None;
        }
        let next = self.for_children.iter().position(|(callback, _)| !self.is_stuck(callback, now))?;
        self.for_children.remove(next)
    }

    fn is_stuck(&self, callback: &Callback, now: Timestamp) -> bool {
        self.stuck.get(&callback.place()).is_some_and(|rest| rest.is_on(now))
    }

    /// A callback had a child.
    pub(crate) fn had_a_child(&mut self, callback: &Callback) {
        self.no_child = Rest::default();
        self.stuck.remove(&callback.place());
    }

    /// A callback had no child. Returns those that others may run meanwhile; who rests here because of its file alone would
    /// only be taken again.
    pub(crate) fn had_no_child(
        &mut self,
        callback: Callback,
        is_about_file: bool,
        now: Timestamp,
    ) -> Vec<Callback> {
        if is_about_file {
            self.stuck.entry(callback.place()).or_default().begin(now);
            self.add(callback);
            return Vec::new();
        }
        self.no_child.begin(now);
        let waiting = std::mem::take(&mut self.for_children).into_iter().map(|(callback, _)| callback);
        std::iter::once(callback).chain(waiting).collect()
    }

    /// One callback of each version whose folder can be asked for now.
    fn take_for_folders(&mut self, now: Timestamp) -> Vec<Callback> {
        let mut taken = Vec::new();
        for callback in std::mem::take(&mut self.for_folders) {
            let search = self.searches.entry(callback.version()).or_default();
            if search.since.is_some() || search.rest.is_on(now) {
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
    fn failed(&mut self, callback: Callback, usable: Option<Counts>, now: Timestamp) -> Vec<Callback> {
        let version = callback.version();
        self.for_folders.push_front(callback);
        let search = self.searches.entry(version.clone()).or_default();
        search.failed(usable, now);
        if search.failures < MAX_FAILURES {
            return Vec::new();
        }
        self.searches.remove(&version);
        let (given_up, left) =
            std::mem::take(&mut self.for_folders).into_iter().partition(|it| it.version() == version);
        self.for_folders = left;
        Vec::from(given_up)
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
                let tracked = self.bundles.get_mut(bundle.as_str());
                let usable = tracked.as_deref().and_then(Tracked::looks_if_usable);
                let usable = usable.filter(|_| version.is_some() && is_of_its_class(&error));
                if let (Some(tracked), Some(_)) = (tracked, usable) {
                    tracked.want(Occasion::Requested);
                }
                let given_up = self.callbacks.failed(callback, usable, now);
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
        for _ in 0..MAX_HELD_UP {
            waiting.add(callback_of("dags", "hangs"));
        }
        assert!(!waiting.has_room_for("dags", at(10)) && waiting.has_room_for("other", at(10)));
        assert!(waiting.take_for_folders(at(10)).is_empty());
    }

    /// So many looks at the bundle, the last of which has asked its class.
    fn looks(count: u64) -> Counts {
        Counts { begun: count, asked: count }
    }

    #[test]
    fn a_version_that_cannot_be_had_is_given_up_with_all_that_wait_for_it() {
        let mut waiting = waiting(&["gone", "good", "gone"]);
        let (mut now, mut rests, mut number) = (at(0), Vec::new(), 0);
        let given_up = loop {
            let mut asked = waiting.take_for_folders(now);
            let Some(place) = asked.iter().position(|it| it.version().1.as_deref() == Some("gone")) else {
                rests.push(1);
                now = now.checked_add(SignedDuration::from_secs(1)).unwrap();
                continue;
            };
            let callback = asked.remove(place);
            waiting.searches.get_mut(&callback.version()).unwrap().since = None;
            number += 1;
            let given_up = waiting.failed(callback, Some(looks(number)), now);
            if !given_up.is_empty() {
                break given_up;
            }
        };
        assert_eq!((given_up.len(), rests.len()), (2, 5 + 10 + 20 + 40));
        assert!(waiting.for_folders.is_empty(), "the good one is asked for");
    }

    #[test]
    fn a_version_is_given_up_only_if_its_bundle_could_be_used_all_the_while() {
        let of_no_bundle = std::iter::repeat_n(None, 100);
        let of_one_look = std::iter::repeat_n(Some(looks(1)), 100);
        let with_an_outage = (1..9).map(|number| (number != 5).then(|| looks(number)));
        let under_way = (1..9).map(|number| Some(Counts { begun: number, asked: number - 1 }));
        for failures in [
            of_no_bundle.collect::<Vec<_>>(),
            of_one_look.collect(),
            with_an_outage.collect(),
            under_way.collect(),
        ] {
            let mut waiting = waiting(&["gone"]);
            for usable in &failures {
                let callback = waiting.for_folders.pop_front().unwrap();
                assert!(waiting.failed(callback, *usable, at(0)).is_empty(), "{failures:?}");
            }
            assert!(waiting.take_for_folders(at(1)).is_empty(), "it rests");
            assert_eq!(waiting.take_for_folders(at(60)).len(), 1);
        }
    }

    #[test]
    fn callbacks_without_a_child_rest() {
        let mut waiting = waiting(&[]);
        for number in ["1", "2"] {
            waiting.for_children.push_back((callback_of("dags", number), PathBuf::new()));
        }
        let (first, _) = waiting.next_for_a_child(at(0)).unwrap();
        assert_eq!(waiting.had_no_child(first.clone(), false, at(0)).len(), 2, "others may run them");
        assert!(!waiting.has_room_for("dags", at(4)) && waiting.has_room_for("dags", at(5)));
        waiting.had_no_child(first.clone(), false, at(5));
        assert!(!waiting.has_room_for("dags", at(14)));
        waiting.had_a_child(&first);
        assert!(waiting.has_room_for("dags", at(14)));
    }

    #[test]
    fn callbacks_of_a_file_that_a_process_is_stuck_with_are_kept_and_keep_no_other_waiting() {
        let mut waiting = waiting(&[]);
        let stuck = callback_of("dags", "1");
        assert!(waiting.had_no_child(stuck.clone(), true, at(0)).is_empty());
        assert_eq!(waiting.take_for_folders(at(0)).len(), 1);
        waiting.searches.clear();
        waiting.for_children.push_back((stuck.clone(), PathBuf::new()));
        assert!(waiting.has_room_for("dags", at(4)) && waiting.next_for_a_child(at(4)).is_none());
        waiting.for_children.push_back((callback_of("other", "1"), PathBuf::new()));
        assert_eq!(waiting.next_for_a_child(at(4)).unwrap().0.bundle(), "other");
        assert_eq!(waiting.next_for_a_child(at(5)).unwrap().0.bundle(), "dags");
    }
}
