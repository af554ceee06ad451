//! What schedulers do from time to time: who has locked a row has it alone, and what has moved on is left alone.

use std::sync::Arc;

use ferroflow_db::callback::due::Move;
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::dag::warning::DagWarning;
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::task_instance::execution::Continuation;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey, orphans, overdue};
use ferroflow_db::trigger::{self, TaskTrigger};
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, asset, audit_log};
use ferroflow_model::id;
use ferroflow_model::outcome::orphan::QueuedBy;
use ferroflow_model::state::{CallbackState, JobState, TaskState};
use ferroflow_testkit::rows::add_dag;
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use serde_json::json;
use uuid::Uuid;

use crate::conformance::{Gate, NOW, add_running_runs};

ferroflow_testkit::on_every_database!(
    a_scheduler_that_was_heard_of_is_not_given_up,
    orphans_are_told_with_the_state_of_their_scheduler,
    what_dags_test_runs_is_an_orphan_when_that_has_ended,
    an_orphan_that_moved_on_is_left_alone,
    notes_count_from_when_a_try_last_ran,
    what_waits_is_shown_to_one_of_two,
    a_trigger_that_is_about_to_be_shared_is_not_removed,
    callbacks_for_executors_are_shown_to_one_of_two,
    a_warning_says_what_it_was_last_told,
);

