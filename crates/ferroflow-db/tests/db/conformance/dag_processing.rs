//! What the DAG processor does besides storing DAGs: bundles, requests, callbacks, DAGs that are gone.

use ferroflow_db::callback::{self, Callback, ClaimedCallback};
use ferroflow_db::dag::{self, priority_parsing_request as parsing_request};
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, dag_bundle};
use ferroflow_model::id;
use ferroflow_testkit::rows::add_dag;
use ferroflow_testkit::{Server, TestDb};
use jiff::ToSpan as _;

use super::NOW;

ferroflow_testkit::on_every_database!(
    a_callback_is_held_by_one_and_comes_back_only_when_given_back,
    callbacks_are_taken_by_their_weight,
    a_request_is_taken_once_and_only_for_its_bundle,
    a_bundle_is_active_until_it_is_not_configured,
    a_dag_that_was_found_again_is_not_marked_stale,
);

async fn a_callback_is_held_by_one_and_comes_back_only_when_given_back(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    add_callback(&db, "dags", 1).await;
    let bundles = ["dags".to_owned()];
    assert!(is_any(&db, &bundles).await);

    let held = hold(&db, &bundles, 7).await;
    assert_eq!(held.iter().map(ClaimedCallback::job_id).collect::<Vec<_>>(), [Some(7)]);
    assert!(!is_any(&db, &bundles).await);
    assert_eq!(hold(&db, &bundles, 8).await, []);

    let everyone = db.read(|tx| callback::claimed(tx).scope_boxed()).await.unwrap();
    assert_eq!(everyone, held);
    let given = &held[0];
    for expected in [true, false] {
        let released = db.transact(|tx| callback::release(tx, given, "dags").scope_boxed());
        assert_eq!(released.await.unwrap(), expected, "what is not held cannot be given back");
    }
    let held = hold(&db, &bundles, 8).await;
    let (given, taken) = (given, &held[0]);
    let deleted = db.transact(|tx| {
        async move {
                Ok((callback::delete_claimed(tx, given).await?, callback::delete_claimed(tx, taken).await?))
            }
            .scope_boxed()
    });
    assert_eq!(deleted.await.unwrap(), (false, true), "only who holds it removes it");
    assert_eq!(hold(&db, &bundles, 9).await, []);
}

async fn callbacks_are_taken_by_their_weight(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    for (bundle, weight) in [("dags", 1), ("dags", 3), ("other", 9), ("dags", 2)] {
        add_callback(&db, bundle, weight).await;
    }
    let bundles = ["dags".to_owned()];
    let taken = db.transact(|tx| callback::claim(tx, &bundles, 2, 1).scope_boxed()).await.unwrap();
    let weights: Vec<_> = taken.iter().map(|held| held.data.value().unwrap()["weight"].clone()).collect();
    assert_eq!(weights, [3, 2]);
}

/// Servers have no row here that cannot be read.
#[tokio::test]
async fn callbacks_that_cannot_be_read_take_no_place() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    for weight in 1..=4 {
        add_callback(&db, "dags", weight).await;
    }
    for weight in [3, 4] {
        let spoil = format!("UPDATE callback SET id = 'no {weight}' WHERE priority_weight = {weight}");
        database.execute(spoil).await;
    }
    let bundles = ["dags".to_owned()];
    let taken = db.transact(|tx| callback::claim(tx, &bundles, 2, 1).scope_boxed()).await.unwrap();
    assert_eq!(taken.len(), 2);
}

async fn a_request_is_taken_once_and_only_for_its_bundle(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    for (id, bundle) in [("1", "dags"), ("2", "other")] {
        db.transact(|tx| parsing_request::insert(tx, id, bundle, "a.py").scope_boxed()).await.unwrap();
    }
    let bundles = ["dags".to_owned()];
    for expected in [1, 0] {
        let is_any = db.read(|tx| parsing_request::is_any(tx, &bundles).scope_boxed()).await.unwrap();
        assert_eq!(is_any, expected == 1);
        let taken = db.transact(|tx| parsing_request::take(tx, &bundles).scope_boxed()).await.unwrap();
        assert_eq!(taken.len(), expected);
        assert!(
            taken.iter().all(|request| request.bundle_name == "dags" && request.relative_fileloc == "a.py")
        );
    }
}

