//! Why there is no connection: one line that names the cause and what to do.

use std::path::PathBuf;

use crate::{Dialect, UrlError};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL itself.
    #[error("[database] sql_alchemy_conn is not a database URL")]
    Url(#[source] UrlError),
    /// A parameter of the URL.
    #[error("[database] sql_alchemy_conn: {name}={value} is not known; allowed: {allowed}")]
    BadParameter {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// No server answers.
    #[error(
        "cannot reach {dialect} at {address} ({reason}); start the server, or correct [database] sql_alchemy_conn"
    )]
    Unreachable {
        /// Whom.
        dialect: Dialect,
        /// Where.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// A file that a parameter names.
    #[error("[database] sql_alchemy_conn: cannot read {}, which {name} names: {reason}", path.display())]
    NoSuchFile {
        /// The parameter.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The server is not who it should be.
    #[error(
        "{dialect} at {address} showed a certificate that is not to be trusted ({reason}); correct the certificate \
         files or the mode in [database] sql_alchemy_conn"
    )]
    NotTrusted {
        /// Whom.
        dialect: Dialect,
        /// Where.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A URL that names no database.
    #[error(
        "[database] sql_alchemy_conn names no database; add it after the host, as in mysql://user@host/airflow"
    )]
    NoDatabaseNamed,
    /// The server does not let this user in.
    #[error(
        "{dialect} at {address} does not let user {user:?} in ({reason}); \
         correct user and password in [database] sql_alchemy_conn"
    )]
    LoginRefused {
        /// Who refused.
        dialect: Dialect,
        /// Where.
        address: String,
        /// Whom.
        user: String,
        /// What the server said.
        reason: String,
    },
    /// The server has no such database.
    #[error(
        "{dialect} at {address} has no database {database:?}, or hides it from user {user:?}; create it (CREATE \
         DATABASE {}), GRANT the user all rights on it, then run: ferroflow db migrate",
        dialect.quote(database)
    )]
    NoSuchDatabase {
        /// Who.
        dialect: Dialect,
        /// Where.
        address: String,
        /// Which.
        database: String,
        /// Who asked.
        user: String,
    },
    /// A server that is too old.
    #[error("{server} is not supported: {needed}")]
    TooOld {
        /// Its name and version.
        server: String,
        /// What is.
        needed: &'static str,
    },
    /// Anything else that the server or the driver says.
    #[error("cannot connect to {dialect} at {address}: {reason}")]
    Other {
        /// To whom.
        dialect: Dialect,
        /// Where.
        address: String,
        /// What was said.
        reason: String,
    },
    /// A SQLite path that depends on where the process was started, or none at all.
    #[error(
        "[database] sql_alchemy_conn: SQLite needs an absolute path, as in sqlite:////home/me/airflow/airflow.db; \
         got {0:?}"
    )]
    SqliteNotAbsolute(String),
    /// No such file.
    #[error("there is no database at {}; create it with: ferroflow db migrate", .0.display())]
    SqliteMissing(PathBuf),
    /// A folder.
    #[error("{} is a folder, not a database file; name a file in it in [database] sql_alchemy_conn", .0.display())]
    SqliteIsFolder(PathBuf),
    /// The folder of the file is missing and cannot be made, or the file cannot be opened.
    #[error("cannot open {}: {reason}; correct its permissions, or [database] sql_alchemy_conn", path.display())]
    SqliteUnusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file that may not be written.
    #[error(
        "{} is read-only for this user; make it and its folder writable (SQLite writes beside it, too)",
        .0.display()
    )]
    SqliteReadOnly(PathBuf),
    /// Something else than a database.
    #[error(
        "{} is not a SQLite database, or is damaged ({reason}); restore it from a backup, or move it away and run: \
         ferroflow db migrate",
        path.display()
    )]
    SqliteCorrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        reason: String,
    },
}
