//! The loop: whatever happens, the next thing to do is begun, and nothing is waited for while a child is free.
//!
//! One task owns everything that is remembered. What takes time (children, the database, bundles) runs in tasks of
//! its own, whose ends are events; so are changes of files, timers and the wish to stop.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_component::{Job, JobId, LoopStatus};
use ferroflow_execution::tell_unreadable;
use ferroflow_model::file_queue::{FileQueue, QueueRules};
use ferroflow_telemetry::clock::{self, signed};
use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::bundle::{Bundle, Occasion, Refreshed};
use crate::callbacks::Callback;
use crate::chores::{self, Chore, ChoreDone, Chores};
use crate::context::Context;
use crate::events::MAX_REST_OF_UNFINISHED;
use crate::file::{DagFile, Statistics};
use crate::files::{Change, Stamp, Watcher};
use crate::gone::{Left, Listed};
use crate::held_callbacks::{self, Held};
use crate::looks::{self, Tracked};
use crate::parse_file::{Done, FileToParse, Parsed};
use crate::waiting_callbacks::{Version, WaitingCallbacks};
use crate::{Error, LAST_WORDS, Options};

const MAX_SLEEP: SignedDuration = SignedDuration::from_secs(1);

pub(crate) struct Manager {
    pub(crate) cx: Arc<Context>,
    pub(crate) job_id: JobId,
    status: Arc<LoopStatus>,
    pub(crate) bundles: BTreeMap<Arc<str>, Tracked>,
    pub(crate) queue: FileQueue<DagFile>,
    pub(crate) statistics: HashMap<DagFile, Statistics>,
    pub(crate) stamps: HashMap<DagFile, Stamp>,
    pub(crate) callbacks: WaitingCallbacks,
    pub(crate) chores: Chores,
    /// Seconds spent in parsing since the queue was last empty.
    pub(crate) total_parse_time: f64,
    pub(crate) plugins_folder: PathBuf,
    tasks: JoinSet<Event>,
    labels: HashMap<Id, Label>,
    pub(crate) parsing: HashMap<DagFile, AbortHandle>,
    pub(crate) children: usize,
    /// Whether the last child was for a callback.
    pub(crate) was_callback: bool,
    pub(crate) storing: usize,
    changes: mpsc::Receiver<Change>,
    _watcher: Watcher,
}

/// What a task was for: also one that panics is accounted for.
#[derive(Clone, Debug)]
pub(crate) enum Label {
    Parse(DagFile),
    Store(DagFile),
    Folder(Uuid, Version),
    Callback(Uuid),
    GiveBack(Uuid),
    Remove(Uuid),
    Register,
    Look(Arc<str>, Occasion),
    Forget(Arc<str>),
    Chore(Chore),
}

/// The end of a task.
pub(crate) enum Event {
    Parsed(FileToParse, Result<Parsed, Error>),
    Stored(DagFile, f64, Result<Done, Error>),
    FolderFound(Callback, Result<Option<PathBuf>, Error>),
    CallbackRun(Callback, Result<(), Error>),
    GivenBack(Result<(), Error>),
    Removed,
    Registered(Arc<str>, Result<(), Error>),
    Looked(Arc<str>, Occasion, Box<Result<Refreshed, Error>>),
    Forgotten(Arc<str>, Listed, Result<Left, Error>),
    ChoreDone(Chore, Result<ChoreDone, Error>),
}

