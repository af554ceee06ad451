use super::{ConnectError, Trust, mysql, postgres, sqlite};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolOptions;

use crate::notifications::notify::Messenger;
use crate::statement::ran::Ran;
use crate::statement::text::Rendering;
use crate::transaction::db::{ConfiguredSchema, Pool};
use crate::transaction::turns::Turns;
use crate::{DatabaseUrl, Db, Dialect, Family};

/// What `[database]` says about connections.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sql_alchemy_conn`.
    pub url: String,
    /// `sql_alchemy_schema`: where the tables are on PostgreSQL, if not on the user's search path.
    pub schema: Option<String>,
    /// `sql_alchemy_pool_enabled`: without it, a connection is closed after each transaction.
    pub pool_enabled: bool,
    /// `sql_alchemy_pool_size`; 0 sets no limit.
    pub pool_size: u32,
    /// `sql_alchemy_max_overflow`: connections beyond the pool's size; negative sets no limit.
    pub max_overflow: i32,
    /// `sql_alchemy_pool_recycle`: no connection grows older.
    pub recycle: Option<Duration>,
    /// `sql_alchemy_pool_pre_ping`: whether a connection is tried before it is used.
    pub pre_ping: bool,
    /// `max_db_retries`: how often a transaction is attempted in all.
    pub max_attempts: u32,
    /// `[ferroflow] database_statement_cache`: prepared statements kept per connection. 0 for PgBouncer in
    /// transaction mode.
    pub statement_cache: usize,
    /// `[scheduler] use_row_level_locking`.
    pub row_locks: bool,
}

impl Options {
    /// The defaults of Airflow 3.3.2, for this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: None,
            pool_enabled: true,
            pool_size: 5,
            max_overflow: 10,
            recycle: Some(Duration::from_mins(30)),
            pre_ping: true,
            max_attempts: 3,
            statement_cache: 100,
            row_locks: true,
        }
    }
}

/// Whether a SQLite file that is missing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Refuse,
}

impl Db {
    /// Connects to a database that exists.
    pub async fn connect(options: &Options) -> Result<Self, ConnectError> {
        connect(options, IfMissing::Refuse).await
    }

    /// Connects to a database whose tables are about to be created. A SQLite file that is missing is made;
    /// on a server, the (empty) database has to be there.
    pub async fn connect_to_create(options: &Options) -> Result<Self, ConnectError> {
        connect(options, IfMissing::Create).await
    }
}

async fn connect(options: &Options, if_missing: IfMissing) -> Result<Db, ConnectError> {
    let url = DatabaseUrl::parse(&options.url).map_err(ConnectError::Url)?;
    match url.family {
        Family::Postgres => postgres::connect(&url, options).await,
        Family::MySql => mysql::connect(&url, options).await,
        Family::Sqlite => sqlite::connect(&url, options, if_missing).await,
    }
}

/// How long a server may take to answer the first connection.
pub(crate) const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// SQLAlchemy's pool waits as long for a free connection.
const FREE_CONNECTION: Duration = Duration::from_secs(30);

/// Who waits for so long is warned of the limit; sooner it would only say that the machine is busy.
const SLOW_CONNECTION: Duration = Duration::from_secs(15);

pub(crate) fn no_answer_within<T>(limit: Duration) -> Result<T, sqlx::Error> {
    let message = format!("no answer within {} s", limit.as_secs());
    Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, message)))
}

/// More than any server grants: what "no limit" means.
const NO_LIMIT: u32 = 10_000;

pub(crate) fn pool_options<DB: sqlx::Database>(options: &Options, trust: &Trust) -> PoolOptions<DB> {
    let limit = match (options.pool_size, u32::try_from(options.max_overflow)) {
        (0, _) | (_, Err(_)) => NO_LIMIT,
        (size, Ok(overflow)) => size.saturating_add(overflow),
    };
    let lifetime = if options.pool_enabled { options.recycle } else { Some(Duration::ZERO) };
    let trust = trust.clone();
    PoolOptions::new()
        .max_connections(limit)
        .max_lifetime(lifetime)
        .acquire_timeout(FREE_CONNECTION)
        .acquire_slow_threshold(SLOW_CONNECTION)
        .test_before_acquire(options.pre_ping)
        .before_acquire(move |_, connection| {
            let is_used = trust.reaches(connection.age);
            Box::pin(async move { Ok(is_used) })
        })
}

/// What the three kinds of connection have in common.
pub(crate) fn assemble(
    pool: Pool,
    dialect: Dialect,
    server: String,
    schema: Option<ConfiguredSchema>,
    trust: Trust,
    options: &Options,
) -> Db {
    Db {
        pool,
        rendering: Rendering { dialect, row_locks: options.row_locks },
        max_attempts: options.max_attempts.max(1),
        keep_prepared: options.statement_cache > 0,
        schema,
        trust,
        server,
        messenger: Messenger::new(),
        unreadable: Arc::default(),
        lock_patience: None,
        turns: Turns::default(),
        ran: Ran::default(),
    }
}

/// The driver's words without its preamble.
pub(crate) fn words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}

/// Warns of URL parameters that the Python driver may know and ferroflow does not.
pub(crate) fn warn_of_unused(url: &DatabaseUrl, known: &[&str]) {
    for (key, _) in &url.query {
        if !known.contains(&key.as_str()) {
            tracing::warn!(
                parameter = key,
                "[database] sql_alchemy_conn: parameter {key} has no effect on ferroflow"
            );
        }
    }
}

/// A parameter that is a number.
pub(crate) fn number<T: std::str::FromStr>(
    url: &DatabaseUrl,
    name: &'static str,
) -> Result<Option<T>, ConnectError> {
    let Some(value) = url.parameter(name) else { return Ok(None) };
    match value.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ConnectError::BadParameter {
            name,
            value: value.to_owned(),
            allowed: "a whole number".to_owned(),
        }),
    }
}

/// A parameter that names a file, which has to be there: the driver's complaint would not name it.
pub(crate) fn file(url: &DatabaseUrl, name: &'static str) -> Result<Option<PathBuf>, ConnectError> {
    let Some(path) = url.parameter(name).map(PathBuf::from) else { return Ok(None) };
    match std::fs::File::open(&path) {
        Ok(_) => Ok(Some(path)),
        Err(error) => Err(ConnectError::NoSuchFile { name, path, reason: error.kind().to_string() }),
    }
}

/// What broke the connection off: no server there, or one that is not trusted.
pub(crate) fn unreachable(dialect: Dialect, address: String, error: &io::Error) -> ConnectError {
    let reason = error.to_string();
    if error.kind() == io::ErrorKind::InvalidData || reason.contains("certificate") {
        ConnectError::NotTrusted { dialect, address, reason }
    } else {
        ConnectError::Unreachable { dialect, address, reason }
    }
}

/// A parameter that names one of several modes.
pub(crate) fn mode<T: Copy>(
    url: &DatabaseUrl,
    name: &'static str,
    modes: &'static [(&'static str, T)],
) -> Result<Option<T>, ConnectError> {
    let Some(value) = url.parameter(name) else {
        return Ok(None);
    };
    match modes.iter().find(|(word, _)| word.eq_ignore_ascii_case(value)) {
        Some((_, mode)) => Ok(Some(*mode)),
        None => Err(ConnectError::BadParameter {
            name,
            value: value.to_owned(),
            allowed: modes.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
        }),
    }
}
