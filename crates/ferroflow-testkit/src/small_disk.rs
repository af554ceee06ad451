//! A small file system of a test's own: it can be full, and it can be read-only.
//!
//! A test that wants one is run again in a process of its own, in a mount namespace of its own, where the folder for
//! temporary files is a tmpfs. The kernel refuses there what it would refuse on a disk. Nobody else sees it, and it is
//! gone with the process.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::program::{Finished, finish};

/// Tells a process where its small file system is.
const VARIABLE: &str = "FERROFLOW_TEST_SMALL_DISK";

/// Mounts it. A write that the process may not make ends it by SIGXFSZ, unless that is ignored.
const MOUNT: &str = r#"mount -t tmpfs -o size=16m small_disk "$1" && shift && trap '' XFSZ && exec "$@""#;

/// How to get a mount namespace: that takes root, which in a user namespace of its own anybody is. Who is root does without:
/// there are places where user namespaces are off.
const WAYS: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// What to do where it cannot be mounted.
const ADVICE: &str = "a test needs a mount namespace and a tmpfs of its own. Be root, or allow user namespaces \
    (sysctl user.max_user_namespaces=10000; on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0), install \
    util-linux, and in a container allow mounts (docker run --privileged)";

/// The small file system of this process.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// The one of this process, if it has been started to run this test. Otherwise starts that process, in which the test
    /// has to succeed.
    #[expect(clippy::disallowed_methods, reason = "a test tells it to itself, which airflow.cfg is not for")]
    pub fn of_test(name: &str) -> Option<Self> {
        if let Some(folder) = std::env::var_os(VARIABLE) {
            return Some(Self { folder: folder.into() });
        }
        let folder = TempDir::new().expect("a temporary folder is made");
        let way = way_to_mount(folder.path());
        let program = std::env::current_exe().expect("this program has a path");
        let arguments = ["--exact", name, "--nocapture"];
        let Finished { code, stdout, stderr } =
            finish(&mut on_small_disk(way, folder.path(), &program, &arguments), "");
        // A name that is no test's has nothing run.
        let has_run = code == Some(0) && stdout.contains("test result: ok. 1 passed");
        assert!(has_run, "{name} on a small file system ({code:?})\n{stdout}\n{stderr}");
        None
    }

    /// Leaves no room on it.
    pub fn fill(&self) {
        let mut ballast = File::create(self.ballast()).expect("there is room for a name");
        let bytes = vec![1; 1 << 20];
        let error = loop {
            if let Err(error) = ballast.write_all(&bytes) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    }

    /// Makes room again.
    pub fn make_room(&self) {
        std::fs::remove_file(self.ballast()).expect("it was full");
    }

    /// Makes it read-only, as soon as nobody has a file open for writing: the kernel refuses it until then.
    pub async fn make_read_only(&self) {
        const PAUSE: Duration = Duration::from_millis(2);
        let mut refused = String::new();
        for _ in 0..1000 {
            match self.remount("ro") {
                Ok(()) => return,
                Err(words) => refused = words,
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("somebody keeps a file open for writing: {refused}");
    }

    /// Makes it writable again.
    pub fn make_writable(&self) {
        self.remount("rw").expect("what was writable can be so again");
    }

    /// Has every write of this process to a file fail from now on, whatever it has open. That is what a process sees whose
    /// file system was made read-only by the kernel itself, after an error of the disk. The kernel says EROFS then and
    /// EFBIG now, which are the same to SQLite: a write has failed, and there was room.
    pub fn refuse_writes(&self) {
        limit_files("0");
    }

    /// Has them succeed again.
    pub fn allow_writes(&self) {
        limit_files("unlimited");
    }

    fn remount(&self, how: &str) -> Result<(), String> {
        let mut mount = Command::new("mount");
        let finished = finish(mount.arg("-o").arg(format!("remount,{how}")).arg(&self.folder), "");
        if finished.success() { Ok(()) } else { Err(finished.stderr) }
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

/// The first way that leads anywhere.
fn way_to_mount(folder: &Path) -> &'static [&'static str] {
    let mut refused = Vec::new();
    for way in WAYS {
        let mounted = finish(&mut on_small_disk(way, folder, Path::new("true"), &[]), "");
        if mounted.success() {
            return way;
        }
        refused.push(mounted.stderr.trim().to_owned());
    }
    panic!("{ADVICE}: {}", refused.join("; "));
}

/// A command in a mount namespace of its own.
fn on_small_disk(way: &[&str], folder: &Path, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(way)
        .args(["sh", "-c", MOUNT, "sh"])
        .arg(folder)
        .arg(program)
        .args(arguments)
        .env("TMPDIR", folder)
        .env(VARIABLE, folder);
    command
}

/// Sets how long files may become by writes of this process.
fn limit_files(most: &str) {
    let pid = std::process::id().to_string();
    let mut prlimit = Command::new("prlimit");
    finish(prlimit.args(["--pid", &pid, &format!("--fsize={most}:")]), "").expect_success();
}
