//! Transactions that have met a locked row try again in turn.
//!
//! A transaction that locks many rows has as many others wait for them. Each of those who waits has a connection that long, and there
//! are few: all else would wait for one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::Db;

/// So many ask again at a time.
const AT_A_TIME: usize = 3;

/// Who asks again hardly waits: others are behind it, and it asks once more.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whose turn it is, among all who share a pool.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    /// When a transaction that waits for its turn goes on without; nothing for those that do not wait.
    hurry: Option<CancellationToken>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(AT_A_TIME)), hurry: None }
    }
}

impl Turns {
    /// The turn for one transaction, if it needs one: what is done between two of them is waited for by none.
    pub(crate) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        let hurry = self.hurry.as_ref()?;
        tokio::select! {
            biased;
            () = hurry.cancelled() => None,
            // It is never closed.
            taken = Arc::clone(&self.free).acquire_owned() => taken.ok(),
        }
    }
}

impl Db {
    /// The same database for a caller that asks again for a row that others had locked, with a [patience](Db::with_lock_patience):
    /// of all transactions that write a few go at a time, and each hardly waits. Once there is a hurry, none waits for its
    /// turn.
    #[must_use]
    pub fn in_turn(&self, hurry: &CancellationToken) -> Self {
        if self.lock_patience.is_none() {
            return self.clone();
        }
        let turns = Turns { hurry: Some(hurry.clone()), ..self.turns.clone() };
        Self { turns, ..self.with_lock_patience(PATIENCE) }
    }
}
