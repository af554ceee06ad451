//! Connections that somebody wants to be tried: what the process asks that tries one, and what it tells.

use ferroflow_db::connection::test_request::{self, RequestedTest};
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::{ScopedFutureExt as _, Tx};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use uuid::Uuid;

use crate::api::TestOutcome;
use crate::{Refusal, Service};

/// As much of a message as its column takes.
const MAX_MESSAGE_LENGTH: usize = 2000;

impl Service {
    /// What a test is to try. It can be had once: the test runs from then on.
    pub async fn tested_connection(&self, id: Uuid) -> Result<Connection, Refusal> {
        let now = clock::now();
        let begun = self.db.transact(|tx| {
            async move {
                let has_begun = test_request::begin(tx, id, now).await?;
                Ok((has_begun, test_request::find(tx, &self.fernet, id).await?))
            }
            .scope_boxed()
        });
        match begun.await? {
            (_, None) => Err(missing(id)),
            (false, Some(RequestedTest { state, .. })) => Err(Refusal::api(
                409,
                "conflict",
                format!("The connection test {id} is {state}: what it tries can be had once, before that."),
            )),
            (true, Some(RequestedTest { connection, .. })) => Ok(connection),
        }
    }

    /// Notes what came of a test. A connection that is good is stored, if that was asked for.
    pub async fn end_connection_test(&self, id: Uuid, outcome: &TestOutcome) -> Result<(), Refusal> {
        let (now, is_good) = (clock::now(), outcome.is_good);
        let shortened = |message: &String| message.chars().take(MAX_MESSAGE_LENGTH).collect::<String>();
        let message = outcome.message.as_ref().map(shortened);
        let message = message.as_deref();
        let ended = self.db.transact(|tx| self.end_test(tx, id, is_good, message, now).scope_boxed());
        match ended.await? {
            Ended::Noted => Ok(()),
            Ended::Missing => Err(missing(id)),
            Ended::Before(state) => {
                Err(Refusal::api(409, "conflict", format!("The connection test {id} has ended: {state}.")))
            }
        }
    }

    async fn end_test(
        &self,
        tx: &mut Tx,
        id: Uuid,
        is_good: bool,
        message: Option<&str>,
        now: Timestamp,
    ) -> Result<Ended, ferroflow_db::Error> {
        let is_noted = test_request::end(tx, id, is_good, message, now).await?;
        let Some(asked) = test_request::find(tx, &self.fernet, id).await? else {
            return Ok(Ended::Missing);
        };
        if !is_noted {
            return Ok(Ended::Before(asked.state));
        }
        if is_good && asked.commit_on_success {
            connection::store_tested(tx, &self.fernet, &asked.connection, now).await?;
            tracing::info!(connection = asked.connection.conn_id, "a connection is good, and is stored");
        }
        Ok(Ended::Noted)
    }
}

/// Whether the end of a test was noted.
enum Ended {
    Noted,
    Missing,
    Before(String),
}

fn missing(id: Uuid) -> Refusal {
    Refusal::api(404, "not_found", format!("There is no connection test {id}."))
}
