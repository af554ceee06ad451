//! SQLite: one file, one writer.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use crate::connect::Trust;
use crate::connect::open::{IfMissing, assemble, pool_options, warn_of_unused, words};
use crate::transaction::db::Pool;
use crate::{ConnectError, DatabaseUrl, Db, Dialect, Options};

/// Longer than any transaction of ours; an official component beside us may be slower.
const BUSY_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn connect(
    url: &DatabaseUrl,
    options: &Options,
    if_missing: IfMissing,
) -> Result<Db, ConnectError> {
    warn_of_unused(url, &[]);
    let path = absolute_path(url)?;
    check_file(&path, if_missing)?;
    let connect_options = connect_options(&path, options).create_if_missing(if_missing == IfMissing::Create);
    let server = first_look(&path, &connect_options).await?;
    let trust = Trust::default();
    let pool = Pool::Sqlite(pool_options(options, &trust).connect_lazy_with(connect_options));
    Ok(assemble(pool, Dialect::Sqlite, server, None, trust, options))
}

/// Connections keep the file's journal mode: it is made WAL when the tables are created, and stays so. A file
/// that turns out not to be ours is left as it was.
fn connect_options(path: &Path, options: &Options) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        // With WAL, a killed process loses nothing; only a power cut may take the last transactions.
        .synchronous(SqliteSynchronous::Normal)
        .statement_cache_capacity(options.statement_cache)
        .disable_statement_logging()
}

fn absolute_path(url: &DatabaseUrl) -> Result<PathBuf, ConnectError> {
    let text = url.database.clone().unwrap_or_default();
    let path = PathBuf::from(&text);
    if path.is_absolute() { Ok(path) } else { Err(ConnectError::SqliteNotAbsolute(text)) }
}

/// SQLite's own answer to all of these is "unable to open database file".
fn check_file(path: &Path, if_missing: IfMissing) -> Result<(), ConnectError> {
    let unusable = |error: io::Error| ConnectError::SqliteUnusable {
        path: path.to_owned(),
        // The path is in the message already.
        reason: error.kind().to_string(),
    };
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(ConnectError::SqliteIsFolder(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if if_missing == IfMissing::Refuse {
                return Err(ConnectError::SqliteMissing(path.to_owned()));
            }
            return create(path).map_err(unusable);
        }
        Err(error) => return Err(unusable(error)),
    }
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Ok(()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(ConnectError::SqliteReadOnly(path.to_owned()))
        }
        Err(error) => Err(unusable(error)),
    }
}

/// Makes an empty file, which is an empty database, that no other user can read: secrets come into it. SQLite gives the files
/// that it puts beside it the same mode.
fn create(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // Another process was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Reads the file's header and table list, so that a file of another kind is found out before anything else.
async fn first_look(path: &Path, options: &SqliteConnectOptions) -> Result<String, ConnectError> {
    let look = async {
        let mut connection = options.connect().await?;
        let row =
            sqlx::query("SELECT sqlite_version() AS version, (SELECT count(*) FROM sqlite_master) AS tables")
                .fetch_one(&mut connection)
                .await?;
        let version: String = row.try_get("version")?;
        connection.close().await?;
        Ok(format!("SQLite {version}"))
    };
    look.await.map_err(|error: sqlx::Error| explain(&error, path))
}

fn explain(error: &sqlx::Error, path: &Path) -> ConnectError {
    let path = path.to_owned();
    let code: i32 = error
        .as_database_error()
        .and_then(DatabaseError::code)
        .and_then(|code| code.parse().ok())
        .unwrap_or(0);
    let reason = words(error);
    match code & 0xff {
        8 => ConnectError::SqliteReadOnly(path),
        11 | 26 => ConnectError::SqliteCorrupt { path, reason },
        _ => ConnectError::SqliteUnusable { path, reason },
    }
}
