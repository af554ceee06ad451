//! What the manager makes of what happened.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::bundle::Occasion;
use crate::chores::ChoreDone;
use crate::file::{DagFile, Statistics};
use crate::files::{Change, Changed};
use crate::manager::Manager;
use crate::parse_file::Done;

/// A file is parsed again after so long at the latest, however long `min_file_process_interval` is, if a timetable has
/// failed, since until then its DAG gets no run, or if nothing is in the database of what came of it.
pub(crate) const MAX_REST_OF_UNFINISHED: SignedDuration = SignedDuration::from_secs(15);

/// How soon a file comes again if a row of it is locked.
const REST_OF_LOCKED: SignedDuration = SignedDuration::from_secs(5);

impl Manager {
    pub(crate) fn stored(&mut self, file: &DagFile, duration: f64, done: Done, now: Timestamp) {
        let statistics = self.statistics.entry(file.clone()).or_default();
        statistics.dags = done.dags;
        statistics.import_errors = done.import_errors;
        if done.stored.is_some() {
            statistics.stored = done.stored;
        }
        if let Some(imports) = done.imports {
            statistics.imports = imports;
        }
        let longest_rest = done.is_due_soon.then_some(MAX_REST_OF_UNFINISHED);
        self.finish(file, duration, longest_rest, now);
    }

    /// A DAG of the file is locked by another transaction. It comes again soon, and takes no slot until then.
    pub(crate) fn put_off(&mut self, file: &DagFile, error: &Error, now: Timestamp) {
        let reason = ferroflow_telemetry::chain(error);
        tracing::warn!(%file, "a row of a file is locked; parsing it again soon: {reason}");
        self.queue.put_off(file, now, REST_OF_LOCKED);
    }

    /// The file was parsed, but what came of it is not in the database: it is tried again soon.
    pub(crate) fn not_stored(&mut self, file: &DagFile, duration: f64, now: Timestamp) {
        self.finish(file, duration, Some(MAX_REST_OF_UNFINISHED), now);
    }

    fn finish(
        &mut self,
        file: &DagFile,
        duration: f64,
        longest_rest: Option<SignedDuration>,
        now: Timestamp,
    ) {
        if !self.queue.contains(file) {
            self.statistics.remove(file);
            return;
        }
        let statistics = self.statistics.entry(file.clone()).or_default();
        statistics.finished = Some(now);
        statistics.duration = Some(duration);
        statistics.runs += 1;
        metrics::last_duration(file.measured(), Duration::try_from_secs_f64(duration).unwrap_or_default());
        self.total_parse_time += duration;
        match longest_rest {
            Some(longest) => self.queue.finish_for_now(file, now, longest),
            None => self.queue.finish(file, now),
        }
        if self.is_drained() {
            let sum = |count: fn(&Statistics) -> usize| self.statistics.values().map(count).sum();
            let seconds = Duration::try_from_secs_f64(self.total_parse_time).unwrap_or_default();
            metrics::totals(seconds, sum(|of| of.dags), sum(|of| of.import_errors));
            self.total_parse_time = 0.0;
        }
    }

    pub(crate) fn file_changed(&mut self, change: &Change) {
        if change.root == self.plugins_folder {
            if matches!(change.what, Changed::Path(_)) {
                self.plugins_changed();
            }
            return;
        }
        for tracked in self.bundles.values_mut() {
            if tracked.bundle.watched_path() != Some(&change.root) {
                continue;
            }
            match &change.what {
                Changed::Path(path) if !is_by_product(path) => tracked.want(Occasion::FilesChanged),
                Changed::Path(_) => continue,
                Changed::Rescan => {
                    tracked.is_watched = true;
                    tracked.want(Occasion::FilesChanged);
                }
                Changed::Unsupported(reason) => {
                    tracked.is_watched = false;
                    let bundle = &*tracked.bundle.name;
                    tracing::warn!(
                        bundle,
                        reason,
                        "files are listed every few seconds: they cannot be watched"
                    );
                }
            }
            if let Changed::Path(path) = &change.what {
                let (bundle, path) = (Arc::clone(&tracked.bundle.name), path.to_string_lossy().into_owned());
                let importers = self.statistics.iter().filter(|(file, statistics)| {
                    file.bundle == bundle && statistics.imports.iter().any(|import| **import == *path)
                });
                for (file, _) in importers {
                    tracing::debug!(%file, path, "what a file imports has changed");
                    self.queue.touch(file);
                }
            }
            return;
        }
    }

    fn plugins_changed(&self) {
        tracing::info!("the plugins folder has changed: custom timetables and listeners are loaded anew");
        let cx = Arc::clone(&self.cx);
        tokio::spawn(async move { cx.load_plugins_anew().await });
    }

    pub(crate) fn chore_done(&mut self, done: ChoreDone) {
        match done {
            ChoreDone::Nothing => {}
            ChoreDone::Requested(requests) => {
                for request in requests {
                    let Some(tracked) = self.bundles.get_mut(request.bundle_name.as_str()) else { continue };
                    tracked.want(Occasion::Requested);
                    let file = DagFile::new(&tracked.bundle.name, &request.relative_fileloc);
                    tracing::info!(%file, "a user asks for a file to be parsed");
                    self.queue.request(&file);
                }
            }
            ChoreDone::ForGood(chore) => self.chores.stop(chore),
            ChoreDone::Callbacks(taken) => {
                for callback in taken.callbacks {
                    metrics::other_callback();
                    self.callbacks.add(callback);
                }
                for held in taken.unreadable {
                    self.remove(held);
                }
            }
        }
    }
}

/// Files that Python and editors leave, which no DAG depends on.
fn is_by_product(path: &std::path::Path) -> bool {
    let is_compiled = path.extension().is_some_and(|extension| extension == "pyc" || extension == "swp");
    is_compiled || path.components().any(|part| part.as_os_str() == "__pycache__")
}
