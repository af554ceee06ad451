//! What a scheduler writes of task instances.

use ferroflow_db::task_instance::queueing;
use ferroflow_db::task_instance::scheduling::{self, TriggerWait};
use ferroflow_db::trigger::{self, TaskTrigger};
use ferroflow_db::{Db, Dialect, Error, ScopedFutureExt as _, Tx, pool};
use ferroflow_model::state::TaskState;
use ferroflow_testkit::rows::add_dag;
use uuid::Uuid;

use super::{add, key, running, stored, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { moved(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { queued(tx).await }.scope_boxed()).await;
    if db.dialect() == Dialect::Postgres {
        // The second to come for the pools asks whether there are any.
        within(db, |tx| {
            async move {
                assert!(pool::lock_all(tx).await?.is_some());
                let second = db.transact(|tx| async move { pool::lock_all(tx).await }.scope_boxed());
                assert!(second.await?.is_none());
                Ok(())
            }
            .scope_boxed()
        })
        .await;
    }
}

async fn waiting(tx: &mut Tx, task: &str) -> Result<Uuid, Error> {
    Ok(add(tx, key("scheduled", "run", task), |_| ()).await?.id)
}

async fn moved(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "scheduled").await?;
    running(tx, "scheduled", "run", 0).await?;
    let id = waiting(tx, "one").await?;
    assert_eq!(scheduling::schedule(tx, &[id], None, true, NOW).await?, 1);
    let id = waiting(tx, "empty").await?;
    assert_eq!(scheduling::succeed_at_once(tx, &[id], None, NOW).await?, 1);
    let id = waiting(tx, "settled").await?;
    assert_eq!(scheduling::finish_at_once(tx, &[id], (None, TaskState::Skipped), (NOW, NOW), NOW).await?, 1);
    assert_eq!(
        scheduling::overwrite(tx, &[id], (Some(TaskState::Skipped), TaskState::Failed), NOW).await?,
        1
    );
    let id = waiting(tx, "mapped").await?;
    assert_eq!(scheduling::become_first(tx, id, None, NOW).await?, 1);
    let id = waiting(tx, "deferred").await?;
    let trigger = TaskTrigger { classpath: "a.Trigger", kwargs: "{}", queue: None, team_name: None };
    let wait = TriggerWait {
        trigger_id: trigger::insert_for_task(tx, &trigger, NOW).await?,
        timeout: Some(NOW),
        next_method: "resume".to_owned(),
        next_kwargs: stored!({}),
    };
    assert_eq!(scheduling::defer_at_once(tx, id, None, true, &wait, NOW).await?, 1);
    Ok(())
}

async fn queued(tx: &mut Tx) -> Result<(), Error> {
    let (one, named) = (waiting(tx, "queued").await?, waiting(tx, "named").await?);
    scheduling::schedule(tx, &[one, named], None, true, NOW).await?;
    assert!(pool::lock_all(tx).await?.is_some());
    assert_eq!(scheduling::queue(tx, &[one], None, NOW).await?, 1);
    assert_eq!(scheduling::queue_named(tx, named, None, "name", NOW).await?, 1);
    assert_eq!(queueing::fail_scheduled_of_dag(tx, "scheduled", NOW).await?, 1);
    Ok(())
}
