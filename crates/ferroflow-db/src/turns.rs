//! Whoever has met a locked row asks for it again in turn.
//!
//! Somebody who locks many rows has as many wait for them. Each of those who waits has a connection that long, and there
//! are few: all else would wait for one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::db::Db;

/// So many ask again at a time.
const AT_A_TIME: usize = 3;

/// Who asks again hardly waits: others are behind it, and it asks once more.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whose turn it is, among all who share a pool.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    /// The turn itself, as long as somebody has it.
    _taken: Option<Arc<OwnedSemaphorePermit>>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(AT_A_TIME)), _taken: None }
    }
}

impl Db {
    /// The same database for whoever asks again for a row that others had locked, with a [patience](Db::with_lock_patience):
    /// a few at a time, and each hardly waits. It is somebody else's turn when this is dropped, so it should not outlive the
    /// question.
    pub async fn in_turn(&self) -> Self {
        if self.lock_patience.is_none() {
            return self.clone();
        }
        // Nobody closes it.
        let taken = Arc::clone(&self.turns.free).acquire_owned().await.ok().map(Arc::new);
        Self { turns: Turns { _taken: taken, ..self.turns.clone() }, ..self.with_lock_patience(PATIENCE) }
    }
}
