//! The signals that stop a process, and the one that asks for its state.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::LoopStatus;

/// The request that components end: made by signals, or by a component that ends and takes the others with it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Cancelled when they are to end, once what runs has ended;
    pub stop: CancellationToken,
    /// cancelled, too, when that takes too long.
    pub hurry: CancellationToken,
}

impl Shutdown {
    /// Follows signals: the first Ctrl-C or SIGTERM stops, the second one hurries. SIGUSR2 calls `log_state`.
    pub fn on_signals(log_state: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut debug = signal(SignalKind::user_defined2())?;
        let shutdown = Self::default();
        let tokens = [shutdown.stop.clone(), shutdown.hurry.clone()];
        tokio::spawn(async move {
            for token in tokens {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => break,
                        _ = terminate.recv() => break,
                        _ = debug.recv() => log_state(),
                    }
                }
                tracing::info!("stopping");
                token.cancel();
            }
        });
        Ok(shutdown)
    }
}

/// The components that run in this process, for the signal that asks for their state.
#[derive(Clone, Debug, Default)]
pub struct StateReports(Arc<Mutex<Vec<Weak<LoopStatus>>>>);

impl StateReports {
    pub(crate) fn add(&self, status: &Arc<LoopStatus>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(status));
    }

    /// Has each of them write its state into the log.
    pub fn log(&self) {
        let mut components = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        components.retain(|status| status.strong_count() > 0);
        if components.is_empty() {
            tracing::info!("state: no component has started yet");
        }
        components.iter().filter_map(Weak::upgrade).for_each(|status| status.ask());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    /// The one test that sends signals to the process of the tests: all who follow them receive them.
    #[tokio::test]
    async fn the_first_signal_stops_the_second_one_hurries_and_another_one_asks_for_the_state() {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let count = move || _ = counter.fetch_add(1, Ordering::Relaxed);
        let Shutdown { stop, hurry } = Shutdown::on_signals(count).unwrap();
        let send = |signal| kill_process(getpid(), signal).unwrap();
        for expected in 1..=2 {
            send(Signal::USR2);
            while asked.load(Ordering::Relaxed) < expected {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        assert!(!stop.is_cancelled());
        send(Signal::TERM);
        stop.cancelled().await;
        assert!(!hurry.is_cancelled());
        send(Signal::INT);
        hurry.cancelled().await;
    }
}
