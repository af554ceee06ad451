//! Bundles are looked at: what is in them is parsed, and what is gone is forgotten.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_python::bundles::BundleState;
use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::bundle::{Bundle, Occasion, Refreshed};
use crate::file::DagFile;
use crate::files::Listing;
use crate::gone::{self, Left, Listed};
use crate::manager::{Event, Label, Manager};

/// How soon that is tried again whose rows were locked, or which has failed.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// A bundle and where it stands.
pub(crate) struct Tracked {
    pub(crate) bundle: Bundle,
    pub(crate) state: Option<BundleState>,
    /// Whether changes of its files are reported; else only listing it tells.
    pub(crate) is_watched: bool,
    looks: Looks,
    pub(crate) forgetting: Forgetting,
}

/// The looks at a bundle, one at a time.
#[derive(Debug, Default)]
struct Looks {
    /// Why it is to be looked at next.
    wanted: Option<Occasion>,
    is_under_way: bool,
    /// Whether the last one that has ended has failed: the next one may fail as well.
    has_failed: bool,
    /// When that is tried again.
    rests_until: Option<Timestamp>,
    counts: Counts,
}

/// The looks at a bundle, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// How many were begun.
    pub(crate) begun: u64,
    /// Which was the last that has asked the class and succeeded. Others find that nothing is due, or only list files.
    pub(crate) asked: u64,
}

/// What is gone from a bundle is forgotten beside all else: rows of it may be locked.
#[derive(Default)]
pub(crate) struct Forgetting {
    pub(crate) is_under_way: bool,
    /// By what is still to be done, and when, if that was tried before.
    next: Option<(Listed, Option<Timestamp>)>,
    /// When the bundle is listed once more, since the listing was too old for something.
    list_again: Option<Timestamp>,
    /// How often in a row that was so.
    times: u32,
}

impl Tracked {
    pub(crate) fn new(bundle: Bundle) -> Self {
        Self {
            bundle,
            state: None,
            is_watched: false,
            looks: Looks { wanted: Some(Occasion::Routine), ..Looks::default() },
            forgetting: Forgetting::default(),
        }
    }

    /// Whether nothing is to be done but what was tried and has to wait.
    pub(crate) fn is_idle(&self) -> bool {
        self.looks.are_idle() && self.forgetting.is_idle()
    }

    /// The looks at a bundle that could be used when it was last looked at.
    pub(crate) fn looks_if_usable(&self) -> Option<Counts> {
        (self.state.is_some() && !self.looks.has_failed).then_some(self.looks.counts)
    }

    /// Notes why the bundle is to be looked at.
    pub(crate) fn want(&mut self, occasion: Occasion) {
        self.looks.want(occasion);
    }
}

impl Forgetting {
    /// Two more listings are enough, unless others go on storing what is not here.
    fn is_idle(&self) -> bool {
        let is_begun = self.is_under_way || self.next.as_ref().is_some_and(|(_, at)| at.is_none());
        !is_begun && (self.list_again.is_none() || self.times > 2)
    }

    /// What was listed anew is to be gone through.
    fn begin(&mut self, listed: Listed) {
        (self.next, self.list_again) = (Some((listed, None)), None);
    }

    /// What could not be forgotten is tried again, unless the bundle was listed anew meanwhile.
    fn ended(&mut self, listed: Listed, left: Left, now: Timestamp) {
        self.is_under_way = false;
        let again = now.checked_add(PAUSE).unwrap_or(Timestamp::MAX);
        match left {
            Left::Nothing => self.times = 0,
            Left::Locked => _ = self.next.get_or_insert((listed, Some(again))),
            Left::New if self.next.is_none() => {
                (self.list_again, self.times) = (Some(again), self.times.saturating_add(1));
            }
            Left::New => {}
        }
    }

    fn takes_another_listing(&mut self, now: Timestamp) -> bool {
        self.list_again.take_if(|at| has_come(*at, now)).is_some()
    }
}

impl Looks {
    /// A routine look may find that nothing is due, and lists nothing then: it comes again, and must not take the place of a
    /// look that a caller waits for.
    fn want(&mut self, occasion: Occasion) {
        self.wanted = self.wanted.max(Some(occasion));
    }

    fn are_idle(&self) -> bool {
        !self.is_under_way && (self.wanted.is_none() || self.rests_until.is_some())
    }

    /// Begins the next look, if there is one that is wanted and does not rest.
    fn begin(&mut self, now: Timestamp) -> Option<Occasion> {
        if self.is_under_way || self.rests_until.is_some_and(|until| !has_come(until, now)) {
            return None;
        }
        let occasion = self.wanted.take()?;
        (self.rests_until, self.is_under_way) = (None, true);
        self.counts.begun += 1;
        Some(occasion)
    }