async fn a_bundle_is_active_until_it_is_not_configured(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let bundles = db
        .transact(|tx| {
            async move {
                let params = Json::from(serde_json::json!({"a": 1}));
                dag_bundle::activate(tx, "dags", None, &params).await?;
                dag_bundle::activate(tx, "dags", Some("signed"), &params).await?;
                dag_bundle::set_refreshed(tx, "dags", Some("v1"), NOW).await?;
                dag_bundle::set_refreshed(tx, "dags", None, NOW + 1.second()).await?;
                assert!(!dag_bundle::set_team(tx, "dags", Some("nobody")).await?, "there is no such team");
                assert!(dag_bundle::set_team(tx, "dags", None).await?);
                let bundles = dag_bundle::list(tx).await?;
                let found = dag_bundle::find(tx, "dags").await?.expect("it is there");
                assert!(found.is_some() && found.as_ref() == bundles.iter().find(|it| it.name == "dags"));
                assert_eq!(dag_bundle::find(tx, "other").await?, None);
                assert!(dag_bundle::deactivate(tx, "dags").await?);
                assert!(!dag_bundle::deactivate(tx, "dags").await?);
                Ok(bundles)
            }
            .scope_boxed()
        })
        .await
        .unwrap();
    let bundle = bundles.iter().find(|bundle| bundle.name == "dags").unwrap();
    assert!(bundle.active);
    assert_eq!(bundle.version.as_deref(), Some("v1"));
    assert_eq!(bundle.last_refreshed, Some(NOW + 1.second()));
    assert_eq!(bundle.signed_url_template.as_deref(), Some("signed"));
}

async fn a_dag_that_was_found_again_is_not_marked_stale(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    db.transact(|tx| {
        async move {
            add_dag(tx, "dag").await?;
            let found = dag::active(tx).await?.into_iter().find(|dag| dag.dag_id == "dag").unwrap();
            let seen_before = dag::FoundDag { last_parsed_time: Some(NOW - 1.hour()), ..found.clone() };
            let has_time = found.last_parsed_time.is_some();
            assert_eq!(dag::set_stale(tx, &seen_before).await?, !has_time);
            assert_eq!(dag::set_stale(tx, &found).await?, has_time);
            assert!(!dag::set_stale(tx, &found).await?, "it is stale already");
            let bundle = found.bundle_name.as_deref().unwrap();
            assert!(dag::active_of_bundle(tx, bundle).await?.is_empty());
            Ok(())
        }
        .scope_boxed()
    })
    .await
    .unwrap();
}

async fn add_callback(db: &Db, bundle: &str, weight: i32) {
    let callback = &Callback {
        id: id::new_v7(NOW, rand::random()),
        callback_type: "dag_processor".to_owned(),
        fetch_method: "dag_attribute".to_owned(),
        data: Json::from(serde_json::json!({"weight": weight})),
        bundle_name: Some(bundle.to_owned()),
        state: None,
        output: None,
        priority_weight: weight,
        created_at: NOW,
        trigger_id: None,
    };
    db.transact(|tx| callback::insert(tx, callback).scope_boxed()).await.unwrap();
}

async fn hold(db: &Db, bundles: &[String], job_id: i64) -> Vec<ClaimedCallback> {
    db.transact(|tx| callback::claim(tx, bundles, 20, job_id).scope_boxed()).await.unwrap()
}

async fn is_any(db: &Db, bundles: &[String]) -> bool {
    async fn any(tx: &mut Tx, bundles: &[String]) -> Result<bool, Error> {
        callback::is_any(tx, bundles).await
    }
    db.read(|tx| any(tx, bundles).scope_boxed()).await.unwrap()
}
