//! The rows of callbacks: taken, given back and removed, each by itself. One that is locked, or that the database refuses,
//! keeps no other.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ferroflow_db::callback::{self, ClaimedCallback};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, job};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::signed;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::Error;
use crate::callbacks::{Callback, read};
use crate::context::Context;

/// What this processor holds, as far as it knows.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) job_id: i64,
    pub(crate) ids: HashSet<Uuid>,
    /// Whether nothing is being taken: then rows of its job that it does not know belong to no processor.
    pub(crate) is_all: bool,
}

/// Callbacks that were taken.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) callbacks: Vec<Callback>,
    /// Those that could never be run.
    pub(crate) unreadable: Vec<ClaimedCallback>,
}

/// Takes callbacks of these bundles.
pub(crate) async fn take(cx: &Context, bundles: &[String], limit: u32, job_id: i64) -> Result<Taken, Error> {
    let held =
        cx.db.transact(|tx| async move { callback::claim(tx, bundles, limit, job_id).await }.scope_boxed());
    let mut taken = Taken::default();
    for held in held.await? {
        match read(&held.data) {
            Ok(request) => taken.callbacks.push(Callback { held, request }),
            Err(reason) => {
                tracing::error!(id = %held.id, "a callback cannot be read and is dropped: {reason}");
                taken.unreadable.push(held);
            }
        }
    }
    Ok(taken)
}

/// Removes a callback that was run, or never will be. However long the database does not let it: no other would, as long
/// as this process lives.
pub(crate) async fn remove(cx: &Context, held: &ClaimedCallback) {
    const MAX_PAUSE: Duration = Duration::from_mins(5);
    let mut pause = Duration::from_secs(5);
    loop {
        let Err(error) = delete(cx, held).await else { return };
        tracing::error!(id = %held.id, "a callback that was run cannot be removed: {}", chain(&error));
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(MAX_PAUSE);
    }
}

/// Removes a callback if the database lets it.
pub(crate) async fn delete(cx: &Context, held: &ClaimedCallback) -> Result<(), Error> {
    let deleted = cx.db.transact(|tx| async move { callback::delete_claimed(tx, held).await }.scope_boxed());
    Ok(deleted.await.map(drop)?)
}

/// Gives callbacks back that were not run. Returns how many.
pub(crate) async fn give_back(cx: &Context, held: &[ClaimedCallback]) -> Result<usize, Error> {
    let (given, in_the_way) = cx.db.transact_in_parts(|tx| release(tx, held).scope_boxed()).await?;
    for (id, error) in in_the_way {
        tracing::error!(%id, "a callback cannot be given back now: {}", chain(&error));
    }
    Ok(given)
}

/// Gives all back that this processor holds, whether it knows or not, but for those that were run: it ends.
pub(crate) async fn give_all_back(cx: &Context, own: &Held, were_run: &HashSet<Uuid>) -> Result<(), Error> {
    let mut held = cx.db.read(|tx| callback::claimed(tx).scope_boxed()).await?;
    held.retain(|held| {
        (held.job_id() == Some(own.job_id) || own.ids.contains(&held.id)) && !were_run.contains(&held.id)
    });
    if !held.is_empty() {
        give_back(cx, &held).await?;
    }
    Ok(())
}

/// Gives back what processors hold that are dead, and what this one holds without knowing: the connection was lost when it
/// took it or gave it back, say. Returns how many callbacks that were.
pub(crate) async fn rescue(cx: &Context, own: &Held, now: Timestamp) -> Result<usize, Error> {
    let patience = signed(cx.settings.dag_processor.health_check_threshold);
    let of_the_dead = cx.db.read(|tx| of_the_dead(tx, own, patience, now).scope_boxed()).await?;
    if of_the_dead.is_empty() {
        return Ok(0);
    }
    let rescued = give_back(cx, &of_the_dead).await?;
    if rescued > 0 {
        tracing::warn!(callbacks = rescued, "callbacks that no child runs are given back");
    }
    Ok(rescued)
}

async fn of_the_dead(
    tx: &mut Tx,
    own: &Held,
    patience: SignedDuration,
    now: Timestamp,
) -> Result<Vec<ClaimedCallback>, DbError> {
    let mut is_alive = HashMap::from([(own.job_id, !own.is_all)]);
    let mut of_the_dead = Vec::new();
    for held in callback::claimed(tx).await? {
        let Some(holder) = held.job_id().filter(|_| !own.ids.contains(&held.id)) else { continue };
        let lives = if let Some(lives) = is_alive.get(&holder) {
            *lives
        } else {
            // One whose row cannot be read shows no sign of life.
            let found = job::find(tx, holder).await;
            tx.unreadable().or_note(found)?.flatten().is_some_and(|job| job.is_alive(now, patience))
        };
        is_alive.insert(holder, lives);
        if !lives {
            of_the_dead.push(held);
        }
    }
    Ok(of_the_dead)
}

async fn release(tx: &mut Tx, all: &[ClaimedCallback]) -> Result<(usize, Vec<(Uuid, DbError)>), DbError> {
    let (mut released, mut in_the_way) = (0, Vec::new());
    for held in all {
        tx.begin_part().await?;
        let done = match read(&held.data) {
            Ok(request) => callback::release(tx, held, &request.bundle_name).await,
            // It could never be run.
            Err(_) => callback::delete_claimed(tx, held).await.map(|_| false),
        };
        match tx.end_part(done).await? {
            Ok(is_released) => released += usize::from(is_released),
            Err(error) => in_the_way.push((held.id, error)),
        }
    }
    Ok((released, in_the_way))
}

