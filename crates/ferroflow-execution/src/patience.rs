//! Repeating what the database cannot do right now.

use std::time::Duration;

use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;

use crate::Refusal;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How long it is asked again.
#[derive(Debug)]
pub struct Patience<'a> {
    what: &'a str,
    limit: Duration,
    since: Stopwatch,
    wait: Duration,
}

impl<'a> Patience<'a> {
    /// Patience for something of a task, as long as `limit`.
    pub fn new(what: &'a str, limit: Duration) -> Self {
        Self { what, limit, since: Stopwatch::start(), wait: FIRST_WAIT }
    }

    /// Whether to ask again, after a while, what was refused.
    pub async fn again(&mut self, refusal: &Refusal) -> bool {
        if !refusal.is_transient() || self.since.elapsed() >= self.limit {
            return false;
        }
        tracing::warn!("the {} of a task waits for the database: {}", self.what, chain(refusal));
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        true
    }
}
