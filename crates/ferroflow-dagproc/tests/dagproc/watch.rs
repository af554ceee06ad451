//! Word of changes, with real files.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferroflow_dagproc::files::{Change, Changed, Watcher};
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

/// Far longer than any change takes.
const LONG: Duration = Duration::from_mins(1);

struct Watched {
    root: PathBuf,
    changes: Receiver<Change>,
    told: BTreeSet<PathBuf>,
    _watcher: Watcher,
    _folder: TempDir,
}

/// Watches `bundle` in a new folder that `prepare` fills.
async fn watched(prepare: impl FnOnce(&Path)) -> Watched {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let root = folder.path().join("bundle");
    let (watcher, changes) = Watcher::new(vec![root.clone()]);
    let mut place = Watched { root, changes, told: BTreeSet::new(), _watcher: watcher, _folder: folder };
    assert_eq!(place.next().await, Changed::Rescan, "it is watched from now on");
    place
}

fn bundle(folder: &Path) {
    std::fs::create_dir_all(folder.join("bundle/sub")).unwrap();
    std::fs::write(folder.join("bundle/sub/a.py"), "1").unwrap();
}

impl Watched {
    async fn next(&mut self) -> Changed {
        let change = timeout(LONG, self.changes.recv()).await.expect("a change is told of").unwrap();
        assert_eq!(change.root, self.root);
        change.what
    }

    /// Waits until each of the paths was told of. On a busy machine one change may look like two.
    async fn told(&mut self, paths: &[&str]) {
        let mut missing: BTreeSet<PathBuf> = paths.iter().map(PathBuf::from).collect();
        self.told.extend(missing.iter().cloned());
        while !missing.is_empty() {
            match self.next().await {
                Changed::Path(path) => {
                    assert!(self.told.contains(&path), "{} did not change", path.display());
                    missing.remove(&path);
                }
                Changed::Rescan => {}
                Changed::Unsupported(why) => panic!("{why}"),
            }
        }
    }

    async fn rescan(&mut self) {
        while self.next().await != Changed::Rescan {}
    }
}

#[tokio::test]
async fn files_that_come_change_and_go_are_told_of() {
    let mut watched = watched(bundle).await;
    std::fs::write(watched.root.join("b.py"), "1").unwrap();
    std::fs::write(watched.root.join("sub/c.txt"), "1").unwrap();
    watched.told(&["b.py", "sub/c.txt"]).await;
    std::fs::write(watched.root.join("sub/a.py"), "2").unwrap();
    watched.told(&["sub/a.py"]).await;
    std::fs::remove_file(watched.root.join("b.py")).unwrap();
    watched.told(&["b.py"]).await;
    // An editor writes beside the file and renames over it.
    std::fs::write(watched.root.join("sub/.a.tmp"), "3").unwrap();
    std::fs::rename(watched.root.join("sub/.a.tmp"), watched.root.join("sub/a.py")).unwrap();
    watched.told(&["sub/.a.tmp", "sub/a.py"]).await;
    // Reading is no change: the next word is of the next change.
    std::fs::read(watched.root.join("sub/a.py")).unwrap();
    std::fs::write(watched.root.join("last.py"), "").unwrap();
    watched.told(&["last.py"]).await;
}

#[tokio::test]
async fn a_new_folder_is_listed_and_watched_with_all_that_is_in_it() {
    let mut watched = watched(bundle).await;
    let deep = watched.root.join("new/er/est");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("a.py"), "1").unwrap();
    watched.rescan().await;
    // Whatever is written from now on is seen.
    std::fs::write(deep.join("b.py"), "1").unwrap();
    loop {
        match watched.next().await {
            Changed::Path(path) if path == Path::new("new/er/est/b.py") => break,
            // Its parts came one after the other.
            Changed::Path(_) | Changed::Rescan => {}
            other @ Changed::Unsupported(_) => panic!("{other:?}"),
        }
    }
    std::fs::remove_dir_all(watched.root.join("new")).unwrap();
    watched.rescan().await;
}

#[tokio::test]
async fn a_folder_moved_away_and_back_is_watched_again() {
    let mut watched = watched(bundle).await;
    std::fs::rename(watched.root.join("sub"), watched.root.join("other")).unwrap();
    watched.rescan().await;
    std::fs::write(watched.root.join("other/a.py"), "2").unwrap();
    watched.told(&["other/a.py"]).await;
}

#[tokio::test]
async fn a_link_that_is_swapped_means_another_folder() {
    // As git-sync does: a link to a checkout is replaced by one to the next.
    let mut watched = watched(|folder| {
        for revision in ["rev1", "rev2"] {
            std::fs::create_dir(folder.join(revision)).unwrap();
            std::fs::write(folder.join(revision).join("a.py"), revision).unwrap();
        }
        symlink("rev1", folder.join("bundle")).unwrap();
    })
    .await;
    let folder = watched.root.parent().unwrap().to_owned();
    symlink("rev2", folder.join("next")).unwrap();
    std::fs::rename(folder.join("next"), &watched.root).unwrap();
    watched.rescan().await;
    std::fs::write(folder.join("rev2/a.py"), "3").unwrap();
    watched.told(&["a.py"]).await;
}

#[tokio::test]
async fn a_linked_folder_inside_is_followed_when_it_is_swapped() {
    let mut watched = watched(|folder| {
        bundle(folder);
        for version in ["v1", "v2"] {
            std::fs::create_dir(folder.join(version)).unwrap();
        }
        symlink(folder.join("v1"), folder.join("bundle/data")).unwrap();
    })
    .await;
    let folder = watched.root.parent().unwrap().to_owned();
    std::fs::write(folder.join("v1/a.py"), "1").unwrap();
    watched.told(&["data/a.py"]).await;
    symlink(folder.join("v2"), folder.join("next")).unwrap();
    std::fs::rename(folder.join("next"), watched.root.join("data")).unwrap();
    watched.rescan().await;
    std::fs::write(folder.join("v2/b.py"), "1").unwrap();
    watched.told(&["data/b.py"]).await;
}

#[tokio::test]
async fn a_folder_that_is_removed_and_made_anew_is_watched_again() {
    let mut watched = watched(bundle).await;
    std::fs::remove_dir_all(&watched.root).unwrap();
    watched.rescan().await;
    bundle(watched.root.parent().unwrap());
    watched.rescan().await;
    loop {
        std::fs::write(watched.root.join("sub/b.py"), "1").unwrap();
        if watched.next().await == Changed::Path("sub/b.py".into()) {
            break;
        }
    }
}