impl Manager {
    /// Begins to watch the folders of the bundles. Those that are not ours are noted in the database, as Airflow does;
    /// ours when they are looked at, each by itself: one whose class fails or hangs keeps no other waiting.
    pub(crate) async fn prepare(cx: Arc<Context>, options: &Options, job: &Job) -> Result<Self, Error> {
        let configured = cx.configured().await?.to_vec();
        let names: BTreeSet<String> = configured.iter().map(|bundle| bundle.name.clone()).collect();
        let unknown: Vec<&str> =
            options.bundles.iter().filter(|name| !names.contains(*name)).map(String::as_str).collect();
        if !unknown.is_empty() {
            let known = names.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::UnknownBundles { names: unknown.join(", "), known });
        }
        let (mut bundles, mut others) = (BTreeMap::new(), Vec::new());
        for configured in configured {
            let bundle = Bundle::new(&cx, configured)?;
            if options.bundles.is_empty() || options.bundles.iter().any(|name| **name == *bundle.name) {
                bundles.insert(Arc::clone(&bundle.name), Tracked::new(bundle));
            } else {
                others.push(bundle);
            }
        }
        let plugins_folder = cx.settings.core.plugins_folder.clone();
        let folders = bundles.values().filter_map(|tracked| tracked.bundle.watched_path().map(Into::into));
        let (watcher, changes) = Watcher::new(folders.chain([plugins_folder.clone()]).collect());
        let rules = QueueRules {
            interval: signed(cx.settings.dag_processor.min_file_process_interval),
            sort_mode: cx.sort_mode()?,
            max_runs: options.num_runs,
        };
        let mut manager = Self {
            chores: Chores::new(&cx.settings, clock::now()),
            cx,
            job_id: job.id.clone(),
            status: Arc::clone(&job.status),
            bundles,
            queue: FileQueue::new(rules),
            statistics: HashMap::new(),
            stamps: HashMap::new(),
            callbacks: WaitingCallbacks::default(),
            was_callback: false,
            total_parse_time: 0.0,
            plugins_folder,
            tasks: JoinSet::new(),
            labels: HashMap::new(),
            parsing: HashMap::new(),
            children: 0,
            storing: 0,
            changes,
            _watcher: watcher,
        };
        if !options.bundles.is_empty() {
            manager.chores.stop(Chore::DeactivateOthers);
        }
        manager.register(others);
        Ok(manager)
    }

    /// Serves until it is told to stop, or until every file was parsed as often as asked.
    pub(crate) async fn serve(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        while !self.is_done() && !stop.is_cancelled() {
            let now = clock::now();
            self.status.begins("BeginWhatIsDue", now);
            self.begin_what_is_due(now);
            let wait = self.time_until_something_is_due(now);
            self.status.waits();
            tokio::select! {
                () = stop.cancelled() => {}
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
                Some(change) = self.changes.recv() => self.file_changed(&change),
                () = tokio::time::sleep(wait) => {}
            }
        }
        self.wind_down().await
    }

    fn is_done(&self) -> bool {
        self.queue.is_done()
            && self.children + self.storing == 0
            && !self.labels.values().any(|label| matches!(label, Label::Register))
            && !self.is_at(Chore::DeactivateOthers)
            && self.bundles.values().all(Tracked::is_idle)
    }

    fn begin_what_is_due(&mut self, now: Timestamp) {
        for chore in self.chores.take_due(now) {
            self.begin_chore(chore, now);
        }
        self.look_at_bundles(now);
        self.forget_what_is_gone(now);
        self.find_folders(now);
        self.start_children(now);
    }

    fn begin_chore(&mut self, chore: Chore, now: Timestamp) {
        let Some(work) = chores::begin(self, chore, now) else {
            self.chores.done(chore, now);
            return;
        };
        self.spawn(Label::Chore(chore), async move { Event::ChoreDone(chore, work.await) });
    }

    /// Whether a chore is under way.
    pub(crate) fn is_at(&self, chore: Chore) -> bool {
        self.labels.values().any(|label| matches!(label, Label::Chore(under_way) if *under_way == chore))
    }

    /// The callbacks that wait to be run, or are.
    pub(crate) fn held_callbacks(&self) -> Held {
        let running = self.labels.values().filter_map(|label| match label {
            Label::Folder(id, _) | Label::Callback(id) | Label::GiveBack(id) | Label::Remove(id) => Some(*id),
            _ => None,
        });
        Held {
            job_id: self.job_id.get(),
            ids: self.callbacks.iter().map(Callback::id).chain(running).collect(),
            is_all: !self.is_at(Chore::TakeCallbacks),
        }
    }

    pub(crate) fn spawn(
        &mut self,
        label: Label,
        work: impl Future<Output = Event> + Send + 'static,
    ) -> AbortHandle {
        let handle = self.tasks.spawn(work);
        self.labels.insert(handle.id(), label);
        handle
    }

    fn time_until_something_is_due(&self, now: Timestamp) -> Duration {
        let file = self.queue.next_due().filter(|_| self.has_a_child_for_a_file());
        let next = file.into_iter().chain(self.chores.next_due()).min();
        let wait = next.map_or(SignedDuration::from_secs(1), |next| next.duration_since(now));
        // Not for long: the clock may be set back meanwhile.
        Duration::try_from(wait.clamp(SignedDuration::ZERO, MAX_SLEEP)).unwrap_or_default()
    }

    fn ended(&mut self, ended: Result<(Id, Event), JoinError>) {
        let (id, event) = match ended {
            Ok((id, event)) => (id, Ok(event)),
            Err(error) => (error.id(), Err(error)),
        };
        let Some(label) = self.labels.remove(&id) else { return };
        match &label {
            Label::Parse(file) => {
                self.children -= 1;
                self.parsing.remove(file);
            }
            Label::Folder(_, version) => self.searched(version),
            Label::Callback(_) => self.children -= 1,
            Label::Store(_) => self.storing -= 1,
            Label::GiveBack(_)
            | Label::Remove(_)
            | Label::Register
            | Label::Look(..)
            | Label::Forget(_)
            | Label::Chore(_) => {}
        }
        match event {
            Ok(event) => self.happened(event),
            Err(error) => self.failed(label, &error),
        }
    }

    fn happened(&mut self, event: Event) {
        let now = clock::now();
        match event {
            Event::Parsed(work, Ok(parsed)) => self.begin_to_store(work, parsed),
            Event::Parsed(work, Err(error)) => {
                tracing::error!(file = %work.file, "a file was not parsed: {}", ferroflow_telemetry::chain(&error));
                self.queue.finish_for_now(&work.file, now, MAX_REST_OF_UNFINISHED);
            }
            Event::Stored(file, duration, Ok(done)) => self.stored(&file, duration, done, now),
            Event::Stored(file, _, Err(error)) if error.is_busy() => self.put_off(&file, &error, now),
            Event::Stored(file, duration, Err(error)) => {
                tracing::error!(%file, "the result of a file was not stored: {}", ferroflow_telemetry::chain(&error));
                self.not_stored(&file, duration, now);
            }
            Event::FolderFound(callback, folder) => self.folder_found(callback, folder, now),
            Event::CallbackRun(callback, run) => self.callback_run(callback, run, now),
            Event::GivenBack(Err(error)) => {
                tracing::error!("a callback is not given back yet: {}", ferroflow_telemetry::chain(&error));
            }
            Event::GivenBack(Ok(())) | Event::Removed | Event::Registered(_, Ok(())) => {}
            Event::Registered(name, Err(error)) => looks::cannot_be_used(&name, &error),
            Event::Looked(name, occasion, looked) => self.looked(&name, occasion, *looked, now),
            Event::Forgotten(name, listed, done) => self.forgotten(&name, listed, done, now),
            Event::ChoreDone(chore, done) => {
                self.chores.done(chore, now);
                tell_unreadable(&self.cx.db);
                match done {
                    Ok(done) => self.chore_done(done),
                    Err(error) => tracing::error!("{chore}: {}", ferroflow_telemetry::chain(&error)),
                }
            }
        }
    }

    /// A task panicked, or was aborted because its file is gone.
    fn failed(&mut self, label: Label, error: &JoinError) {
        let now = clock::now();
        if error.is_panic() {
            tracing::error!(?label, "this is a bug in ferroflow: {error}");
        }
        match label {
            Label::Parse(file) => self.queue.finish_for_now(&file, now, MAX_REST_OF_UNFINISHED),
            Label::Store(file) => self.not_stored(&file, 0.0, now),
            Label::Folder(..)
            | Label::Callback(_)
            | Label::GiveBack(_)
            | Label::Remove(_)
            | Label::Register => {}
            Label::Look(name, occasion) => self.not_looked(&name, occasion, now),
            Label::Forget(name) => {
                if let Some(tracked) = self.bundles.get_mut(&name) {
                    tracked.forgetting.is_under_way = false;
                }
            }
            Label::Chore(chore) => self.chores.done(chore, now),
        }
    }

    /// A file is gone: what is known of it is forgotten, and a child that works on it is killed.
    pub(crate) fn forget(&mut self, file: &DagFile) {
        tracing::info!(%file, "a file is gone");
        self.queue.forget(file);
        self.statistics.remove(file);
        self.stamps.remove(file);
        if let Some(child) = self.parsing.remove(file) {
            metrics::process_ended(file.measured(), metrics::Ended::Stop);
            child.abort();
        }
    }

    /// Whether nothing is being parsed or waits for it.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.ready() == 0 && self.parsing.is_empty() && self.storing == 0
    }

    /// Lets results be stored that are there, kills the children, and gives back the callbacks that were not run.
    async fn wind_down(&mut self) -> Result<(), Error> {
        for (file, child) in &self.parsing {
            metrics::process_ended(file.measured(), metrics::Ended::Terminate);
            child.abort();
        }
        let enough = tokio::time::sleep(Duration::from_secs(5));
        tokio::pin!(enough);
        let is_awaited =
            |label: &Label| matches!(label, Label::Store(_) | Label::Callback(_) | Label::Remove(_));
        while self.labels.values().any(is_awaited) {
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
                () = &mut enough => break,
            }
        }
        let own = self.held_callbacks();
        let were_run = self.labels.values().filter_map(|label| match label {
            Label::Remove(id) => Some(*id),
            _ => None,
        });
        let were_run = were_run.collect();
        self.tasks.shutdown().await;
        let give_back = held_callbacks::give_all_back(&self.cx, &own, &were_run);
        match tokio::time::timeout(LAST_WORDS, give_back).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!("callbacks are not given back: {}", ferroflow_telemetry::chain(&error));
            }
            Err(_) => {
                tracing::warn!("callbacks could not be given back; the next processor takes them over");
            }
        }
        if self.queue.is_done() {
            chores::mark_stale(&self.cx, chores::stored(&self.statistics)).await?;
        }
        Ok(())
    }
}
