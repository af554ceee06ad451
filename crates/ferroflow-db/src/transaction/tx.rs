//! One transaction: statements in, rows out.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::mysql::MySqlQueryResult;
use sqlx::postgres::PgQueryResult;
use sqlx::sqlite::SqliteQueryResult;
use sqlx::{MySql, Postgres, Sqlite, Transaction};

use crate::connect::Trust;
use crate::list::render::Fragments;
use crate::notifications::Notification;
use crate::notifications::notify::Messenger;
use crate::statement::bind::{self, flatten, parts};
use crate::statement::ran::Ran;
use crate::statement::text::{Rendering, Text, render};
use crate::statement::{Bind, Row, Statement};
use crate::transaction::db::ConfiguredSchema;
use crate::transaction::error::{is_connection_lost, is_useless};
use crate::transaction::parts::Parts;
use crate::{Db, Dialect, Error, Unreadable};

/// One transaction. Every statement runs in one: there is no other way to the database, so nothing depends on
/// what an earlier transaction left on its connection.
#[derive(Debug)]
pub struct Tx {
    pub(crate) connection: Connection,
    rendering: Rendering,
    keep_prepared: bool,
    schema: Option<ConfiguredSchema>,
    /// Whether a statement has changed anything.
    has_changed: bool,
    /// The statement that failed, after which PostgreSQL takes no other.
    aborted_by: Option<String>,
    /// What is told once it is committed.
    pub(crate) notifications: Vec<Notification>,
    pub(crate) messenger: Messenger,
    trust: Trust,
    pub(crate) parts: Parts,
    /// The rows that could not be read.
    pub(crate) unreadable: Arc<Unreadable>,
    ran: Ran,
}

/// What the driver has begun.
#[derive(Debug)]
pub(crate) enum Connection {
    Postgres(Transaction<'static, Postgres>),
    MySql(Transaction<'static, MySql>),
    Sqlite(Transaction<'static, Sqlite>),
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
        .map_err(|cause| $tx.failed($operation, cause))?
    }};
}

/// What one of the three drivers answered.
enum Answer<P, M, S> {
    Postgres(P),
    MySql(M),
    Sqlite(S),
}

/// What it answered to a change.
type Changed = Answer<PgQueryResult, MySqlQueryResult, SqliteQueryResult>;

impl Tx {
    pub(crate) fn new(connection: Connection, db: &Db) -> Self {
        Self {
            connection,
            rendering: db.rendering,
            keep_prepared: db.keep_prepared,
            schema: db.schema.clone(),
            has_changed: false,
            aborted_by: None,
            notifications: Vec::new(),
            messenger: db.messenger.clone(),
            trust: db.trust.clone(),
            parts: Parts::default(),
            unreadable: Arc::clone(&db.unreadable),
            ran: db.ran.clone(),
        }
    }

    /// Commits what came out well, and rolls back what did not.
    pub(crate) async fn end<T>(mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        match (outcome, self.aborted_by.take()) {
            (Ok(value), None) => {
                let (notifications, messenger) =
                    (std::mem::take(&mut self.notifications), self.messenger.clone());
                let committed = self.commit().await;
                if committed.is_ok() {
                    for notifications in notifications {
                        messenger.tell(notifications);
                    }
                }
                committed.map(|()| value)
            }
            // The work has met the error itself: a lock was busy, say. A commit would roll back all the same,
            // and not tell; so what was changed before is an error now.
            (Ok(value), Some(operation)) => {
                let has_changed = self.has_changed;
                drop(self.rollback().await);
                if has_changed { Err(Error::Aborted(operation)) } else { Ok(value) }
            }
            (Err(error), _) => {
                // The error of the work is the one to report; a failing rollback closes the connection,
                // which rolls back too.
                drop(self.rollback().await);
                Err(error)
            }
        }
    }

    /// Rolls back whatever came out.
    pub(crate) async fn undo<T>(self, outcome: Result<T, Error>) -> Result<T, Error> {
        drop(self.rollback().await);
        outcome
    }

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
        let mut rows = Vec::new();
        for binds in in_parts(statement, binds) {
            let (text, binds) = self.prepared(statement, binds);
            rows.append(&mut self.query(statement.name, text, binds).await?);
        }
        self.ran.note(statement.name, !rows.is_empty());
        Ok(rows)
    }

