//! One row that cannot be read is left out of a list, and told of; the others are there.

use ferroflow_db::asset::registration;
use ferroflow_db::dag_run::ownership;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey, orphans};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_model::id;
use ferroflow_testkit::rows::add_dag;
use ferroflow_testkit::{Server, TestDb};
use uuid::Uuid;

use crate::conformance::{NOW, add_running_runs};

ferroflow_testkit::on_every_database!(
    a_changed_instance_that_cannot_be_read_hides_no_other,
    a_listener_that_cannot_be_read_hides_no_other,
);

async fn a_changed_instance_that_cannot_be_read_hides_no_other(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    add_running_runs(&db, 1).await;
    let ids = &add_instances(&db, &["good", "spoilt"]).await;
    database.execute("UPDATE task_instance SET state = 'shutdown' WHERE task_id = 'spoilt'").await;
    let found = db.read(|tx| async move { ownership::changed_some(tx, ids, NOW).await }.scope_boxed());
    let found: Vec<String> = found.await.unwrap().into_iter().map(|(_, row)| row.task_id).collect();
    assert_eq!(found, ["good"]);
    assert_eq!(told(&db), [("task_instance", "state")]);
}

async fn a_listener_that_cannot_be_read_hides_no_other(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let added = db.transact(|tx| {
        async move {
            add_dag(tx, "good").await?;
            add_dag(tx, "spoilt").await
        }
        .scope_boxed()
    });
    added.await.unwrap();
    let group = if server == Server::MariaDb { "`group`" } else { "\"group\"" };
    let time = "'2027-01-15 08:00:00'";
    let mut statements = vec![format!(
        "INSERT INTO asset (id, name, uri, {group}, extra, created_at, updated_at) VALUES (1, 'x', 'x', '', '{{}}', \
         {time}, {time})"
    )];
    statements.extend([("good", "[\"team\"]"), ("spoilt", "{}")].map(|(dag_id, teams)| {
        format!(
            "INSERT INTO dag_schedule_asset_reference (asset_id, dag_id, created_at, updated_at, \
             allow_producer_teams, allow_global_producers) VALUES (1, '{dag_id}', {time}, {time}, '{teams}', true)"
        )
    }));
    for statement in statements {
        database.execute(statement).await;
    }
    let found =
        db.read(|tx| async move { registration::listeners(tx, 1, ("x", "x"), &[]).await }.scope_boxed());
    let found = found.await.unwrap();
    assert_eq!(found.iter().map(|one| one.dag_id.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(told(&db), [("asset_reference", "allow_producer_teams")]);
}

/// Servers have no row with columns like these that cannot be read.
#[tokio::test]
async fn behind_a_page_that_cannot_be_read_there_is_another() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    add_running_runs(&db, 1).await;
    let mut ids = add_instances(&db, &["a", "b", "c"]).await;
    ids.sort_unstable();
    database.execute("UPDATE task_instance SET state = 'queued', queued_by_job_id = 4711").await;
    for id in &ids[..2] {
        let id = id.simple();
        database.execute(format!("UPDATE task_instance SET map_index = 'many' WHERE id = '{id}'")).await;
    }
    let page = |after| {
        let db = db.clone();
        async move { db.read(|tx| async move { orphans::find(tx, after, 2).await }.scope_boxed()).await.unwrap() }
    };
    let first = page(Uuid::nil()).await;
    assert_eq!((first.found, first.next), (vec![], Some(ids[1])));
    let second = page(ids[1]).await;
    assert_eq!(second.found.iter().map(|one| one.id).collect::<Vec<_>>(), ids[2..]);
    assert_eq!(second.next, None);
    assert_eq!(told(&db), [("task_instance", "map_index"); 2]);
}

async fn add_instances(db: &Db, tasks: &[&str]) -> Vec<Uuid> {
    let added = db.transact(|tx| {
        async move {
            let mut ids = Vec::new();
            for task_id in tasks {
                let key = TaskInstanceKey {
                    dag_id: "dag".to_owned(),
                    run_id: "run 0".to_owned(),
                    task_id: (*task_id).to_owned(),
                    map_index: -1,
                };
                let instance = TaskInstance::new(id::new_v7(NOW, rand::random()), key, NOW);
                task_instance::insert(tx, &instance).await?;
                ids.push(instance.id);
            }
            Ok(ids)
        }
        .scope_boxed()
    });
    added.await.unwrap()
}

/// The tables and the columns that are told of.
fn told(db: &Db) -> Vec<(&'static str, &'static str)> {
    db.unreadable().take().iter().map(|bad| (bad.table(), bad.column)).collect()
}
