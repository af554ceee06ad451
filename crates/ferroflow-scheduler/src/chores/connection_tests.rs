//! Connections that a user wants to have tested.
//!
//! Locks: the rows in `connection_test_request`, without waiting for those that another scheduler has.

use std::collections::HashSet;
use std::time::Duration;

use ferroflow_db::connection::test_request::{self, PendingTest, StaleTest, TestCounts};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_executor::{ExecutorSet, TestConnection, Workload, WorkloadKind};
use ferroflow_telemetry::metrics::scheduling;
use jiff::Timestamp;
use uuid::Uuid;

use super::report::{FollowUp, Report};
use super::{Chore, EVERY_LOOP, reported};
use crate::metrics::Told;
use crate::refused::{Done, SetAside, or_set_aside, so_far};
use crate::{Context, Error};

pub(crate) const STALE: Chore = Chore {
    name: "stale connection tests",
    every: |settings| Some(settings.connection_test.reaper_interval),
    run: |given| reported(stale_connection_tests(given.cx, given.now)),
};

pub(crate) const CHORE: Chore = Chore {
    name: "connection tests",
    every: |_| Some(EVERY_LOOP),
    run: |given| reported(connection_tests(given.cx, given.now, given.executors)),
};

/// How many silent ones are given up at a time; the others are by the next chore.
const BATCH: usize = 100;

/// What became of tests that wait for an executor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionTests {
    /// How many there were.
    pub counts: TestCounts,
    /// Those that are to be handed over; their rows are queued now.
    pub queued: Vec<PendingTest>,
    /// Those that no executor makes, and why; they have failed.
    pub refused: Vec<(Uuid, String)>,
    /// Those that stay as they are.
    pub set_aside: Vec<SetAside>,
}

impl Report for ConnectionTests {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn follow_up(&self) -> FollowUp {
        let hand_over = self.queued.iter().map(|test| {
            let (id, connection_id) = (test.id, test.connection_id.clone());
            let workload = Workload::TestConnection(TestConnection { id, connection_id });
            (test.executor.clone(), workload)
        });
        FollowUp { hand_over: hand_over.collect(), ..FollowUp::default() }
    }

    fn measure(&self, _told: &mut Told) {
        scheduling::connection_tests(self.counts.active, self.counts.pending);
    }
}

impl Report for Done<Vec<StaleTest>> {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn measure(&self, _told: &mut Told) {
        self.done.iter().for_each(|test| scheduling::connection_test_reaped(&test.state));
    }
}

/// Picks the tests that go to executors, as many as `[connection_test] max_concurrency` leaves room for.
pub async fn connection_tests(
    cx: &Context,
    now: Timestamp,
    executors: &ExecutorSet,
) -> Result<ConnectionTests, Error> {
    let most = cx.settings.connection_test.max_concurrency;
    let counts = cx.db.read(|tx| async move { test_request::counts(tx).await }.scope_boxed()).await?;
    let active = u32::try_from(counts.active).unwrap_or(u32::MAX);
    let free = executors.room(WorkloadKind::TestConnection);
    let room = most.saturating_sub(active).min(u32::try_from(free).unwrap_or(u32::MAX));
    let mut report = ConnectionTests { counts, ..ConnectionTests::default() };
    let mut passed = HashSet::new();
    while counts.pending > 0 && report.queued.len() < room as usize {
        let wanted = room as usize - report.queued.len();
        cx.progress.gets_on();
        let some = cx.db.transact_in_parts(|tx| {
            let passed = &passed;
            async move { pick(tx, cx, executors, passed, wanted, now).await }.scope_boxed()
        });
        let (some, kept_back) = match some.await {
            Ok(some) => some,
            Err(error) => return so_far(report, error.into()),
        };
        for (id, reason) in &some.refused {
            tracing::warn!(%id, reason, "connection test has failed: no executor can run it");
        }
        report.queued.extend(some.queued);
        report.refused.extend(some.refused);
        report.set_aside.extend(some.set_aside);
        if kept_back.is_empty() {
            break;
        }
        // Those behind them have their turn.
        passed.extend(kept_back);
    }
    Ok(report)
}

