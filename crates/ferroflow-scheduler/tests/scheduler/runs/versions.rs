//! Several versions of a DAG at once.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_scheduler::run::Definition;
use ferroflow_testkit::Server;
use jiff::Timestamp;
use serde_json::json;

use crate::runs::place::{Place, Plan, at, daily};

ferroflow_testkit::on_every_database!(
    a_version_that_is_not_the_newest_is_told_beside_one_that_is,
    the_newest_version_is_found_among_many,
);

async fn a_version_that_is_not_the_newest_is_told_beside_one_that_is(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily()), Plan::new("b", daily())]).await;
    let cx = &place.scheduler().await;
    let newest = |dag_id: &'static str| {
        cx.db.read(move |tx| {
            async move { Ok(cx.definitions.newest(tx, dag_id, Timestamp::UNIX_EPOCH).await.unwrap()) }
                .scope_boxed()
        })
    };
    let (old, other) = (newest("a").await.unwrap(), newest("b").await.unwrap());
    place.store_again(&Plan::new("a", daily()).setting("doc_md", json!("new"))).await;
    let new = newest("a").await.unwrap();
    let changed = async |read: &[(&str, &Definition)]| {
        let found =
            cx.db.read(|tx| async move { cx.definitions.changed(tx, read).await }.scope_boxed()).await;
        found.unwrap().into_iter().collect::<Vec<_>>()
    };
    // Runs of one DAG go by different versions for a moment: whichever stands last, the old one counts.
    assert_eq!(changed(&[("a", &*old), ("a", &*new), ("b", &*other)]).await, ["a"]);
    assert_eq!(changed(&[("a", &*new), ("a", &*old)]).await, ["a"]);
    assert!(changed(&[("a", &*new), ("b", &*other)]).await.is_empty());
}

async fn the_newest_version_is_found_among_many(server: Server) {
    let place = Place::new(server, &[Plan::new("a", daily())]).await;
    for number in 0..5 {
        place.store_again(&Plan::new("a", daily()).setting("doc_md", json!(format!("{number}")))).await;
    }
    // One that has no document yet does not count.
    place.store_version_without_document("a").await;
    let cx = &place.scheduler().await;
    let read = cx.db.read(|tx| {
        async move {
            let one = cx.definitions.newest(tx, "a", at("2024-01-02")).await.unwrap();
            let several = cx.definitions.newest_of(tx, &["a", "nothing"], at("2024-01-02")).await.unwrap();
            Ok((one, several))
        }
        .scope_boxed()
    });
    let (one, mut several) = read.await.unwrap();
    assert_eq!(one.dag().doc_md.as_deref(), Some("4"));
    assert_eq!(several.remove("a").unwrap().unwrap().version.id, one.version.id);
    assert!(several.remove("nothing").unwrap().is_err());
}
