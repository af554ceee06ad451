//! The connection to the metadata database, and transactions on it.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use scoped_futures::ScopedBoxFuture;
use sqlx::{MySqlPool, PgPool, SqlitePool};

use crate::connect::Trust;
use crate::notifications::notify::Messenger;
use crate::statement::ran::Ran;
use crate::statement::text::Rendering;
use crate::transaction::error::is_useless;
use crate::transaction::turns::Turns;
use crate::transaction::tx::Connection;
use crate::{Dialect, Error, Tx, Unreadable};

/// For so long a part waits for a row, if there is any limit.
const PATIENCE_OF_PARTS: Duration = Duration::from_millis(100);

/// For so long a transaction with patience waits for a row on MySQL and MariaDB, instead of 50 s: what others hold for longer is tried
/// again by its next user.
const PATIENCE_OF_MYSQL: Duration = Duration::from_secs(3);

/// The metadata database. Cheap to clone; all clones share one pool.
#[derive(Clone, Debug)]
pub struct Db {
    pub(crate) pool: Pool,
    pub(crate) rendering: Rendering,
    pub(crate) max_attempts: u32,
    /// Whether statements stay prepared on their connection. Off behind a pooler that hands each transaction
    /// another server connection.
    pub(crate) keep_prepared: bool,
    /// Where the tables are on PostgreSQL, if `[database] sql_alchemy_schema` says so.
    pub(crate) schema: Option<ConfiguredSchema>,
    /// Which connections may be used.
    pub(crate) trust: Trust,
    /// Name and version, as the server states them.
    pub(crate) server: String,
    /// Brings notifications to their receivers.
    pub(crate) messenger: Messenger,
    /// The rows that could not be read.
    pub(crate) unreadable: Arc<Unreadable>,
    /// For how long a change waits until others let go of a row, if not for as long as they take.
    pub(crate) lock_patience: Option<Duration>,
    /// Whose turn it is to ask again.
    pub(crate) turns: Turns,
    /// What has run here.
    pub(crate) ran: Ran,
}

/// A schema of PostgreSQL before the ones that the user's connections look in anyway.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredSchema {
    pub(crate) name: String,
    /// `search_path` of a new connection.
    pub(crate) default_path: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Pool {
    Postgres(PgPool),
    MySql(MySqlPool),
    Sqlite(SqlitePool),
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    Write,
    /// [`Db::transact_in_parts`], before any part has failed.
    WriteTogether,
    /// The same, since one has.
    WriteInParts,
    Rehearse,
}

