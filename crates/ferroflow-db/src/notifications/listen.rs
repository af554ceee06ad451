//! Notification of other processes, by `LISTEN` of PostgreSQL.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{PgPool, Postgres};

use crate::Db;
use crate::notifications::Notification;
use crate::notifications::notify::{CHANNEL, read};
use crate::transaction::db::Pool;

/// After a lost connection the next one waits so long, and twice as long every time that there is none.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Listens to other processes until it is dropped, on a connection of its own; there is nothing to listen to but on
/// PostgreSQL. Without a connection, news are found later by looking.
pub async fn listen(db: Db) {
    let Pool::Postgres(pool) = &db.pool else { return };
    let mut pause = FIRST_PAUSE;
    loop {
        match connect(pool).await {
            Ok(listener) => {
                pause = FIRST_PAUSE;
                follow(&db, listener).await;
            }
            Err(error) => tracing::debug!(%error, "there is no connection to listen on"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

async fn connect(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    // The pool's own connections grow old and are given back.
    let options = (*pool.connect_options()).clone();
    let alone = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let alone: sqlx::Pool<Postgres> = alone.connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&alone).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// Passes on what is heard until the connection is lost.
async fn follow(db: &Db, mut listener: PgListener) {
    // What was notified before was missed.
    db.messenger.tell(Notification::Missed);
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) => {
                let (from, notifications) = read(notification.payload());
                if !db.messenger.is_own(&from) {
                    db.messenger.tell(notifications);
                }
            }
            Ok(None) => return tracing::warn!("the connection that listens for news is lost"),
            Err(error) => return tracing::warn!(%error, "the connection that listens for news is lost"),
        }
    }
}
