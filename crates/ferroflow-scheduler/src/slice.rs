//! How long a step goes on with what is many, before others have their turn.

use std::time::Duration;

use ferroflow_db::notifications;
use ferroflow_telemetry::clock::Stopwatch;

/// So long a step goes on with more of the same.
const LONGEST: Duration = Duration::from_millis(250);

/// The time of one step. It always does one part; whether another one follows is asked here.
pub(crate) struct Slice<'a> {
    watch: Stopwatch,
    notifications: Option<&'a notifications::Receiver>,
}

impl<'a> Slice<'a> {
    /// Until its time is over, or a notification has come that the cycle should look at.
    pub(crate) fn new(notifications: &'a notifications::Receiver) -> Self {
        Self { watch: Stopwatch::start(), notifications: Some(notifications) }
    }

    /// However long it takes.
    pub(crate) fn endless() -> Self {
        Self { watch: Stopwatch::start(), notifications: None }
    }

    /// Whether others have their turn now.
    pub(crate) fn is_over(&self) -> bool {
        self.notifications
            .is_some_and(|notifications| !notifications.is_empty() || self.watch.elapsed() >= LONGEST)
    }
}
