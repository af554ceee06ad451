//! What goes wrong with a file: its file system is full or read-only, from before something is done until it was refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ferroflow_db::testing::execute;
use ferroflow_testkit::SmallDisk;
use tracing::field::{Field, Visit};
use tracing::span;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is no room, and connections are open.
    Full,
    /// There is no room, and no connection is open.
    FullWhenOpened,
    /// The file system is read-only. There is no log beside the file and none can be made, so not even reading is possible.
    ReadOnly,
    /// The same where a process was killed, so that a log is there: reading is possible.
    ReadOnlyWithLog,
    /// The kernel has made the file system read-only, below connections that are open.
    Unwritable,
}

impl Trouble {
    /// Whether connections stay open between transactions.
    pub(crate) fn keeps_connections(self) -> bool {
        matches!(self, Self::Full | Self::Unwritable)
    }
}

/// When something goes wrong. By default nothing does.
#[derive(Clone, Default)]
pub(crate) struct Disturbance {
    disk: Option<Arc<Disk>>,
    state: Arc<Mutex<State>>,
}

struct Disk {
    mounted: SmallDisk,
    file: PathBuf,
    trouble: Trouble,
}

#[derive(Default)]
struct State {
    /// How often each kind of act was done.
    times: BTreeMap<String, usize>,
    /// Every act, in order.
    acts: Vec<String>,
    /// Those that something goes wrong at.
    planned: BTreeSet<String>,
    is_on: bool,
    is_refused: bool,
    /// Those at which something went wrong, and was noticed.
    refused: Vec<String>,
}

impl Disturbance {
    pub(crate) fn new(mounted: SmallDisk, file: PathBuf, trouble: Trouble) -> Self {
        Self { disk: Some(Arc::new(Disk { mounted, file, trouble })), state: Arc::default() }
    }

    /// Does something. What goes wrong is over when that is: others look at the database then.
    pub(crate) async fn act<T, E>(
        &self,
        kind: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let Some(disk) = &self.disk else { return work.await };
        let act = self.next(kind);
        let is_planned = self.state().planned.remove(&act);
        if is_planned {
            disk.spoil().await;
            self.state().is_on = true;
        }
        let outcome = work.await;
        if outcome.is_err() {
            self.notice();
        }
        self.mend();
        if is_planned && !disk.trouble.keeps_connections() {
            disk.wait_until_unopened().await;
        }
        let mut state = self.state();
        if std::mem::take(&mut state.is_refused) {
            state.refused.push(act);
        }
        outcome
    }

    /// Begins anew, with what is planned. Answers which acts were done, which of them were refused, and what was planned
    /// and did not come to it.
    pub(crate) fn plan(&self, planned: BTreeSet<String>) -> Course {
        // A life that was given up in the middle of an act leaves behind what went wrong at it.
        self.mend();
        let State { acts, refused, planned: unmet, .. } =
            std::mem::replace(&mut *self.state(), State { planned, ..State::default() });
        Course { acts, refused, unmet }
    }

    /// The name of an act, of which there is one in each life.
    fn next(&self, kind: &str) -> String {
        let mut state = self.state();
        let times = state.times.entry(kind.to_owned()).or_default();
        *times += 1;
        let act = format!("{kind} {times}");
        state.acts.push(act.clone());
        act
    }

    /// Something was refused.
    fn notice(&self) {
        let mut state = self.state();
        state.is_refused |= state.is_on;
    }

    fn mend(&self) {
        if let Some(disk) = &self.disk
            && std::mem::take(&mut self.state().is_on)
        {
            disk.mend();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// What happened in a life.
pub(crate) struct Course {
    pub(crate) acts: Vec<String>,
    pub(crate) refused: Vec<String>,
    pub(crate) unmet: BTreeSet<String>,
}

impl Disk {
    async fn spoil(&self) {
        match self.trouble {
            Trouble::Full => {
                self.empty_log().await;
                self.mounted.fill();
            }
            Trouble::FullWhenOpened => {
                self.wait_until_closed().await;
                self.mounted.fill();
            }
            Trouble::ReadOnly => self.mounted.make_read_only().await,
            Trouble::ReadOnlyWithLog => {
                self.wait_until_closed().await;
                for end in ["-wal", "-shm"] {
                    std::fs::File::create_new(beside(&self.file, end)).unwrap();
                }
                self.mounted.make_read_only().await;
            }
            Trouble::Unwritable => self.mounted.refuse_writes(),
        }
    }

    fn mend(&self) {
        match self.trouble {
            Trouble::Full | Trouble::FullWhenOpened => self.mounted.make_room(),
            Trouble::ReadOnly | Trouble::ReadOnlyWithLog => self.mounted.make_writable(),
            Trouble::Unwritable => self.mounted.allow_writes(),
        }
    }

    /// What was written before would leave room for what is written next.
    async fn empty_log(&self) {
        let url = format!("sqlite://{}", self.file.display());
        execute(&url, &["PRAGMA wal_checkpoint(TRUNCATE)".to_owned()]).await.unwrap();
        assert_eq!(beside(&self.file, "-wal").metadata().unwrap().len(), 0);
    }

    /// The last connection to be closed takes the log with it.
    async fn wait_until_closed(&self) {
        let log = beside(&self.file, "-wal");
        for _ in 0..1000 {
            if !log.exists() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("a connection stays open");
    }
}

impl Disk {
    /// What SQLite has found out of a file holds for all of a process that opens it while somebody has it open, also that
    /// it cannot be written.
    async fn wait_until_unopened(&self) {
        let is_open = || {
            let open = std::fs::read_dir("/proc/self/fd").unwrap();
            open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).any(|path| {
                path.as_os_str().as_encoded_bytes().starts_with(self.file.as_os_str().as_encoded_bytes())
            })
        };
        for _ in 0..1000 {
            if !is_open() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("a connection stays open");
    }
}

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Hears what the product says of the database. Whoever waits for it has been refused, and waits until it is mended.
pub(crate) struct Listener(pub(crate) Disturbance);

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= tracing::Level::WARN
    }

    fn event(&self, event: &tracing::Event<'_>) {
        self.0.notice();
        let mut message = Message::default();
        event.record(&mut message);
        if message.0.contains("waits for the database") {
            self.0.mend();
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
