//! `connection_test_request`: requests to test a connection.

use jiff::Timestamp;
use uuid::Uuid;

use crate::connection::Connection;
use crate::connection::row::connection;
use crate::encoding::fernet::Fernet;
use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// A test that waits for an executor. It is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTest {
    /// Its identity.
    pub id: Uuid,
    /// The connection.
    pub connection_id: String,
    /// The executor that is asked for.
    pub executor: Option<String>,
    /// The queue of workers.
    pub queue: Option<String>,
    /// The team it is for.
    pub team_name: Option<String>,
}

/// A test of which nothing was heard for long. It is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleTest {
    /// Its identity.
    pub id: Uuid,
    /// The connection.
    pub connection_id: String,
    /// Where it stands, in Airflow's word: `pending`, `queued` or `running`.
    pub state: String,
}

/// How many tests there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Those that wait for an executor.
    pub pending: i64,
    /// Those that an executor has.
    pub active: i64,
}

/// How many tests there are.
pub async fn counts(tx: &mut Tx) -> Result<TestCounts, Error> {
    let mut counts = TestCounts::default();
    for row in &tx.fetch_all(sql!("connection_test_request/count_by_state"), Vec::new()).await? {
        let (state, total): (String, i64) = (row.get("state")?, row.get("total")?);
        if state == "pending" {
            counts.pending += total;
        } else {
            counts.active += total;
        }
    }
    Ok(counts)
}

/// Locks tests that wait for an executor, the oldest first.
pub async fn lock_pending(tx: &mut Tx, limit: u32) -> Result<Vec<PendingTest>, Error> {
    let pending = |row: &Row| {
        Ok(PendingTest {
            id: row.get("id")?,
            connection_id: row.get("connection_id")?,
            executor: row.optional("executor")?,
            queue: row.optional("queue")?,
            team_name: row.optional("team_name")?,
        })
    };
    tx.first_readable(sql!("connection_test_request/lock_pending"), Vec::new(), limit, pending).await
}

/// Locks tests that have not ended and were last written before a time.
pub async fn lock_stale(tx: &mut Tx, before: Timestamp, limit: u32) -> Result<Vec<StaleTest>, Error> {
    let stale = |row: &Row| {
        Ok(StaleTest {
            id: row.get("id")?,
            connection_id: row.get("connection_id")?,
            state: row.get("state")?,
        })
    };
    tx.first_readable(sql!("connection_test_request/lock_stale"), binds![before], limit, stale).await
}

/// Notes that a pending test goes to an executor. False if it does not wait any more.
pub async fn queue(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("connection_test_request/queue"), binds![now, id]).await? == 1)
}

/// A test that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedTest {
    /// Where it stands, in Airflow's word.
    pub state: String,
    /// Whether the connection is stored if it is good.
    pub commit_on_success: bool,
    /// What is tried.
    pub connection: Connection,
}

/// One test.
pub async fn find(tx: &mut Tx, fernet: &Fernet, id: Uuid) -> Result<Option<RequestedTest>, Error> {
    let row = tx.fetch_optional(sql!("connection_test_request/find"), binds![id]).await?;
    let asked = |row: &Row| {
        Ok(RequestedTest {
            state: row.get("state")?,
            commit_on_success: row.get("commit_on_success")?,
            connection: connection(row, fernet)?,
        })
    };
    row.as_ref().map(asked).transpose()
}

/// Notes that a test is being made. False if it has begun before.
pub async fn begin(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("connection_test_request/begin"), binds![now, id]).await? == 1)
}

/// Notes what came of a test; its connection can be tested again. False if it has ended before.
pub async fn end(
    tx: &mut Tx,
    id: Uuid,
    is_good: bool,
    message: Option<&str>,
    now: Timestamp,
) -> Result<bool, Error> {
    let state = if is_good { "success" } else { "failed" };
    Ok(tx.execute(sql!("connection_test_request/end"), binds![state, message, now, id]).await? == 1)
}

/// Notes that a test has failed, and why; its connection can be tested again. False if it has left the state in which
/// it was seen.
pub async fn fail(tx: &mut Tx, id: Uuid, from: &str, reason: &str, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("connection_test_request/fail"), binds![reason, now, id, from]).await? == 1)
}