async fn a_scheduler_that_was_heard_of_is_not_given_up(server: Server) {
    let (_database, db) = connected(server).await;
    let (silent, given_up, again) = db
        .transact(|tx| {
            async move {
                let id = add_job(tx, "SchedulerJob", NOW - 1.minute()).await?;
                add_job(tx, "TriggererJob", NOW - 1.minute()).await?;
                add_job(tx, "SchedulerJob", NOW).await?;
                let silent = job::schedulers::without_heartbeat(tx, NOW - 30.seconds(), NOW).await?;
                job::heartbeat(tx, id, NOW).await?;
                let heard_of = job::schedulers::fail(tx, id, NOW - 30.seconds(), NOW).await?;
                let late = NOW + 30.seconds();
                let given_up = (heard_of, job::schedulers::fail(tx, id, late, NOW).await?);
                Ok((silent, given_up, job::schedulers::fail(tx, id, late, NOW).await?))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0].latest_heartbeat, Some(NOW - 1.minute()));
    assert_eq!((given_up, again), ((false, true), false));
    let ended =
        db.read(|tx| async move { job::schedulers::ended(tx, NOW).await }.scope_boxed()).await.unwrap();
    assert_eq!(ended, [silent[0].id]);
}

async fn orphans_are_told_with_the_state_of_their_scheduler(server: Server) {
    let (_database, db) = connected(server).await;
    add_running_runs(&db, 1).await;
    let found = db
        .transact(|tx| {
            async move {
                let lives = add_job(tx, "SchedulerJob", NOW).await?;
                let ended = add_job(tx, "SchedulerJob", NOW).await?;
                job::finish(tx, ended, JobState::Success, NOW).await?;
                for (task, job_id) in [("a", Some(lives)), ("b", Some(ended)), ("c", Some(4711)), ("d", None)]
                {
                    add(tx, task, |instance| {
                        instance.state = Some(TaskState::Queued);
                        instance.queued_by_job_id = job_id;
                    })
                    .await?;
                }
                Ok(orphans::find(tx, Uuid::nil(), 10).await?.found)
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let mut told: Vec<_> = found.iter().map(|one| (one.key.task_id.as_str(), one.row.queued_by)).collect();
    told.sort_by_key(|(task, _)| *task);
    assert_eq!(told, [("b", QueuedBy::Job(Some(JobState::Success))), ("c", QueuedBy::Deleted)]);
    let last = found.last().unwrap().id;
    let none = db.read(|tx| async move { orphans::find(tx, last, 10).await }.scope_boxed()).await.unwrap();
    assert_eq!((none.found, none.next), (vec![], None));
}

async fn what_dags_test_runs_is_an_orphan_when_that_has_ended(server: Server) {
    let (_database, db) = connected(server).await;
    add_running_runs(&db, 1).await;
    let done = db.transact(|tx| {
        async move {
            let lives = add_job(tx, "DagTestJob", NOW).await?;
            let ended = add_job(tx, "DagTestJob", NOW).await?;
            job::finish(tx, ended, JobState::Failed, NOW).await?;
            let other = add_job(tx, "TriggererJob", NOW).await?;
            let mut ids = Vec::new();
            for (task, job_id) in [("a", lives), ("b", ended), ("c", other)] {
                let instance = add(tx, task, |instance| {
                    instance.state = Some(TaskState::Running);
                    instance.queued_by_job_id = Some(job_id);
                });
                ids.push(instance.await?.id);
            }
            Ok((orphans::find(tx, Uuid::nil(), 10).await?.found, orphans::lock(tx, &ids).await?))
        }
        .scope_boxed()
    });
    let (found, locked) = done.await.unwrap();
    let mut found: Vec<_> = found.iter().map(|one| one.key.task_id.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["b", "c"]);
    let mut locked: Vec<_> = locked.iter().map(|one| (one.key.task_id.as_str(), one.row.queued_by)).collect();
    locked.sort_by_key(|(task, _)| *task);
    let of = |task, state| (task, QueuedBy::Job(state));
    assert_eq!(locked, [of("a", Some(JobState::Running)), of("b", Some(JobState::Failed)), of("c", None)]);
}

async fn an_orphan_that_moved_on_is_left_alone(server: Server) {
    let (_database, db) = connected(server).await;
    add_running_runs(&db, 1).await;
    let done = db.transact(|tx| {
        async move {
            let mut instance = add(tx, "a", |instance| {
                instance.state = Some(TaskState::Queued);
                instance.queued_by_job_id = Some(7);
            })
            .await?;
            let seen = orphans::lock(tx, &[instance.id]).await?.remove(0);
            let adopted = orphans::adopt(tx, &seen, 8, NOW).await?;
            let twice = orphans::adopt(tx, &seen, 9, NOW).await?;
            let reset = orphans::reset(tx, &instance, Some(7), Uuid::from_u128(1), NOW).await?;
            instance.queued_by_job_id = Some(8);
            let by_owner = orphans::reset(tx, &instance, Some(7), Uuid::from_u128(1), NOW).await?;
            Ok((adopted, twice, reset, by_owner, task_instance::find(tx, Uuid::from_u128(1)).await?))
        }
        .scope_boxed()
    });
    let (adopted, twice, reset, by_owner, anew) = done.await.unwrap();
    assert_eq!((adopted, twice, reset, by_owner), (true, false, false, true));
    let anew = anew.unwrap();
    assert_eq!((anew.state, anew.queued_by_job_id), (None, None));
}

async fn notes_count_from_when_a_try_last_ran(server: Server) {
    let (_database, db) = connected(server).await;
    let counts = db
        .transact(|tx| {
            async move {
                let key = key("a");
                let note = async |tx: &mut Tx, event: &str, try_number, at| {
                    let entry = audit_log::AuditEntry {
                        dttm: Some(at),
                        event: event.to_owned(),
                        dag_id: Some(key.dag_id.clone()),
                        run_id: Some(key.run_id.clone()),
                        task_id: Some(key.task_id.clone()),
                        map_index: Some(key.map_index),
                        try_number: Some(try_number),
                        logical_date: None,
                        owner: None,
                        owner_display_name: None,
                        extra: None,
                    };
                    audit_log::insert(tx, &entry).await
                };
                note(tx, "stuck", 1, NOW).await?;
                note(tx, "stuck", 1, NOW + 2.seconds()).await?;
                note(tx, "stuck", 2, NOW + 2.seconds()).await?;
                let before = overdue::count_events(tx, &key, 1, "stuck").await?;
                note(tx, "running", 1, NOW + 1.second()).await?;
                let after = overdue::count_events(tx, &key, 1, "stuck").await?;
                Ok((before, after, overdue::count_events(tx, &key, 3, "stuck").await?))
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(counts, (2, 1, 0));
}

async fn what_waits_is_shown_to_one_of_two(server: Server) {
    let (_database, db) = connected(server).await;
    add_running_runs(&db, 1).await;
    let added = db.transact(|tx| {
        async move {
            add(tx, "a", |instance| {
                instance.state = Some(TaskState::Deferred);
                instance.trigger_timeout = Some(NOW - 1.second());
            })
            .await
        }
        .scope_boxed()
    });
    let id = added.await.unwrap().id;
    let look = |db: Db, gate: Option<Arc<Gate>>| async move {
        let gate = gate.as_deref();
        let shown = db.transact(|tx| {
            async move {
                let shown = overdue::lock_waiting(tx, TaskState::Deferred, NOW, Uuid::nil(), 10).await?.found;
                if let Some(gate) = gate {
                    gate.pass().await;
                }
                let ids: Vec<Uuid> = shown.iter().map(|one| one.id).collect();
                let kwargs = Json::from(json!({}));
                let next = Continuation { method: "__fail__", kwargs: &kwargs };
                overdue::resume_timed_out(tx, &ids, TaskState::Deferred, next, NOW).await?;
                Ok(ids)
            }
            .scope_boxed()
        });
        shown.await.unwrap()
    };
    assert_eq!(shown_to_both(server, &db, look).await, (vec![id], vec![]));
}

/// What a transaction is shown that waits in the middle, and what another is that runs meanwhile. SQLite has one writer:
/// there the other one comes afterwards.
async fn shown_to_both<T, F>(server: Server, db: &Db, look: impl Fn(Db, Option<Arc<Gate>>) -> F) -> (T, T)
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    if server == Server::Sqlite {
        return (look(db.clone(), None).await, look(db.clone(), None).await);
    }
    let gate = Arc::new(Gate::default());
    let first = tokio::spawn(look(db.clone(), Some(Arc::clone(&gate))));
    gate.reached().await;
    let second = look(db.clone(), None).await;
    gate.open();
    (first.await.unwrap(), second)
}

async fn a_trigger_that_is_about_to_be_shared_is_not_removed(server: Server) {
    let (_database, db) = connected(server).await;
    let added = db.transact(|tx| {
        async move {
            let new = TaskTrigger { classpath: "a.Trigger", kwargs: "{}", queue: None, team_name: None };
            trigger::insert_for_task(tx, &new, NOW).await
        }
        .scope_boxed()
    });
    let id = added.await.unwrap();
    let sweep = |db: Db| async move {
        let swept = db
            .transact(|tx| async move { trigger::unreferenced::sweep(tx, 0, 10).await }.scope_boxed())
            .await;
        swept.unwrap().removed
    };
    if server != Server::Sqlite {
        let gate = Arc::new(Gate::default());
        let (other, waits) = (db.clone(), Arc::clone(&gate));
        let shares = tokio::spawn(async move {
            let gate = &*waits;
            let shared = other.transact(|tx| {
                async move {
                    let is_locked = trigger::lock(tx, id).await?;
                    gate.pass().await;
                    Ok(is_locked)
                }
                .scope_boxed()
            });
            shared.await.unwrap()
        });
        gate.reached().await;
        assert_eq!(sweep(db.clone()).await, 0);
        gate.open();
        assert!(shares.await.unwrap());
    }
    assert_eq!((sweep(db.clone()).await, sweep(db).await), (1, 0));
}

async fn callbacks_for_executors_are_shown_to_one_of_two(server: Server) {
    let (_database, db) = connected(server).await;
    let new = &Callback {
        id: Uuid::from_u128(7),
        callback_type: "executor".to_owned(),
        fetch_method: "import_path".to_owned(),
        data: Json::from(json!({})),
        bundle_name: None,
        state: Some(CallbackState::Pending),
        output: None,
        priority_weight: 1,
        created_at: NOW,
        trigger_id: None,
    };
    db.transact(|tx| async move { callback::insert(tx, new).await }.scope_boxed()).await.unwrap();
    let look = |db: Db, gate: Option<Arc<Gate>>| async move {
        let gate = gate.as_deref();
        let shown = db.transact(|tx| {
            async move {
                let shown = callback::due::lock_pending(tx, 10).await?;
                if let Some(gate) = gate {
                    gate.pass().await;
                }
                for one in &shown {
                    let to = Move {
                        state: CallbackState::Queued,
                        data: one.data.clone(),
                        trigger_id: None,
                        output: None,
                    };
                    assert!(callback::due::set_state(tx, one.id, one.state, &to).await?);
                    assert!(
                        !callback::due::set_state(tx, one.id, one.state, &to).await?,
                        "it has left its state"
                    );
                }
                Ok(shown.len())
            }
            .scope_boxed()
        });
        shown.await.unwrap()
    };
    assert_eq!(shown_to_both(server, &db, look).await, (1, 0));
}

async fn a_warning_says_what_it_was_last_told(server: Server) {
    let (_database, db) = connected(server).await;
    let told = db
        .transact(|tx| {
            async move {
                add_dag(tx, "dag").await?;
                for message in ["one", "two"] {
                    let warning = DagWarning {
                        dag_id: "dag".to_owned(),
                        warning_type: "asset conflict".to_owned(),
                        message: message.to_owned(),
                    };
                    asset::orphans::warn(tx, &warning, NOW).await?;
                }
                asset::orphans::warnings(tx, "asset conflict").await
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    assert_eq!(told.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>(), ["two"]);
}

async fn connected(server: Server) -> (TestDb, Db) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    (database, db)
}

async fn add_job(tx: &mut Tx, job_type: &str, heartbeat: Timestamp) -> Result<i64, Error> {
    let new = NewJob {
        job_type: job_type.to_owned(),
        hostname: "host".to_owned(),
        unixname: "somebody".to_owned(),
        executor_class: None,
    };
    job::insert(tx, &new, heartbeat).await
}

fn key(task_id: &str) -> TaskInstanceKey {
    TaskInstanceKey {
        dag_id: "dag".to_owned(),
        run_id: "run 0".to_owned(),
        task_id: task_id.to_owned(),
        map_index: -1,
    }
}

async fn add(
    tx: &mut Tx,
    task_id: &str,
    change: impl FnOnce(&mut TaskInstance) + Send,
) -> Result<TaskInstance, Error> {
    let mut instance = TaskInstance::new(id::new_v7(NOW, rand::random()), key(task_id), NOW);
    change(&mut instance);
    task_instance::insert(tx, &instance).await?;
    Ok(instance)
}
