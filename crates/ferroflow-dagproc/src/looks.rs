//! Bundles are looked at: what is in them is parsed, and what is gone is forgotten.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ferroflow_python::bundles::BundleState;
use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::bundle::{Bundle, Occasion, Refreshed};
use crate::file::DagFile;
use crate::files::Listing;
use crate::gone;
use crate::manager::{Event, Label, Manager};

/// How soon that is tried again which somebody has locked, or which has failed.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// A bundle and where it stands.
pub(crate) struct Tracked {
    pub(crate) bundle: Bundle,
    pub(crate) state: Option<BundleState>,
    /// Whether changes of its files are reported; else only listing it tells.
    pub(crate) is_watched: bool,
    /// Whether it is being looked at.
    pub(crate) is_busy: bool,
    /// Why it is to be looked at next.
    pub(crate) wanted: Option<Occasion>,
    /// When it is tried again, if the last look has failed.
    rests_until: Option<Timestamp>,
    pub(crate) forgetting: Forgetting,
}

/// What is gone from a bundle is forgotten beside all else: rows of it may be locked.
#[derive(Default)]
pub(crate) struct Forgetting {
    pub(crate) is_under_way: bool,
    /// By what is still to be done, and when, if that was tried before.
    next: Option<(Listed, Option<Timestamp>)>,
}

/// The files of a bundle, and where it was.
#[derive(Clone)]
pub(crate) struct Listed {
    root: PathBuf,
    listing: Arc<Listing>,
}

impl Tracked {
    pub(crate) fn new(bundle: Bundle) -> Self {
        Self {
            bundle,
            state: None,
            is_watched: false,
            is_busy: false,
            wanted: Some(Occasion::Routine),
            rests_until: None,
            forgetting: Forgetting::default(),
        }
    }

    /// Whether nothing is to be done but what was tried and has to wait.
    pub(crate) fn is_idle(&self) -> bool {
        let Forgetting { is_under_way, next } = &self.forgetting;
        let is_forgetting = *is_under_way || next.as_ref().is_some_and(|(_, at)| at.is_none());
        let is_to_be_looked_at = self.wanted.is_some() && self.rests_until.is_none();
        !is_to_be_looked_at && !self.is_busy && !is_forgetting
    }

    /// Whether it could be used when it was last looked at.
    pub(crate) fn can_be_used(&self) -> bool {
        self.state.is_some() && self.rests_until.is_none()
    }

    /// Notes why the bundle is to be looked at. A routine look may find that nothing is due, and lists nothing then:
    /// it comes again, and must not take the place of a look that somebody waits for.
    pub(crate) fn want(&mut self, occasion: Occasion) {
        self.wanted = self.wanted.max(Some(occasion));
    }
}

impl Manager {
    /// Notes bundles in the database that another processor looks at.
    pub(crate) fn register(&mut self, bundles: Vec<Bundle>) {
        for bundle in bundles {
            let (cx, name) = (Arc::clone(&self.cx), Arc::clone(&bundle.name));
            self.spawn(Label::Register, async move {
                let registered = bundle.register(&cx).await;
                Event::Registered(name, registered)
            });
        }
    }

    /// Looks at every bundle that is to be looked at.
    pub(crate) fn look_at_bundles(&mut self, now: Timestamp) {
        let mut looks = Vec::new();
        for tracked in self.bundles.values_mut().filter(|tracked| !tracked.is_busy) {
            if tracked.rests_until.is_some_and(|until| !has_come(until, now)) {
                continue;
            }
            let Some(occasion) = tracked.wanted.take() else { continue };
            tracked.rests_until = None;
            tracked.is_busy = true;
            looks.push((tracked.bundle.clone(), tracked.state.clone(), occasion));
        }
        for (bundle, state, occasion) in looks {
            let (cx, name) = (Arc::clone(&self.cx), Arc::clone(&bundle.name));
            self.spawn(Label::Look(Arc::clone(&name), occasion), async move {
                let looked = bundle.refresh(&cx, state.as_ref(), occasion, now).await;
                Event::Looked(name, occasion, Box::new(looked))
            });
        }
    }