impl Db {
    /// Runs `work` in one transaction: commits on `Ok`, rolls back on `Err`.
    ///
    /// A serialization failure, a deadlock, a lost connection, a busy lock or a server that cannot do it now repeats the
    /// whole of it, up to `[database] max_db_retries` attempts; `work` therefore has no effects outside the transaction.
    ///
    /// ```text
    /// db.transact(|tx| async move { pool::lock_all(tx).await }.scope_boxed()).await
    /// ```
    ///
    /// The future is boxed because only then may it be sent to another thread together with what it borrows.
    pub async fn transact<'a, T, W>(&self, work: W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        self.repeat(Purpose::Write, work).await
    }

    /// The same for work that deals with many rows, each in a part of its own ([`Tx::begin_part`]). If all goes well, a part
    /// costs nothing. If a row is refused, or another transaction has it, the work is done once more, and undoes then what
    /// the part with this row has changed, and nothing else.
    pub async fn transact_in_parts<'a, T, W>(&self, work: W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        self.repeat(Purpose::WriteTogether, work).await
    }

    /// The same for work that only reads. On SQLite, which has one writer, it never waits.
    pub async fn read<'a, T, W>(&self, work: W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        self.repeat(Purpose::Read, work).await
    }

    /// Runs `work` as [`Db::transact`] does, and undoes what it changed: tells whether it would succeed.
    pub async fn rehearse<'a, T, W>(&self, work: W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        self.repeat(Purpose::Rehearse, work).await
    }

    /// The same database for callers that have other things to do than to wait: a change that needs a row which others hold for
    /// longer than this fails, and is not repeated ([`Error::is_busy`]). SQLite has no locks of rows; MySQL and MariaDB count
    /// in seconds.
    #[must_use]
    pub fn with_lock_patience(&self, patience: Duration) -> Self {
        let lock_patience = (self.dialect() != Dialect::Sqlite).then_some(patience);
        Self { lock_patience, ..self.clone() }
    }

    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.rendering.dialect
    }

    /// Name and version of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The rows that could not be read, here or by another clone.
    pub fn unreadable(&self) -> &Unreadable {
        &self.unreadable
    }

    /// Turns on the write-ahead log of a SQLite file.
    pub(crate) async fn use_write_ahead_log(&self) -> Result<(), Error> {
        if let Pool::Sqlite(pool) = &self.pool {
            sqlx::query("PRAGMA journal_mode = WAL").execute(pool).await.map_err(|cause| Error::Query {
                operation: "turning on the write-ahead log".to_owned(),
                cause,
            })?;
        }
        Ok(())
    }

    /// Closes every connection, waiting for those in use.
    pub async fn close(&self) {
        match &self.pool {
            Pool::Postgres(pool) => pool.close().await,
            Pool::MySql(pool) => pool.close().await,
            Pool::Sqlite(pool) => pool.close().await,
        }
    }

    async fn repeat<'a, T, W>(&self, mut purpose: Purpose, mut work: W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        let mut attempt = 1;
        loop {
            match self.attempt(purpose, &mut work).await {
                Err(error) if purpose == Purpose::WriteTogether && error.is_about_rows() => {
                    purpose = Purpose::WriteInParts;
                }
                Err(error) if self.is_repeated(&error) && attempt < self.max_attempts => {
                    tracing::debug!(attempt, %error, "transaction is repeated");
                    tokio::time::sleep(backoff(attempt)).await;
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn is_repeated(&self, error: &Error) -> bool {
        error.is_transient() && !(error.is_busy() && self.lock_patience.is_some())
    }

    async fn attempt<'a, T, W>(&self, purpose: Purpose, work: &mut W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        let _turn = if purpose == Purpose::Read { None } else { self.turns.take().await };
        let mut tx = self.begin(purpose).await?;
        tx.parts.is_on = purpose == Purpose::WriteInParts;
        tx.parts.is_in_haste = self.lock_patience.is_some();
        let outcome = work(&mut tx).await;
        if purpose == Purpose::Rehearse { tx.undo(outcome).await } else { tx.end(outcome).await }
    }

    async fn begin(&self, purpose: Purpose) -> Result<Tx, Error> {
        let connection = match &self.pool {
            Pool::Postgres(pool) => {
                let begin = sqlx::AssertSqlSafe(self.begin_postgres(purpose));
                pool.begin_with(begin).await.map(Connection::Postgres)
            }
            Pool::MySql(pool) if purpose != Purpose::Read => {
                let begin = sqlx::AssertSqlSafe(self.begin_mysql(purpose));
                pool.begin_with(begin).await.map(Connection::MySql)
            }
            Pool::MySql(pool) => pool.begin().await.map(Connection::MySql),
            // A transaction that reads first and writes later could find that another has written in
            // between, and fail without any chance to wait: it takes the one write lock at once.
            Pool::Sqlite(pool) if purpose != Purpose::Read => {
                pool.begin_with("BEGIN IMMEDIATE").await.map(Connection::Sqlite)
            }
            Pool::Sqlite(pool) => pool.begin().await.map(Connection::Sqlite),
        };
        match connection {
            Ok(connection) => Ok(Tx::new(connection, self)),
            Err(cause) => {
                if is_useless(&cause) {
                    self.trust.lose();
                }
                Err(Error::Query { operation: "begin".to_owned(), cause })
            }
        }
    }

    /// What is set is set for this transaction alone: a setting of the session would reach the next user of the server
    /// connection next. All of it goes in one message.
    fn begin_postgres(&self, purpose: Purpose) -> String {
        let mut begin = "BEGIN".to_owned();
        if let Some(schema) = &self.schema {
            begin = format!("{begin}; {}", schema.put_first());
        }
        if let Some(patience) = self.patience_for(purpose)
            && purpose != Purpose::Read
        {
            begin = format!("{begin}; SET LOCAL lock_timeout = {}", patience.as_millis());
        }
        begin
    }

    /// Every transaction that writes says how long it waits: nothing is left of the one before.
    fn begin_mysql(&self, purpose: Purpose) -> String {
        let patience = self.patience_for(purpose).unwrap_or(PATIENCE_OF_MYSQL);
        // With none at all MariaDB refuses to pass over rows that are locked, and MySQL counts from one.
        let seconds = patience.as_secs().max(1);
        format!("BEGIN; SET SESSION innodb_lock_wait_timeout = {seconds}")
    }

    /// Where there are parts, a row that is locked is left, and every other waits for it.
    fn patience_for(&self, purpose: Purpose) -> Option<Duration> {
        let has_parts = matches!(purpose, Purpose::WriteTogether | Purpose::WriteInParts);
        self.lock_patience.map(|patience| if has_parts { patience.min(PATIENCE_OF_PARTS) } else { patience })
    }
}

impl ConfiguredSchema {
    /// Makes the schema the first to look in, and where new tables go, until the transaction ends.
    pub(crate) fn put_first(&self) -> String {
        let name = Dialect::Postgres.quote(&self.name);
        let separator = if self.default_path.is_empty() { "" } else { ", " };
        format!("SET LOCAL search_path TO {name}{separator}{}", self.default_path)
    }

    /// Looks only where a connection looks by itself, until the transaction ends.
    pub(crate) const PUT_ASIDE: &str = "SET LOCAL search_path TO DEFAULT";
}

/// Half a second, doubled with each attempt, at most five seconds, and a random part of it: two transactions
/// that met in a deadlock do not meet again.
fn backoff(attempt: u32) -> Duration {
    let longest =
        Duration::from_millis(500).saturating_mul(1 << (attempt - 1).min(10)).min(Duration::from_secs(5));
    longest.mul_f64(rand::rng().random_range(0.0..1.0))
}
