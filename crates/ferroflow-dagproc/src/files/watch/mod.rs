//! Word of changed files, some milliseconds after the change.
//!
//! The kernel tells of changes per folder, so `tree` keeps one watch on every folder of a bundle; `pending` waits until
//! a file is no longer written to. It is a help, not a promise: network file systems tell nothing, and a file behind a
//! link to somewhere else changes unseen. Listing every now and then finds what was missed.

mod file_system;
mod pending;
mod tree;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use pending::{Pending, Settled};
use tree::Tree;

/// A file is passed on when nothing was heard of it for [`pending::QUIET`] of these.
const TICK: Duration = Duration::from_millis(10);

/// How many changes may wait for their reader.
const CHANGES: usize = 1024;

/// How many events may wait for us; with more, everything is to be listed anew.
const EVENTS: usize = 16 * 1024;

/// Something that changed below a watched folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The folder, as it was given.
    pub root: PathBuf,
    /// What changed.
    pub what: Changed,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// A file came, changed or went, of whatever kind. The path is relative to the folder.
    Path(PathBuf),
    /// Many may have: list the folder. The first word of every folder that is watched from now on.
    Rescan,
    /// The folder is no longer watched, or never was, for this reason: only listing it tells of changes.
    Unsupported(String),
}

/// Watches folders until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    task: JoinHandle<()>,
}

impl Watcher {
    /// Watches folders and what is in them. The receiver ends when none of them can be watched.
    ///
    /// Folders named `__pycache__` and `.git` are not looked into.
    pub fn new(roots: Vec<PathBuf>) -> (Self, mpsc::Receiver<Change>) {
        let (sender, receiver) = mpsc::channel(CHANGES);
        (Self { task: tokio::spawn(watch(roots, sender)) }, receiver)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(roots: Vec<PathBuf>, changes: mpsc::Sender<Change>) {
    let (sender, mut events) = mpsc::channel(EVENTS);
    let overflow = Arc::new(AtomicBool::new(false));
    let handler = handler(sender, Arc::clone(&overflow));
    let Ok((mut tree, first)) = spawn_blocking(move || Tree::new(roots, handler)).await else { return };
    if send(&changes, first).await.is_err() {
        return;
    }
    let mut pending = Pending::default();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => pending.note(event),
                None => return,
            },
            _ = ticks.tick(), if !pending.is_empty() => {
                let settled = pending.tick();
                if !settled.is_empty() {
                    let Ok((back, found)) = spawn_blocking(move || tree.settle(settled)).await else { return };
                    tree = back;
                    if send(&changes, found).await.is_err() {
                        return;
                    }
                }
            }
            () = changes.closed() => return,
        }
        if overflow.swap(false, Ordering::Relaxed) {
            pending.note(None);
        }
    }
}

async fn send(
    changes: &mpsc::Sender<Change>,
    found: Vec<Change>,
) -> Result<(), mpsc::error::SendError<Change>> {
    for change in found {
        changes.send(change).await?;
    }
    Ok(())
}

/// Hands on the paths of events that tell of a change; none stands for lost events.
fn handler(
    events: mpsc::Sender<Option<PathBuf>>,
    overflow: Arc<AtomicBool>,
) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    let hand_on = move |event: Option<PathBuf>| {
        if events.try_send(event).is_err() {
            overflow.store(true, Ordering::Relaxed);
        }
    };
    move |event| match event {
        Ok(event) if event.need_rescan() => hand_on(None),
        Ok(event) if is_change(event.kind) => event.paths.into_iter().for_each(|path| hand_on(Some(path))),
        Ok(_) => {}
        Err(_) => hand_on(None),
    }
}

/// Reading changes nothing; closing what was written to shows that it is complete.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

impl Settled {
    fn is_empty(&self) -> bool {
        !self.everything && self.paths.is_empty()
    }
}