    /// The rows of a list.
    pub(crate) async fn fetch_list(
        &mut self,
        statement: &'static Statement,
        fragments: &Fragments,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, Error> {
        let (lists, binds) = flatten(binds);
        let text = statement.list_text(fragments, self.rendering, &lists);
        let rows = self.query(statement.name, text, binds).await?;
        self.ran.note(statement.name, !rows.is_empty());
        Ok(rows)
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
        let mut changed = 0;
        for binds in in_parts(statement, binds) {
            let (text, binds) = self.prepared(statement, binds);
            changed += rows_affected(&self.change(statement.name, text, binds).await?);
        }
        self.ran.note(statement.name, changed > 0);
        Ok(changed)
    }

    /// Inserts one row whose `id` the database counts up, and returns that id. The statement ends in
    /// `{returning:id}`.
    pub(crate) async fn insert(
        &mut self,
        statement: &'static Statement,
        binds: Vec<Bind>,
    ) -> Result<i64, Error> {
        let (text, binds) = self.prepared(statement, binds);
        if self.rendering.dialect == Dialect::Postgres {
            let rows = self.query(statement.name, text, binds).await?;
            self.has_changed = true;
            self.ran.note(statement.name, true);
            return rows.first().map_or(Ok(0), |row| row.get("id"));
        }
        let inserted = self.change(statement.name, text, binds).await?;
        self.ran.note(statement.name, true);
        Ok(match inserted {
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
        Ok(rows_affected(&self.change(operation, text, binds).await?))
    }

    /// The rows of a query that is made at run time.
    pub(crate) async fn fetch_text(
        &mut self,
        operation: &'static str,
        text: &str,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, Error> {
        let text = Text::Sized(render(text, self.rendering, &[]));
        self.query(operation, text, binds).await
    }

    /// Shows the rows of a query that is made at run time, one after the other, until it is told to stop.
    pub(crate) async fn each_row(
        &mut self,
        operation: &'static str,
        text: &str,
        mut see: impl FnMut(Row) -> bool + Send,
    ) -> Result<(), Error> {
        let text = Text::Sized(render(text, self.rendering, &[]));
        run!(self, operation, text, Vec::new(), |query, connection| {
            let mut rows = query.fetch(connection);
            loop {
                match rows.try_next().await {
                    Ok(Some(row)) => {
                        if !see(Row::new(operation, row)) {
                            break Ok(());
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(cause) => break Err(cause),
                }
            }
        });
        Ok(())
    }

    async fn query(
        &mut self,
        operation: &'static str,
        text: Text,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, Error> {
        let rows = run!(self, operation, text, binds, |query, connection| query.fetch_all(connection).await);
        Ok(match rows {
            Answer::Postgres(rows) => rows.into_iter().map(|row| Row::new(operation, row)).collect(),
            Answer::MySql(rows) => rows.into_iter().map(|row| Row::new(operation, row)).collect(),
            Answer::Sqlite(rows) => rows.into_iter().map(|row| Row::new(operation, row)).collect(),
        })
    }

    async fn change(&mut self, operation: &str, text: Text, binds: Vec<Bind>) -> Result<Changed, Error> {
        let changed = run!(self, operation, text, binds, |query, connection| query.execute(connection).await);
        self.has_changed = true;
        Ok(changed)
    }

    /// The part that failed is undone: PostgreSQL takes statements again.
    pub(crate) fn forget_part(&mut self) {
        self.aborted_by = None;
        self.notifications.truncate(self.parts.news_before);
    }

    /// Notes what PostgreSQL will hold against this transaction.
    pub(crate) fn failed(&mut self, operation: &str, cause: sqlx::Error) -> Error {
        if self.dialect() == Dialect::Postgres {
            self.aborted_by = Some(operation.to_owned());
        }
        if is_useless(&cause) {
            self.trust.lose();
        }
        Error::Query { operation: operation.to_owned(), cause }
    }

    fn prepared(&self, statement: &'static Statement, binds: Vec<Bind>) -> (Text, Vec<Bind>) {
        let (lists, binds) = flatten(binds);
        (statement.text(self.rendering, &lists), binds)
    }

    /// What has changed nothing may be done again, whatever became of it.
    async fn commit(self) -> Result<(), Error> {
        let (has_changed, trust) = (self.has_changed, self.trust);
        let outcome = match self.connection {
            Connection::Postgres(tx) => tx.commit().await,
            Connection::MySql(tx) => tx.commit().await,
            Connection::Sqlite(tx) => tx.commit().await,
        };
        outcome.map_err(|cause| {
            if is_useless(&cause) {
                trust.lose();
            }
            if has_changed && is_connection_lost(&cause) {
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

/// The binds of each of the statements that one with these is sent as.
fn in_parts(statement: &Statement, binds: Vec<Bind>) -> Vec<Vec<Bind>> {
    if statement.is_divisible() { parts(binds) } else { vec![binds] }
}

fn rows_affected(changed: &Changed) -> u64 {
    match changed {
        Answer::Postgres(result) => result.rows_affected(),
        Answer::MySql(result) => result.rows_affected(),
        Answer::Sqlite(result) => result.rows_affected(),
    }
}
