//! The files of a SQLite database, and who can read them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::{DatabaseUrl, Family};

/// What SQLite puts behind the name of the database for the files beside it.
const ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Those that every user of this host can read. We make them for their owner alone; others, and we in former times, as
/// the umask says, and what is in there stays as it is.
pub fn readable_by_all(url: &DatabaseUrl) -> Vec<PathBuf> {
    let Some(database) = url.database.as_deref().filter(|_| url.family == Family::Sqlite) else {
        return Vec::new();
    };
    let files = ENDINGS.iter().map(|ending| PathBuf::from(format!("{database}{ending}")));
    let is_readable = |file: &PathBuf| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o004 != 0)
    };
    files.filter(is_readable).collect()
}
