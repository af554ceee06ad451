//! Callbacks that were taken and wait: first for the folder of their bundle, then for a child.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::callbacks::{self, Callback};
use crate::manager::{Event, Label, Manager};

/// How long a callback rests whose folder cannot be had.
const REST: SignedDuration = SignedDuration::from_secs(30);
/// How many callbacks of a bundle may rest before no more of it are taken.
const MOST_RESTING: usize = 50;

/// Callbacks that were taken and wait.
#[derive(Default)]
pub(crate) struct WaitingCallbacks {
    /// For their folders, and when those that rest are tried again.
    for_folders: VecDeque<(Callback, Option<Timestamp>)>,
    /// The bundles whose folder one of them waits for: if it hangs, it keeps no other bundle waiting.
    asked: BTreeSet<String>,
    for_children: VecDeque<(Callback, PathBuf)>,
}

impl WaitingCallbacks {
    pub(crate) fn add(&mut self, callback: Callback) {
        self.for_folders.push_back((callback, None));
    }

    /// The callbacks that wait here. That whose folder is being found is none of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Callback> {
        let for_folders = self.for_folders.iter().map(|(callback, _)| callback);
        for_folders.chain(self.for_children.iter().map(|(callback, _)| callback))
    }

    /// Whether more of a bundle may be taken: what is taken is not given to another processor, so that it is no more than
    /// can be run soon.
    pub(crate) fn has_room_for(&self, bundle: &str) -> bool {
        let of_bundle = self.for_folders.iter().filter(|(callback, _)| callback.bundle() == bundle);
        let (resting, waiting): (Vec<_>, Vec<_>) =
            of_bundle.partition(|(_, rests_until)| rests_until.is_some());
        let is_ready = self.for_children.iter().any(|(callback, _)| callback.bundle() == bundle);
        waiting.is_empty() && resting.len() < MOST_RESTING && !is_ready && !self.asked.contains(bundle)
    }

    pub(crate) fn next_for_a_child(&mut self) -> Option<(Callback, PathBuf)> {
        self.for_children.pop_front()
    }

    /// One callback of each bundle whose folder can be asked for now.
    fn take_for_folders(&mut self, now: Timestamp) -> Vec<Callback> {
        let mut taken = Vec::new();
        for (callback, rests_until) in std::mem::take(&mut self.for_folders) {
            let rests = rests_until.is_some_and(|until| until > now && until.duration_since(now) <= REST);
            if rests || !self.asked.insert(callback.bundle().to_owned()) {
                self.for_folders.push_back((callback, rests_until));
            } else {
                taken.push(callback);
            }
        }
        taken
    }
}

impl Manager {
    /// Finds the folders of callbacks, one for each bundle at a time. That takes no child: a bundle may hang.
    pub(crate) fn find_folders(&mut self, now: Timestamp) {
        for callback in self.callbacks.take_for_folders(now) {
            let (cx, label) =
                (Arc::clone(&self.cx), Label::Folder(callback.id(), callback.bundle().to_owned()));
            self.spawn(label, async move {
                let folder = callbacks::folder(&cx, &callback).await;
                Event::FolderFound(callback, folder)
            });
        }
    }

    /// The search for a folder has ended, however it did.
    pub(crate) fn searched(&mut self, bundle: &str) {
        self.callbacks.asked.remove(bundle);
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
            Ok(Some(folder)) => self.callbacks.for_children.push_back((callback, folder)),
            Ok(None) => {
                tracing::error!(file = place, "a callback is dropped: its bundle is not configured any more");
                let cx = Arc::clone(&self.cx);
                self.spawn(Label::Drop(callback.id()), async move {
                    Event::Dropped(callbacks::finish(&cx, &callback).await)
                });
            }
            Err(error) => {
                let reason = ferroflow_telemetry::chain(&error);
                tracing::error!(file = place, "a callback waits until its bundle can be used: {reason}");
                let until = now.checked_add(REST).unwrap_or(Timestamp::MAX);
                self.callbacks.for_folders.push_back((callback, Some(until)));
            }
        }
    }
}
