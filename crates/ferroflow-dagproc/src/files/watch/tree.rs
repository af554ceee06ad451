//! The folders that are watched: all of every bundle, and what leads to it.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use notify::{ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::pending::Settled;
use super::{Change, Changed, file_system};

/// A bundle of more folders than this is not what one watches.
const MAX_FOLDERS: usize = 65_536;

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// Written by tools all the time, and never a source of DAGs.
const NOT_LOOKED_INTO: [&str; 2] = ["__pycache__", ".git"];

/// What is watched, and for whom.
pub(super) struct Tree {
    /// None if the system gives us none; then nothing is watched.
    notifier: Option<RecommendedWatcher>,
    roots: Vec<Root>,
    watched: HashSet<PathBuf>,
}

struct Root {
    path: PathBuf,
    /// The entry of the folder in its parent, and links on the way to it: if one changes, everything may have.
    way: Vec<PathBuf>,
    is_supported: bool,
}

/// Why a folder cannot be watched.
struct Unsupported(String);

impl Tree {
    /// Watches folders; says first which of them it does.
    pub(super) fn new(
        roots: Vec<PathBuf>,
        handler: impl FnMut(notify::Result<Event>) + Send + 'static,
    ) -> (Self, Vec<Change>) {
        let root = |path| Root { path, way: Vec::new(), is_supported: true };
        let roots: Vec<Root> = roots.into_iter().map(root).collect();
        let (notifier, failure) = match notify::recommended_watcher(handler) {
            Ok(notifier) => (Some(notifier), None),
            Err(error) => (None, Some(format!("the system gives no watcher: {error}"))),
        };
        let mut tree = Self { notifier, roots, watched: HashSet::new() };
        let changes = match failure {
            Some(why) => (0..tree.roots.len()).map(|index| tree.give_up(index, why.clone())).collect(),
            None => (0..tree.roots.len()).map(|index| tree.watch_root(index)).collect(),
        };
        (tree, changes)
    }

    /// What settled paths mean. Folders that came are watched from now on, those that went no longer.
    pub(super) fn settle(mut self, settled: Settled) -> (Self, Vec<Change>) {
        let mut files: BTreeSet<(usize, PathBuf)> = BTreeSet::new();
        let mut rescans: Vec<Option<Changed>> = self.roots.iter().map(|_| None).collect();
        for (index, rescan) in rescans.iter_mut().enumerate() {
            if settled.everything && self.roots[index].is_supported {
                *rescan = Some(self.watch_root(index).what);
            }
        }
        for path in settled.paths {
            let is_folder = path.is_dir();
            for (index, rescan) in rescans.iter_mut().enumerate() {
                let root = &self.roots[index];
                if !root.is_supported {
                    continue;
                }
                let leads_here = root.way.contains(&path) || (root.path.starts_with(&path) && !path.exists());
                if leads_here {
                    *rescan = Some(self.watch_root(index).what);
                } else if let Ok(relative) = path.strip_prefix(&root.path) {
                    let relative = relative.to_owned();
                    let was_folder = self.forget_below(&path);
                    if (was_folder || is_folder) && is_looked_into(&path) {
                        *rescan = Some(self.watch_folders(index, &path).what);
                    } else {
                        files.insert((index, relative));
                    }
                }
            }
        }
        self.watch_ways();
        let changes = self.changes(files, rescans);
        (self, changes)
    }

    /// A folder that is to be listed needs no word of its files.
    fn changes(&self, files: BTreeSet<(usize, PathBuf)>, rescans: Vec<Option<Changed>>) -> Vec<Change> {
        let root = |index: usize| self.roots[index].path.clone();
        let single = files
            .into_iter()
            .filter(|(index, _)| rescans[*index].is_none())
            .map(|(index, relative)| Change { root: root(index), what: Changed::Path(relative) });
        let mut changes: Vec<Change> = single.collect();
        changes.extend(
            rescans
                .into_iter()
                .enumerate()
                .filter_map(|(index, what)| Some(Change { root: root(index), what: what? })),
        );
        changes
    }

    /// Watches a bundle from scratch.
    fn watch_root(&mut self, index: usize) -> Change {
        let path = self.roots[index].path.clone();
        self.forget_below(&path);
        // What led here may be another folder now, or none.
        for entry in std::mem::take(&mut self.roots[index].way) {
            if let Some(parent) = entry.parent() {
                self.forget(parent);
            }
        }
        self.roots[index].way = way_to(&path);
        self.watch_ways();
        if let Some(name) = file_system::remote(&path) {
            let why = format!("{name} does not tell of changes that are made on other machines");
            return self.give_up(index, why);
        }
        self.watch_folders(index, &path)
    }

