//! Parts of a transaction, of which one may fail.

use crate::transaction::tx::Connection;
use crate::{Dialect, Error, Tx};

/// How a transaction deals with rows one by one.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Whether a part that fails is undone alone.
    pub(crate) is_on: bool,
    /// Whether no row is waited for: one was when all was to be done together.
    pub(crate) is_in_haste: bool,
    /// Whether a row was waited for in vain, or before, so that no other is.
    waits_no_more: bool,
    /// How much there was to tell when this part began.
    pub(crate) news_before: usize,
}

impl Tx {
    /// How many rows may be dealt with in one part.
    pub fn rows_in_a_part(&self, all: usize) -> usize {
        if self.parts.is_on { 1 } else { all.max(1) }
    }

    /// What follows can be undone alone, until the [end of the part](Self::end_part). Only
    /// [`Db::transact_in_parts`](crate::Db::transact_in_parts) has parts; they have none themselves.
    pub async fn begin_part(&mut self) -> Result<(), Error> {
        if !self.parts.is_on {
            return Ok(());
        }
        self.parts.news_before = self.notifications.len();
        if self.parts.is_in_haste {
            self.wait_no_more().await?;
        }
        self.say("SAVEPOINT part").await
    }

    /// Ends a part: undoes what it has changed, if it has met a row that cannot be dealt with, and answers why. Any other
    /// error ends the transaction.
    pub async fn end_part<T>(&mut self, outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
        if !self.parts.is_on {
            return outcome.map(Ok);
        }
        match outcome {
            Err(error) if error.is_about_rows() => {
                self.say("ROLLBACK TO SAVEPOINT part").await?;
                self.forget_part();
                if error.is_busy() {
                    self.wait_no_more().await?;
                }
                Ok(Err(error))
            }
            Err(error) => Err(error),
            Ok(value) => {
                self.say("RELEASE SAVEPOINT part").await?;
                Ok(Ok(value))
            }
        }
    }

    /// Of many rows that others have locked one is waited for: else all else would wait for each of them.
    async fn wait_no_more(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.parts.waits_no_more, true) {
            return Ok(());
        }
        match self.dialect() {
            Dialect::Postgres => self.say("SET LOCAL lock_timeout = 1").await,
            Dialect::MariaDb => self.say("SET SESSION innodb_lock_wait_timeout = 0").await,
            Dialect::MySql => self.say("SET SESSION innodb_lock_wait_timeout = 1").await,
            Dialect::Sqlite => Ok(()),
        }
    }

    /// Without preparing it: MySQL cannot prepare these.
    async fn say(&mut self, text: &'static str) -> Result<(), Error> {
        let said = match &mut self.connection {
            Connection::Postgres(tx) => sqlx::raw_sql(text).execute(&mut **tx).await.map(drop),
            Connection::MySql(tx) => sqlx::raw_sql(text).execute(&mut **tx).await.map(drop),
            Connection::Sqlite(tx) => sqlx::raw_sql(text).execute(&mut **tx).await.map(drop),
        };
        said.map_err(|cause| self.failed(text, cause))
    }
}
