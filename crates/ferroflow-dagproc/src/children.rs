//! Children for what waits: callbacks and files, and what came of a file is stored.

use std::sync::Arc;

use ferroflow_db::callback::ClaimedCallback;
use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::Timestamp;

use crate::Error;
use crate::callbacks::{self, Callback};
use crate::file::DagFile;
use crate::held_callbacks;
use crate::manager::{Event, Label, Manager};
use crate::parse_file::{self, FileToParse, Parsed};

/// Results that wait to be stored, per child: a slow database slows the parsing down instead of filling memory.
const BACKLOG: usize = 4;
/// The same with those that wait for user code, which may hang.
const MAX_RESULTS: usize = 64;

impl Manager {
    pub(crate) fn start_children(&mut self, now: Timestamp) {
        while self.children < self.slots() {
            let may_be_a_callback = self.may_run_a_callback();
            if may_be_a_callback && self.start_callback(now) {
                continue;
            }
            if self.has_a_child_for_a_file() && self.start_file(now) {
                continue;
            }
            // The only child takes what there is.
            let is_alone = self.slots() == 1 && !may_be_a_callback;
            if !(is_alone && self.start_callback(now)) {
                break;
            }
        }
        metrics::file_path_queue_size(self.queue.ready());
    }

    /// However many callbacks there are, one child is for files, or every other turn if there is but one.
    fn may_run_a_callback(&self) -> bool {
        let slots = self.slots();
        if slots == 1 { !self.was_callback } else { self.children - self.parsing.len() < slots - 1 }
    }

    fn start_callback(&mut self, now: Timestamp) -> bool {
        let Some((callback, folder)) = self.callbacks.next_for_a_child(now) else { return false };
        (self.was_callback, self.children) = (true, self.children + 1);
        let (cx, label) = (Arc::clone(&self.cx), Label::Callback(callback.id()));
        self.spawn(label, async move {
            let run = callbacks::run(&cx, &callback, folder, now).await;
            Event::CallbackRun(callback, run)
        });
        true
    }

    /// The child of a callback has ended, or there was none. What is left to do may wait for its row, and takes no child.
    pub(crate) fn callback_run(&mut self, callback: Callback, run: Result<(), Error>, now: Timestamp) {
        let Err(error) = run else {
            metrics::callback_only();
            self.callbacks.had_a_child(&callback);
            return self.remove(callback.held);
        };
        tracing::error!(
            file = callback.place(),
            "a callback was not run: {}",
            ferroflow_telemetry::chain(&error)
        );
        let is_about_file = matches!(error, Error::StuckFile(_));
        for callback in self.callbacks.had_no_child(callback, is_about_file, now) {
            let (cx, label) = (Arc::clone(&self.cx), Label::GiveBack(callback.id()));
            self.spawn(label, async move {
                Event::GivenBack(held_callbacks::give_back(&cx, &[callback.held]).await.map(drop))
            });
        }
    }

    /// Removes a callback, however long that takes.
    pub(crate) fn remove(&mut self, held: ClaimedCallback) {
        let cx = Arc::clone(&self.cx);
        self.spawn(Label::Remove(held.id), async move {
            held_callbacks::remove(&cx, &held).await;
            Event::Removed
        });
    }

    fn start_file(&mut self, now: Timestamp) -> bool {
        while let Some((file, urgency)) = self.queue.take(now) {
            let Some(work) = self.work_of(&file) else {
                self.queue.forget(&file);
                continue;
            };
            tracing::debug!(%file, ?urgency, "parsing a file");
            metrics::process_started(file.measured());
            let (cx, label) = (Arc::clone(&self.cx), Label::Parse(file.clone()));
            (self.was_callback, self.children) = (false, self.children + 1);
            let handle = self.spawn(label, async move {
                let parsed = parse_file::run(&cx, &work).await;
                Event::Parsed(work, parsed)
            });
            self.parsing.insert(file, handle);
            return true;
        }
        false
    }

    fn work_of(&self, file: &DagFile) -> Option<FileToParse> {
        let state = self.bundles.get(&file.bundle)?.state.as_ref()?;
        Some(FileToParse {
            file: file.clone(),
            bundle_path: state.path.clone(),
            bundle_version: state.version.clone(),
            version_data: state.version_data.clone(),
        })
    }

    /// Whether a file could be parsed now.
    pub(crate) fn has_a_child_for_a_file(&self) -> bool {
        let slots = self.slots();
        let at_the_database = self.storing.saturating_sub(self.cx.waiting_for_python());
        self.children < slots
            && at_the_database < slots.saturating_mul(BACKLOG)
            && self.storing < slots.saturating_mul(MAX_RESULTS)
    }

    fn slots(&self) -> usize {
        usize::try_from(self.cx.settings.dag_processor.parsing_processes).unwrap_or(usize::MAX)
    }

    pub(crate) fn begin_to_store(&mut self, work: FileToParse, parsed: Parsed) {
        if !self.queue.contains(&work.file) {
            return;
        }
        let (cx, file, duration) = (Arc::clone(&self.cx), work.file.clone(), parsed.duration);
        self.storing += 1;
        self.spawn(Label::Store(file.clone()), async move {
            let done = parse_file::store(&cx, &work, parsed).await;
            Event::Stored(file, duration, done)
        });
    }
}
