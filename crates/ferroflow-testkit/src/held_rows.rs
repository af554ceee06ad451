//! Rows that another transaction has locked.

use std::sync::Arc;

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::task_instance::queueing;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::TestDb;

/// A transaction on a connection of its own that has locked rows of task instances until it is told to let go.
pub struct HeldRows {
    may_end: Arc<Notify>,
    holder: JoinHandle<()>,
}

impl HeldRows {
    /// Locks the rows under these ids.
    pub async fn of(database: &TestDb, ids: Vec<Uuid>) -> Self {
        let (is_locked, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (other, locked, end) = (database.connect().await, Arc::clone(&is_locked), Arc::clone(&may_end));
        let holder = tokio::spawn(async move {
            let (locked, end, ids) = (&locked, &end, &ids);
            let held = other.transact(|tx| {
                async move {
                    // Whoever has one of them for a moment is waited for.
                    while queueing::lock(tx, ids).await?.len() < ids.len() {
                        tokio::task::yield_now().await;
                    }
                    locked.notify_one();
                    end.notified().await;
                    Ok(())
                }
                .scope_boxed()
            });
            held.await.expect("nobody keeps a test from locking rows");
            other.close().await;
        });
        is_locked.notified().await;
        Self { may_end, holder }
    }

    /// Lets go of all of them.
    pub async fn let_go(self) {
        self.may_end.notify_one();
        self.holder.await.expect("the transaction that holds rows ends");
    }
}