    pub(crate) fn looked(
        &mut self,
        name: &Arc<str>,
        occasion: Occasion,
        looked: Result<Refreshed, Error>,
        now: Timestamp,
    ) {
        let Some(tracked) = self.bundles.get_mut(name) else { return };
        tracked.is_busy = false;
        match looked {
            Ok(Refreshed::Unchanged(state)) => tracked.state = Some(state),
            Ok(Refreshed::Listed(state, listing)) => {
                let listed = Listed { root: state.path.clone(), listing: Arc::new(listing) };
                let listing = Arc::clone(&listed.listing);
                tracked.forgetting.next = Some((listed, None));
                let before = tracked.state.replace(state.clone());
                let is_other_version = before.is_some_and(|before| before.version != state.version);
                self.take_up(name, &listing, is_other_version);
            }
            Err(error) => {
                cannot_be_used(name, &error);
                self.not_looked(name, occasion, now);
            }
        }
    }

    /// A look has failed: it is tried again soon, for what it was wanted for.
    pub(crate) fn not_looked(&mut self, name: &Arc<str>, occasion: Occasion, now: Timestamp) {
        if let Some(tracked) = self.bundles.get_mut(name) {
            tracked.is_busy = false;
            tracked.want(occasion);
            tracked.rests_until = now.checked_add(PAUSE).ok();
        }
    }

    /// Files that are new or changed are parsed, and those that are gone are forgotten.
    fn take_up(&mut self, bundle: &Arc<str>, listing: &Listing, is_other_version: bool) {
        let mut gone: BTreeSet<DagFile> =
            self.queue.files().filter(|file| file.bundle == *bundle).cloned().collect();
        let (known, mut new) = (gone.len(), 0);
        for listed in &listing.files {
            let file = DagFile::new(bundle, &listed.relative);
            new += usize::from(!gone.remove(&file));
            let is_news = self.queue.observe(&file, listed.modified);
            // A file may be replaced by one that is as old, and what it imports may be another in another version.
            let is_other =
                self.stamps.insert(file.clone(), listed.stamp).is_some_and(|it| it != listed.stamp);
            if !is_news && (is_other || is_other_version) {
                self.queue.touch(&file);
            }
        }
        if new > 0 || !gone.is_empty() || known == 0 {
            let (files, gone) = (listing.files.len(), gone.len());
            tracing::info!(bundle = &**bundle, files, new, gone, "the files of a bundle");
        }
        for file in gone {
            self.forget(&file);
        }
        metrics::file_path_queue_updated();
    }

    /// Begins to forget what is gone from the bundles that were listed.
    pub(crate) fn forget_what_is_gone(&mut self, now: Timestamp) {
        let mut due = Vec::new();
        for (name, tracked) in &mut self.bundles {
            let forgetting = &mut tracked.forgetting;
            let is_due =
                forgetting.next.as_ref().is_some_and(|(_, at)| at.is_none_or(|at| has_come(at, now)));
            if forgetting.is_under_way || !is_due {
                continue;
            }
            if let Some((listed, _)) = forgetting.next.take() {
                forgetting.is_under_way = true;
                due.push((Arc::clone(name), listed));
            }
        }
        for (name, listed) in due {
            let cx = Arc::clone(&self.cx);
            self.spawn(Label::Forget(Arc::clone(&name)), async move {
                let done = gone::forget(&cx, &name, &listed.root, &listed.listing).await;
                Event::Forgotten(name, listed, done)
            });
        }
    }

    /// What could not be forgotten is tried again, unless the bundle was listed anew meanwhile.
    pub(crate) fn forgotten(
        &mut self,
        name: &Arc<str>,
        listed: Listed,
        done: Result<bool, Error>,
        now: Timestamp,
    ) {
        let Some(tracked) = self.bundles.get_mut(name) else { return };
        let forgetting = &mut tracked.forgetting;
        forgetting.is_under_way = false;
        if let Err(error) = &done {
            let reason = ferroflow_telemetry::chain(error);
            tracing::error!(bundle = &**name, "what is gone from a bundle is not forgotten yet: {reason}");
        }
        if !done.is_ok_and(|is_all| is_all) {
            let again = now.checked_add(PAUSE).unwrap_or(Timestamp::MAX);
            forgetting.next.get_or_insert((listed, Some(again)));
        }
    }
}

pub(crate) fn cannot_be_used(bundle: &str, error: &Error) {
    tracing::error!(bundle, "a bundle cannot be used now: {}", ferroflow_telemetry::chain(error));
}

/// Whether the end of a pause has come. One that is further away than it was is that of a clock that was set back.
fn has_come(at: Timestamp, now: Timestamp) -> bool {
    at <= now || at.duration_since(now) > PAUSE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routine_look_takes_the_place_of_no_other() {
        assert!(Occasion::Routine < Occasion::FilesChanged && Occasion::FilesChanged < Occasion::Requested);
    }
}
