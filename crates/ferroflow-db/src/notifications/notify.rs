use scoped_futures::ScopedFutureExt as _;
use tokio::sync::broadcast;

use crate::statement::{binds, sql};
use crate::{Db, Dialect, Error, Tx};

/// The channel of PostgreSQL.
pub(crate) const CHANNEL: &str = "ferroflow";

/// How many news are kept for a receiver that is busy. One that misses some gets to know that it did.
const KEPT: usize = 1024;

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A run may start: it was made or queued anew, or a backfill goes on.
    Queued,
    /// The same, where it is known of which DAG.
    QueuedOf {
        /// The DAG.
        dag_id: String,
    },
    /// Something in a run has changed: a task instance, or the run itself.
    Run {
        /// Its DAG.
        dag_id: String,
        /// Its name.
        run_id: String,
    },
    /// A DAG waits for one asset less.
    Assets,
    /// A DAG is new, has changed, is paused or is not any more.
    Dags,
    /// Slots of pools may be free.
    Slots,
    /// A scheduler has ended.
    Schedulers,
    /// A question of a task instance was answered.
    Answers,
    /// Anything: news were lost.
    Missed,
}

/// Receives the notifications of this process.
pub type Receiver = broadcast::Receiver<Notification>;

/// Brings notifications to their receivers.
#[derive(Clone, Debug)]
pub(crate) struct Messenger {
    sender: broadcast::Sender<Notification>,
    /// By which a process knows what it has told itself.
    name: u64,
}

impl Messenger {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(KEPT), name: rand::random() }
    }

    /// Notifies all receivers in this process.
    pub(crate) fn tell(&self, notifications: Notification) {
        // There may be no receiver.
        drop(self.sender.send(notifications));
    }

    pub(super) fn is_own(&self, name: &str) -> bool {
        name == self.name()
    }

    fn name(&self) -> String {
        format!("{:x}", self.name)
    }
}

impl Db {
    /// What is told from now on, by this process and by those that it [listens](listen) to.
    pub fn notifications(&self) -> Receiver {
        self.messenger.sender.subscribe()
    }
}

/// Tells news once the transaction is committed.
pub async fn notify(tx: &mut Tx, notifications: Notification) -> Result<(), Error> {
    if tx.notifications.contains(&notifications) {
        return Ok(());
    }
    send(tx, &notifications).await?;
    tx.notifications.push(notifications);
    Ok(())
}

/// Tells news to other processes, in a transaction of its own. Only PostgreSQL can.
pub async fn notify_others(db: &Db, notifications: &Notification) -> Result<(), Error> {
    if db.dialect() != Dialect::Postgres {
        return Ok(());
    }
    db.transact(|tx| send(tx, notifications).scope_boxed()).await
}

async fn send(tx: &mut Tx, notifications: &Notification) -> Result<(), Error> {
    if tx.dialect() == Dialect::Postgres {
        let payload = payload(&tx.messenger.name(), notifications);
        tx.execute(sql!("notifications/notify"), binds![CHANNEL, payload]).await?;
    }
    Ok(())
}

/// Who tells, what kind of news, and of which DAG or run.
fn payload(from: &str, notifications: &Notification) -> String {
    let mut words = vec![from, kind(notifications)];
    match notifications {
        Notification::QueuedOf { dag_id } => words.push(dag_id),
        Notification::Run { dag_id, run_id } => words.extend([dag_id.as_str(), run_id.as_str()]),
        _ => {}
    }
    serde_json::Value::from(words).to_string()
}

fn kind(notifications: &Notification) -> &'static str {
    match notifications {
        Notification::Queued | Notification::QueuedOf { .. } => "queued",
        Notification::Run { .. } => "run",
        Notification::Assets => "assets",
        Notification::Dags => "dags",
        Notification::Slots => "slots",
        Notification::Schedulers => "schedulers",
        Notification::Answers => "answers",
        Notification::Missed => "missed",
    }
}

/// What a payload says, and who. Something that a newer version tells may be anything.
pub(crate) fn read(payload: &str) -> (String, Notification) {
    let words: Vec<String> = serde_json::from_str(payload).unwrap_or_default();
    let mut words = words.into_iter();
    let from = words.next().unwrap_or_default();
    let notifications = match (words.next().as_deref(), words.next(), words.next()) {
        (Some("queued"), Some(dag_id), _) => Notification::QueuedOf { dag_id },
        (Some("queued"), None, _) => Notification::Queued,
        (Some("run"), Some(dag_id), Some(run_id)) => Notification::Run { dag_id, run_id },
        (Some("assets"), _, _) => Notification::Assets,
        (Some("dags"), _, _) => Notification::Dags,
        (Some("slots"), _, _) => Notification::Slots,
        (Some("schedulers"), _, _) => Notification::Schedulers,
        (Some("answers"), _, _) => Notification::Answers,
        _ => Notification::Missed,
    };
    (from, notifications)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_heard() {
        let run = Notification::Run { dag_id: "a \"b\"".to_owned(), run_id: "c, d".to_owned() };
        let queued = Notification::QueuedOf { dag_id: "a \"b\"".to_owned() };
        let all = [
            Notification::Queued,
            queued,
            run,
            Notification::Assets,
            Notification::Dags,
            Notification::Slots,
            Notification::Schedulers,
        ];
        for notifications in all.into_iter().chain([Notification::Answers]) {
            assert_eq!(read(&payload("7f", &notifications)), ("7f".to_owned(), notifications));
        }
    }

    #[test]
    fn what_cannot_be_understood_may_be_anything() {
        for payload in ["", "7", "[]", "[\"\",\"weather\"]", "[\"\",\"run\",\"dag\"]"] {
            assert_eq!(read(payload), (String::new(), Notification::Missed), "{payload}");
        }
    }
}