    fn succeeded(&mut self, occasion: Occasion) {
        (self.is_under_way, self.has_failed) = (false, false);
        if occasion == Occasion::Requested {
            self.counts.asked = self.counts.begun;
        }
    }

    /// It is tried again soon, for what it was wanted for.
    fn failed(&mut self, occasion: Occasion, now: Timestamp) {
        (self.is_under_way, self.has_failed) = (false, true);
        self.want(occasion);
        self.rests_until = now.checked_add(PAUSE).ok();
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
        for tracked in self.bundles.values_mut() {
            if tracked.forgetting.takes_another_listing(now) {
                tracked.want(Occasion::FilesChanged);
            }
            let Some(occasion) = tracked.looks.begin(now) else { continue };
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
        if looked.is_ok() {
            tracked.looks.succeeded(occasion);
        }
        match looked {
            Ok(Refreshed::Unchanged(state)) => tracked.state = Some(state),
            Ok(Refreshed::Listed(state, listing, since)) => {
                let listing = Arc::new(listing);
                let listed = Listed { root: state.path.clone(), listing: Arc::clone(&listing), since };
                tracked.forgetting.begin(listed);
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

    /// A look has failed.
    pub(crate) fn not_looked(&mut self, name: &Arc<str>, occasion: Occasion, now: Timestamp) {
        if let Some(tracked) = self.bundles.get_mut(name) {
            tracked.looks.failed(occasion, now);
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
                let done = gone::forget(&cx, &name, &listed, now).await;
                Event::Forgotten(name, listed, done)
            });
        }
    }

    /// It was tried to forget what is gone from a bundle.
    pub(crate) fn forgotten(
        &mut self,
        name: &Arc<str>,
        listed: Listed,
        done: Result<Left, Error>,
        now: Timestamp,
    ) {
        let Some(tracked) = self.bundles.get_mut(name) else { return };
        let left = done.unwrap_or_else(|error| {
            let reason = ferroflow_telemetry::chain(&error);
            tracing::error!(bundle = &**name, "what is gone from a bundle is not forgotten yet: {reason}");
            Left::Locked
        });
        tracked.forgetting.ended(listed, left, now);
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

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    #[test]
    fn a_routine_look_takes_the_place_of_no_other() {
        assert!(Occasion::Routine < Occasion::FilesChanged && Occasion::FilesChanged < Occasion::Requested);
    }

    #[test]
    fn a_bundle_cannot_be_used_until_a_look_succeeds_after_one_that_failed() {
        let mut looks = Looks::default();
        looks.want(Occasion::Routine);
        assert_eq!(looks.begin(NOW), Some(Occasion::Routine));
        looks.failed(Occasion::Routine, NOW);
        assert_eq!(looks.begin(NOW), None, "it rests");
        assert_eq!(looks.begin(NOW + PAUSE), Some(Occasion::Routine));
        assert!(looks.has_failed, "the next look is under way");
        looks.succeeded(Occasion::Routine);
        assert!(!looks.has_failed);
    }

    #[test]
    fn only_a_look_that_was_requested_is_known_to_have_asked_the_class() {
        let mut looks = Looks::default();
        let mut asked = Vec::new();
        for occasion in [Occasion::Requested, Occasion::Routine, Occasion::FilesChanged, Occasion::Requested]
        {
            looks.want(occasion);
            looks.begin(NOW).unwrap();
            looks.succeeded(occasion);
            asked.push(looks.counts.asked);
        }
        assert_eq!(asked, [1, 1, 1, 4]);
    }

    #[test]
    fn a_bundle_is_listed_again_for_what_a_listing_was_too_old_for() {
        let listed = || Listed { root: "/dags".into(), listing: Arc::default(), since: NOW };
        let mut forgetting = Forgetting::default();
        let mut were_idle = Vec::new();
        for _ in 0..3 {
            forgetting.begin(listed());
            forgetting.next = None;
            forgetting.ended(listed(), Left::New, NOW);
            were_idle.push(forgetting.is_idle());
            assert!(!forgetting.takes_another_listing(NOW));
            assert!(forgetting.takes_another_listing(NOW + PAUSE));
            assert!(!forgetting.takes_another_listing(NOW + PAUSE), "it is wanted once");
        }
        assert_eq!(were_idle, [false, false, true], "it need not be waited for for ever");
        forgetting.ended(listed(), Left::Locked, NOW);
        assert!(forgetting.next.is_some(), "the same listing is enough");
    }
}
