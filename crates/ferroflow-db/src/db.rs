//! The connection to the metadata database, and transactions on it.

use std::time::Duration;

use rand::RngExt as _;
use scoped_futures::ScopedBoxFuture;
use sqlx::mysql::{MySqlQueryResult, MySqlRow};
use sqlx::postgres::{PgQueryResult, PgRow};
use sqlx::sqlite::{SqliteQueryResult, SqliteRow};
use sqlx::{MySql, MySqlPool, PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::bind::{self, Bind, flatten};
use crate::dialect::Dialect;
use crate::error::{Error, is_connection_lost};
use crate::row::Row;
use crate::statement::{Rendering, Statement, Text, render};

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
    /// Name and version, as the server states them.
    pub(crate) server: String,
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

/// One transaction. Every statement runs in one: there is no other way to the database, so nothing depends on
/// what an earlier transaction left on its connection.
#[derive(Debug)]
pub struct Tx {
    connection: Connection,
    rendering: Rendering,
    keep_prepared: bool,
    schema: Option<ConfiguredSchema>,
}

#[derive(Debug)]
enum Connection {
    Postgres(Transaction<'static, Postgres>),
    MySql(Transaction<'static, MySql>),
    Sqlite(Transaction<'static, Sqlite>),
}

impl Db {
    /// Runs `work` in one transaction: commits on `Ok`, rolls back on `Err`.
    ///
    /// A serialization failure, a deadlock, a lost connection or a busy lock repeats the whole of it, up to
    /// `[database] max_db_retries` attempts; `work` therefore has no effects outside the transaction.
    ///
    /// ```ignore
    /// db.transact(|tx| async move { pool::lock_all(tx).await }.scope_boxed()).await
    /// ```
    ///
    /// The future is boxed because only then may it be sent to another thread together with what it borrows.
    pub async fn transact<'a, T, W>(&self, mut work: W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        let mut attempt = 1;
        loop {
            match self.attempt(&mut work).await {
                Err(error) if error.is_transient() && attempt < self.max_attempts => {
                    tracing::debug!(attempt, %error, "transaction is repeated");
                    tokio::time::sleep(backoff(attempt)).await;
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.rendering.dialect
    }

    /// Name and version of the server.
    pub fn server(&self) -> &str {
        &self.server
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

    async fn attempt<'a, T, W>(&self, work: &mut W) -> Result<T, Error>
    where
        W: for<'t> FnMut(&'t mut Tx) -> ScopedBoxFuture<'a, 't, Result<T, Error>>,
    {
        let mut tx = self.begin().await?;
        match work(&mut tx).await {
            Ok(value) => tx.commit().await.map(|()| value),
            Err(error) => {
                // The error of the work is the one to report; a failing rollback closes the connection,
                // which rolls back too.
                drop(tx.rollback().await);
                Err(error)
            }
        }
    }

    async fn begin(&self) -> Result<Tx, Error> {
        let connection = match (&self.pool, &self.schema) {
            (Pool::Postgres(pool), None) => pool.begin().await.map(Connection::Postgres),
            (Pool::Postgres(pool), Some(schema)) => {
                // For this transaction alone: a setting of the session would reach whoever gets the server
                // connection next.
                let begin = format!("BEGIN; {}", schema.put_first());
                pool.begin_with(sqlx::AssertSqlSafe(begin)).await.map(Connection::Postgres)
            }
            (Pool::MySql(pool), _) => pool.begin().await.map(Connection::MySql),
            // A transaction that reads first and writes later could find that another has written in
            // between, and fail without any chance to wait: it takes the one write lock at once.
            (Pool::Sqlite(pool), _) => pool.begin_with("BEGIN IMMEDIATE").await.map(Connection::Sqlite),
        };
        Ok(Tx {
            connection: connection.map_err(|cause| Error::Query { operation: "begin".to_owned(), cause })?,
            rendering: self.rendering,
            keep_prepared: self.keep_prepared,
            schema: self.schema.clone(),
        })
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

macro_rules! run {
    ($tx:expr, $operation:expr, $text:expr, $binds:expr, |$query:ident, $connection:ident| $run:expr) => {{
        let keep_prepared = $tx.keep_prepared;
        match &mut $tx.connection {
            Connection::Postgres(tx) => {
                let $query = bind::postgres(sqlx::query($text), $binds).persistent(keep_prepared);
                let $connection = &mut **tx;
                $run.map(Answer::Postgres)
            }
            Connection::MySql(tx) => {
                let $query = bind::mysql(sqlx::query($text), $binds).persistent(keep_prepared);
                let $connection = &mut **tx;
                $run.map(Answer::MySql)
            }
            Connection::Sqlite(tx) => {
                let $query = bind::sqlite(sqlx::query($text), $binds).persistent(keep_prepared);
                let $connection = &mut **tx;
                $run.map(Answer::Sqlite)
            }
        }
        .map_err(|cause| Error::Query { operation: $operation.to_owned(), cause })?
    }};
}

/// What one of the three drivers answered.
enum Answer<P, M, S> {
    Postgres(P),
    MySql(M),
    Sqlite(S),
}

impl Tx {
    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.rendering.dialect
    }

    /// The schema that the configuration names, on PostgreSQL.
    pub(crate) fn configured_schema(&self) -> Option<&ConfiguredSchema> {
        self.schema.as_ref()
    }

    /// All rows of a query.
    pub(crate) async fn fetch_all(
        &mut self,
        statement: &'static Statement,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, Error> {
        let (text, binds) = self.prepared(statement, binds);
        let rows =
            run!(self, statement.name, text, binds, |query, connection| query.fetch_all(connection).await);
        Ok(rows_of(rows))
    }

    /// The first row of a query.
    pub(crate) async fn fetch_optional(
        &mut self,
        statement: &'static Statement,
        binds: Vec<Bind>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.fetch_all(statement, binds).await?.into_iter().next())
    }

    /// Changes rows, and says how many.
    pub(crate) async fn execute(
        &mut self,
        statement: &'static Statement,
        binds: Vec<Bind>,
    ) -> Result<u64, Error> {
        let (text, binds) = self.prepared(statement, binds);
        let answer =
            run!(self, statement.name, text, binds, |query, connection| query.execute(connection).await);
        Ok(rows_affected(&answer))
    }

    /// Inserts one row whose `id` the database counts up, and returns that id. The statement ends in
    /// `{returning:id}`.
    pub(crate) async fn insert(
        &mut self,
        statement: &'static Statement,
        binds: Vec<Bind>,
    ) -> Result<i64, Error> {
        if self.rendering.dialect == Dialect::Postgres {
            let rows = self.fetch_all(statement, binds).await?;
            return rows.first().map_or(Ok(0), |row| row.get("id"));
        }
        let (text, binds) = self.prepared(statement, binds);
        let answer =
            run!(self, statement.name, text, binds, |query, connection| query.execute(connection).await);
        Ok(match answer {
            Answer::Postgres(_) => unreachable!("answered above"),
            Answer::MySql(result) => i64::try_from(result.last_insert_id()).unwrap_or(i64::MAX),
            Answer::Sqlite(result) => result.last_insert_rowid(),
        })
    }

    /// Runs a statement that is made at run time: the schema, and what is the same for several tables. Values
    /// are bound here, too.
    pub(crate) async fn execute_text(
        &mut self,
        operation: &str,
        text: &str,
        binds: Vec<Bind>,
    ) -> Result<u64, Error> {
        let text = Text::Sized(render(text, self.rendering, &[]));
        let answer = run!(self, operation, text, binds, |query, connection| query.execute(connection).await);
        Ok(rows_affected(&answer))
    }

    /// The rows of a query that is made at run time.
    pub(crate) async fn fetch_text(
        &mut self,
        operation: &str,
        text: &str,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, Error> {
        let text = Text::Sized(render(text, self.rendering, &[]));
        let rows = run!(self, operation, text, binds, |query, connection| query.fetch_all(connection).await);
        Ok(rows_of(rows))
    }

    fn prepared(&self, statement: &'static Statement, binds: Vec<Bind>) -> (Text, Vec<Bind>) {
        let (lists, binds) = flatten(binds);
        (statement.text(self.rendering, &lists), binds)
    }

    async fn commit(self) -> Result<(), Error> {
        let outcome = match self.connection {
            Connection::Postgres(tx) => tx.commit().await,
            Connection::MySql(tx) => tx.commit().await,
            Connection::Sqlite(tx) => tx.commit().await,
        };
        outcome.map_err(|cause| {
            if is_connection_lost(&cause) {
                Error::OutcomeUnknown(cause)
            } else {
                Error::Query { operation: "commit".to_owned(), cause }
            }
        })
    }

    async fn rollback(self) -> Result<(), sqlx::Error> {
        match self.connection {
            Connection::Postgres(tx) => tx.rollback().await,
            Connection::MySql(tx) => tx.rollback().await,
            Connection::Sqlite(tx) => tx.rollback().await,
        }
    }
}

impl sqlx::SqlSafeStr for Text {
    fn into_sql_str(self) -> sqlx::SqlStr {
        match self {
            Self::Fixed(text) => text.into_sql_str(),
            Self::Sized(text) => sqlx::AssertSqlSafe(text).into_sql_str(),
        }
    }
}

fn rows_affected(answer: &Answer<PgQueryResult, MySqlQueryResult, SqliteQueryResult>) -> u64 {
    match answer {
        Answer::Postgres(result) => result.rows_affected(),
        Answer::MySql(result) => result.rows_affected(),
        Answer::Sqlite(result) => result.rows_affected(),
    }
}

fn rows_of(answer: Answer<Vec<PgRow>, Vec<MySqlRow>, Vec<SqliteRow>>) -> Vec<Row> {
    match answer {
        Answer::Postgres(rows) => rows.into_iter().map(Row::Postgres).collect(),
        Answer::MySql(rows) => rows.into_iter().map(Row::MySql).collect(),
        Answer::Sqlite(rows) => rows.into_iter().map(Row::Sqlite).collect(),
    }
}

/// Half a second, doubled with each attempt, at most five seconds, and a random part of it: two transactions
/// that met in a deadlock do not meet again.
fn backoff(attempt: u32) -> Duration {
    let longest = Duration::from_millis(500).saturating_mul(1 << attempt.min(10)).min(Duration::from_secs(5));
    longest.mul_f64(rand::rng().random_range(0.0..1.0))
}