    /// Watches a folder of a bundle and those in it, through links.
    fn watch_folders(&mut self, index: usize, path: &Path) -> Change {
        match self.try_watch_folders(path) {
            Ok(()) => Change { root: self.roots[index].path.clone(), what: Changed::Rescan },
            Err(Unsupported(why)) => self.give_up(index, why),
        }
    }

    fn try_watch_folders(&mut self, path: &Path) -> Result<(), Unsupported> {
        let mut folders = vec![path.to_owned()];
        let mut seen = HashSet::new();
        while let Some(folder) = folders.pop() {
            let Ok(metadata) = folder.metadata() else { continue };
            if !metadata.is_dir() || !seen.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            self.watch_folder(&folder)?;
            // Only now: what comes later, the watch tells.
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let inner = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_file()));
            folders.extend(inner.map(|entry| entry.path()).filter(|path| is_looked_into(path)));
        }
        Ok(())
    }

    fn watch_folder(&mut self, folder: &Path) -> Result<(), Unsupported> {
        if self.watched.contains(folder) {
            return Ok(());
        }
        if self.watched.len() >= MAX_FOLDERS {
            return Err(Unsupported(format!("there are more than {MAX_FOLDERS} folders to watch")));
        }
        let Some(notifier) = &mut self.notifier else { return Ok(()) };
        match notifier.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder.to_owned());
                Ok(())
            }
            Err(error) => match error.kind {
                ErrorKind::MaxFilesWatch => Err(Unsupported(
                    "fs.inotify.max_user_watches is reached; raise it with sysctl".to_owned(),
                )),
                // Gone again, or not ours to read: listing will tell.
                ErrorKind::PathNotFound => Ok(()),
                ErrorKind::Io(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied
                    ) =>
                {
                    Ok(())
                }
                kind => Err(Unsupported(format!("{} cannot be watched: {kind:?}", folder.display()))),
            },
        }
    }

    /// The parents of what leads to bundles. Without them the rest still helps.
    fn watch_ways(&mut self) {
        let ways = self.roots.iter().filter(|root| root.is_supported).flat_map(|root| &root.way);
        let parents: BTreeSet<PathBuf> = ways.filter_map(|entry| Some(entry.parent()?.to_owned())).collect();
        for parent in parents {
            if self.watch_folder(&parent).is_err() {
                return;
            }
        }
    }

    /// No longer watches a folder and those in it. Whether it was watched.
    fn forget_below(&mut self, path: &Path) -> bool {
        if !self.watched.contains(path) {
            return false;
        }
        let gone: Vec<PathBuf> =
            self.watched.iter().filter(|folder| folder.starts_with(path)).cloned().collect();
        for folder in gone {
            self.forget(&folder);
        }
        true
    }

    fn forget(&mut self, folder: &Path) {
        if self.watched.remove(folder)
            && let Some(notifier) = &mut self.notifier
        {
            // The kernel drops the watch on a folder that is gone by itself.
            let _ = notifier.unwatch(folder);
        }
    }

    fn give_up(&mut self, index: usize, why: String) -> Change {
        let root = self.roots[index].path.clone();
        self.roots[index].is_supported = false;
        self.forget_below(&root);
        if self.roots.iter().all(|root| !root.is_supported) {
            // The receiver is gone: this ends the stream of events.
            self.notifier = None;
        }
        Change { root, what: Changed::Unsupported(why) }
    }
}

fn is_looked_into(path: &Path) -> bool {
    path.file_name().is_none_or(|name| NOT_LOOKED_INTO.iter().all(|skipped| name != *skipped))
}

/// The entry of a folder in its parent, and every link on the way there; up to the first thing that is missing.
fn way_to(folder: &Path) -> Vec<PathBuf> {
    let mut way = Vec::new();
    let mut links = 0;
    let mut reached = PathBuf::new();
    let mut rest: VecDeque<OsString> = parts(folder).collect();
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            reached.pop();
            continue;
        }
        let entry = reached.join(&part);
        let target = std::fs::read_link(&entry).ok();
        if rest.is_empty() || target.is_some() || !entry.exists() {
            way.push(entry.clone());
        }
        match target {
            Some(target) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    reached = PathBuf::new();
                }
                for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                    rest.push_front(part);
                }
            }
            _ if !entry.exists() => return way,
            _ => reached = entry,
        }
    }
    way
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components()
        .filter(|component| !matches!(component, Component::CurDir))
        .map(|component| component.as_os_str().to_owned())
}
