//! The scheduler's part in what its row in `job` says: which runs it looks after.

use ferroflow_db::dag_run::ownership;
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, Error, ScopedFutureExt as _};

/// Leaves its runs to its peers, who look after them at once: this scheduler only waits for tasks to end.
pub(crate) async fn retire(db: &Db, id: i64) -> Result<(), Error> {
    let let_go = db.transact(|tx| {
        async move {
            ownership::release(tx, id).await?;
            notifications::notify(tx, Notification::Schedulers).await
        }
        .scope_boxed()
    });
    let_go.await
}
