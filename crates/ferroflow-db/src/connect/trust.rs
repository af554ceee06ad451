//! Which connections of a pool are still worth using.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ferroflow_telemetry::clock::Stopwatch;

/// Since when connections are not to be used any more. A server that has become read-only has handed over to another:
/// those who are connected to it would stay with it for as long as they live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    lost: Arc<Mutex<Option<Stopwatch>>>,
}

impl Trust {
    /// Whatever was connected until now is connected anew before it is used again.
    pub(crate) fn lose(&self) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stopwatch::start());
    }

    /// Whether a connection of this age may be used.
    pub(crate) fn reaches(&self, age: Duration) -> bool {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.is_none_or(|lost| age < lost.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_younger_than_the_loss_is_used() {
        let trust = Trust::default();
        assert!(trust.reaches(Duration::from_secs(9)));
        trust.lose();
        assert!(!trust.reaches(Duration::from_secs(9)));
        std::thread::sleep(Duration::from_millis(2));
        assert!(trust.reaches(Duration::from_millis(1)));
    }
}