/// Picks as many as are wanted, and tells which it could not change.
async fn pick(
    tx: &mut Tx,
    cx: &Context,
    executors: &ExecutorSet,
    passed: &HashSet<Uuid>,
    wanted: usize,
    now: Timestamp,
) -> Result<(ConnectionTests, Vec<Uuid>), DbError> {
    let (mut report, mut kept_back) = (ConnectionTests::default(), Vec::new());
    let pending = test_request::lock_pending(tx, limit(passed, wanted)).await?;
    for test in pending.into_iter().filter(|test| !passed.contains(&test.id)).take(wanted) {
        if cx.row_retries.has_to_wait(test.id, now, &mut report.set_aside) {
            kept_back.push(test.id);
            continue;
        }
        let why_not = why_not(&test, executors);
        tx.begin_part().await?;
        let changed = match &why_not {
            None => test_request::queue(tx, test.id, now).await,
            Some(reason) => test_request::fail(tx, test.id, "pending", reason, now).await,
        };
        let changed = tx.end_part(changed).await?;
        let row = |reason| SetAside::row(format!("connection test {}", test.id), reason);
        let changed =
            cx.row_retries.or_retry_later(test.id, changed, tx.unreadable(), row, &mut report.set_aside, now);
        match (changed, why_not) {
            (Some(true), None) => report.queued.push(test),
            (Some(true), Some(reason)) => report.refused.push((test.id, reason)),
            (Some(false), _) => {}
            (None, _) => kept_back.push(test.id),
        }
    }
    Ok((report, kept_back))
}

fn limit(passed: &HashSet<Uuid>, wanted: usize) -> u32 {
    u32::try_from(passed.len() + wanted).unwrap_or(u32::MAX)
}

fn why_not(test: &PendingTest, executors: &ExecutorSet) -> Option<String> {
    let executor = test.executor.as_deref();
    let name =
        || executor.map_or_else(|| "the default executor".to_owned(), |name| format!("executor {name:?}"));
    match executors.find(executor) {
        None => Some(format!("there is no {} here", name())),
        Some(found) if found.supports(WorkloadKind::TestConnection) => None,
        Some(_) => Some(format!("{} does not try connections", name())),
    }
}

/// Gives up tests of which nothing was heard for longer than they may take. Returns them.
pub async fn stale_connection_tests(cx: &Context, now: Timestamp) -> Result<Done<Vec<StaleTest>>, Error> {
    let patience = patience(cx.settings.connection_test.timeout);
    let (mut report, mut passed) = (Done::<Vec<StaleTest>>::default(), HashSet::new());
    loop {
        cx.progress.gets_on();
        let some = cx.db.transact_in_parts(|tx| {
            let passed = &passed;
            async move { reap(tx, passed, patience, now).await }.scope_boxed()
        });
        let (some, kept_back) = match some.await {
            Ok(some) => some,
            Err(error) => return so_far(report, error.into()),
        };
        for StaleTest { id, connection_id, state } in &some.done {
            tracing::warn!(%id, connection = connection_id, state, "connection test timed out");
        }
        report.done.extend(some.done);
        report.set_aside.extend(some.set_aside);
        if kept_back.is_empty() {
            return Ok(report);
        }
        passed.extend(kept_back);
    }
}

/// Gives some up, and tells which it could not change.
async fn reap(
    tx: &mut Tx,
    passed: &HashSet<Uuid>,
    patience: Duration,
    now: Timestamp,
) -> Result<(Done<Vec<StaleTest>>, Vec<Uuid>), DbError> {
    let (mut given_up, mut kept_back) = (Done::<Vec<StaleTest>>::default(), Vec::new());
    let stale = test_request::lock_stale(tx, super::ago(now, patience), limit(passed, BATCH)).await?;
    for test in stale.into_iter().filter(|test| !passed.contains(&test.id)).take(BATCH) {
        let what = match test.state.as_str() {
            "pending" => "no executor took it",
            "queued" => "its executor did not start it",
            _ => "it did not end",
        };
        let reason = format!("The connection was not tried: {what} within {} seconds.", patience.as_secs());
        tx.begin_part().await?;
        let failed = test_request::fail(tx, test.id, &test.state, &reason, now).await;
        let failed = tx.end_part(failed).await?;
        let row = |reason| SetAside::row(format!("connection test {}", test.id), reason);
        match or_set_aside(failed, tx.unreadable(), row, &mut given_up.set_aside) {
            Some(true) => given_up.done.push(test),
            Some(false) => {}
            None => kept_back.push(test.id),
        }
    }
    Ok((given_up, kept_back))
}

/// As long as a test may take, and half as long again, but no less than half a minute more.
fn patience(timeout: Duration) -> Duration {
    timeout + Duration::from_secs((timeout.as_secs() / 2).max(30))
}
