//! Parts of a transaction, of which one may fail.

use crate::error::Error;
use crate::tx::{Connection, Tx};

impl Tx {
    /// How many rows may be dealt with in one part.
    pub fn rows_in_a_part(&self, all: usize) -> usize {
        if self.is_in_parts { 1 } else { all.max(1) }
    }

    /// What follows can be undone alone, until the [end of the part](Self::end_part). Only
    /// [`Db::transact_in_parts`](crate::Db::transact_in_parts) has parts; they have none themselves.
    pub async fn begin_part(&mut self) -> Result<(), Error> {
        if !self.is_in_parts {
            return Ok(());
        }
        self.news_before_part = self.news.len();
        self.say("SAVEPOINT part").await
    }

    /// Ends a part: undoes what it has changed, if it has met a row that cannot be dealt with, and answers why. Any other
    /// error ends the transaction.
    pub async fn end_part<T>(&mut self, outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
        if !self.is_in_parts {
            return outcome.map(Ok);
        }
        match outcome {
            Err(error) if error.is_about_rows() => {
                self.say("ROLLBACK TO SAVEPOINT part").await?;
                self.forget_part();
                Ok(Err(error))
            }
            Err(error) => Err(error),
            Ok(value) => {
                self.say("RELEASE SAVEPOINT part").await?;
                Ok(Ok(value))
            }
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