#[cfg(test)]
mod tests {
    use ferroflow_db::callback::Callback as Row;
    use ferroflow_db::job::NewJob;
    use ferroflow_db::testing::texts;
    use ferroflow_model::Json;
    use ferroflow_testkit::TestDb;

    use super::*;
    use crate::context::without_python;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    /// A database with callbacks, and a processor without Python.
    struct Place {
        database: TestDb,
        cx: Context,
    }

    impl Place {
        async fn new() -> Self {
            let (database, cx) = without_python().await;
            Self { database, cx }
        }

        async fn add(&self, id: u128, bundle: &str, is_readable: bool) {
            let request = r#"{"filepath": "a.py", "bundle_name": "main", "bundle_version": null}"#;
            let data =
                if is_readable { serde_json::json!({"req_data": request}) } else { serde_json::json!({}) };
            let row = &Row {
                id: Uuid::from_u128(id),
                callback_type: "dag_processor".to_owned(),
                fetch_method: "dag_attribute".to_owned(),
                data: Json::from(data),
                bundle_name: Some(bundle.to_owned()),
                state: None,
                output: None,
                priority_weight: 1,
                created_at: NOW,
                trigger_id: None,
            };
            let insert =
                self.cx.db.transact(|tx| async move { callback::insert(tx, row).await }.scope_boxed());
            insert.await.unwrap();
        }

        /// Whatever would be done to the row is refused.
        async fn refuse(&self, id: u128) {
            let id = format!("OLD.id IN ('{0}', '{1}')", Uuid::from_u128(id), Uuid::from_u128(id).simple());
            for what in ["UPDATE", "DELETE"] {
                let name = format!("refusal_of_{what}");
                let refuses = "SELECT RAISE(ABORT, 'not this one')";
                let trigger =
                    format!("CREATE TRIGGER {name} BEFORE {what} ON callback WHEN {id} BEGIN {refuses}; END");
                self.database.execute(trigger).await;
            }
        }

        async fn bundles(&self) -> Vec<String> {
            texts(&self.cx.db, "SELECT bundle_name AS answer FROM callback ORDER BY id").await.unwrap()
        }
    }

    fn held(job_id: i64, ids: &[u128], is_all: bool) -> Held {
        Held { job_id, ids: ids.iter().map(|id| Uuid::from_u128(*id)).collect(), is_all }
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_given_back_keeps_no_other_from_it() {
        let place = Place::new().await;
        let job = &NewJob {
            job_type: "DagProcessorJob".to_owned(),
            hostname: "other".to_owned(),
            unixname: "somebody".to_owned(),
            executor_class: None,
        };
        let begin =
            |at| place.cx.db.transact(move |tx| async move { job::insert(tx, job, at).await }.scope_boxed());
        // Its clock is ahead.
        let living = begin(NOW + SignedDuration::from_hours(1)).await.unwrap();
        let ahead = begin(NOW + SignedDuration::from_hours(73)).await.unwrap();
        let alive = format!("ferroflow:{living}:main");
        place.add(1, "ferroflow:99:main", true).await;
        place.add(2, "ferroflow:99:main", true).await;
        place.add(3, &format!("ferroflow:{ahead}:main"), true).await;
        place.add(4, &alive, true).await;
        place.add(5, "ferroflow:99:main", false).await;
        place.refuse(1).await;
        let rescued = rescue(&place.cx, &held(7, &[], true), NOW).await.unwrap();
        assert_eq!(rescued, 2);
        assert_eq!(place.bundles().await, ["ferroflow:99:main", "main", "main", &alive]);
    }

    #[tokio::test]
    async fn who_ends_gives_all_back_that_was_not_run() {
        let place = Place::new().await;
        for (id, holder) in [(1, "ferroflow:7:main"), (2, "ferroflow:7:main"), (3, "ferroflow:7:main")] {
            place.add(id, holder, true).await;
        }
        place.add(4, "ferroflow:6:main", true).await;
        place.add(5, "ferroflow:8:main", true).await;
        place.refuse(1).await;
        let were_run = HashSet::from([Uuid::from_u128(3)]);
        give_all_back(&place.cx, &held(7, &[4], false), &were_run).await.unwrap();
        let expected = ["ferroflow:7:main", "main", "ferroflow:7:main", "main", "ferroflow:8:main"];
        assert_eq!(place.bundles().await, expected);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_taken_apart() {
        let place = Place::new().await;
        for (id, is_readable) in [(1, false), (2, true)] {
            place.add(id, "main", is_readable).await;
        }
        let taken = take(&place.cx, &["main".to_owned()], 10, 7).await.unwrap();
        assert_eq!((taken.callbacks.len(), taken.unreadable.len()), (1, 1));
        remove(&place.cx, &taken.unreadable[0]).await;
        assert_eq!(place.bundles().await, ["ferroflow:7:main"]);
    }

    #[tokio::test]
    async fn a_command_does_not_wait_for_a_row_that_cannot_be_removed() {
        let place = Place::new().await;
        place.add(1, "main", true).await;
        let held = take(&place.cx, &["main".to_owned()], 10, 7).await.unwrap().callbacks.remove(0).held;
        place.refuse(1).await;
        assert!(delete(&place.cx, &held).await.is_err());
    }
}
