//! Repeating what the database cannot do right now.

use std::time::Duration;

use ferroflow_execution::Refusal;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How long it is asked again.
pub(super) struct Patience {
    what: &'static str,
    limit: Duration,
    since: Stopwatch,
    wait: Duration,
}

impl Patience {
    /// Patience for something of a task, as long as `limit`.
    pub(super) fn new(what: &'static str, limit: Duration) -> Self {
        Self { what, limit, since: Stopwatch::start(), wait: FIRST_WAIT }
    }

    /// Whether to ask again, after a while, what was refused.
    pub(super) async fn again(&mut self, refusal: &Refusal) -> bool {
        if !refusal.is_transient() || self.since.elapsed() >= self.limit {
            return false;
        }
        tracing::warn!("the {} of a task waits for the database: {}", self.what, chain(refusal));
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        true
    }
}
