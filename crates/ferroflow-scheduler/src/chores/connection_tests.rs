//! Connections that somebody wants to be tried.
//!
//! Locks: the rows in `connection_test_request`, without waiting for those that another scheduler has.

use std::time::Duration;

use ferroflow_db::connection_test::{self, PendingTest, StaleTest, TestCounts};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx};
use jiff::Timestamp;
use uuid::Uuid;

use super::executors::Executors;
use crate::{Context, Error};

/// How many silent ones are given up at a time; the others are by the next chore.
const BATCH: u32 = 100;

/// What became of tests that wait for an executor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTests {
    /// How many there were.
    pub counts: TestCounts,
    /// Those that are to be handed over; their rows are queued now.
    pub queued: Vec<PendingTest>,
    /// Those that no executor makes, and why; they have failed.
    pub refused: Vec<(Uuid, String)>,
}

/// Picks the tests that go to executors, as many as `[connection_test] max_concurrency` leaves room for.
pub async fn connection_tests(
    cx: &Context,
    now: Timestamp,
    executors: &impl Executors,
) -> Result<ConnectionTests, Error> {
    let most = cx.settings.connection_test.max_concurrency;
    let counts = cx.db.read(|tx| async move { connection_test::counts(tx).await }.scope_boxed()).await?;
    let active = u32::try_from(counts.active).unwrap_or(u32::MAX);
    let room = most.saturating_sub(active).min(u32::try_from(executors.free_slots()).unwrap_or(u32::MAX));
    if counts.pending == 0 || room == 0 {
        return Ok(ConnectionTests { counts, ..ConnectionTests::default() });
    }
    let picked = cx.db.transact(|tx| pick(tx, executors, room, now).scope_boxed()).await?;
    Ok(ConnectionTests { counts, ..picked })
}

async fn pick(
    tx: &mut Tx,
    executors: &impl Executors,
    room: u32,
    now: Timestamp,
) -> Result<ConnectionTests, DbError> {
    let mut report = ConnectionTests::default();
    for test in connection_test::lock_pending(tx, room).await? {
        match why_not(&test, executors) {
            None => {
                if connection_test::queue(tx, test.id, now).await? {
                    report.queued.push(test);
                }
            }
            Some(reason) => {
                if connection_test::fail(tx, test.id, "pending", &reason, now).await? {
                    tracing::warn!(id = %test.id, reason, "a connection is not tried");
                    report.refused.push((test.id, reason));
                }
            }
        }
    }
    Ok(report)
}

fn why_not(test: &PendingTest, executors: &impl Executors) -> Option<String> {
    let executor = test.executor.as_deref();
    let name =
        || executor.map_or_else(|| "the default executor".to_owned(), |name| format!("executor {name:?}"));
    if !executors.has(executor) {
        Some(format!("there is no {} here", name()))
    } else if !executors.tests_connections(executor) {
        Some(format!("{} does not try connections", name()))
    } else {
        None
    }
}

/// Gives up tests of which nothing was heard for longer than they may take. Returns them.
pub async fn stale_connection_tests(cx: &Context, now: Timestamp) -> Result<Vec<StaleTest>, Error> {
    let patience = patience(cx.settings.connection_test.timeout);
    let before = super::ago(now, patience);
    Ok(cx.db.transact(|tx| reap(tx, before, patience, now).scope_boxed()).await?)
}

async fn reap(
    tx: &mut Tx,
    before: Timestamp,
    patience: Duration,
    now: Timestamp,
) -> Result<Vec<StaleTest>, DbError> {
    let mut given_up = Vec::new();
    for test in connection_test::lock_stale(tx, before, BATCH).await? {
        let what = match test.state.as_str() {
            "pending" => "no executor took it",
            "queued" => "its executor did not start it",
            _ => "it did not end",
        };
        let reason = format!("The connection was not tried: {what} within {} seconds.", patience.as_secs());
        if connection_test::fail(tx, test.id, &test.state, &reason, now).await? {
            tracing::warn!(id = %test.id, connection = test.connection_id, reason, "a test is given up");
            given_up.push(test);
        }
    }
    Ok(given_up)
}

/// As long as a test may take, and half as long again, but no less than half a minute more.
fn patience(timeout: Duration) -> Duration {
    timeout + Duration::from_secs((timeout.as_secs() / 2).max(30))
}
