//! Assets, their aliases, references, events, watchers and partitions.

use ferroflow_db::asset::event::Window;
use ferroflow_db::asset::list::{self, Which};
use ferroflow_db::asset::registration::{self, NewEvent};
use ferroflow_db::asset::{
    self, active, alias, dag_run_queue, event, orphans, reference, state_store, triggered_runs, watcher,
};
use ferroflow_db::asset_partition_dag_run::{self, Arrival, pending};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Error, ScopedFutureExt as _, Tx, dag, trigger};
use ferroflow_model::asset::{Asset, AssetAlias};
use ferroflow_model::runs::events::EventWindow;
use ferroflow_model::stored_assets::{Access, EventTrigger, Reference, WantedWatcher};
use ferroflow_testkit::rows::{a_dag, add_dag, add_run};
use jiff::ToSpan as _;
use serde_json::json;

use super::{key, stored, within};
use crate::conformance::NOW;

pub(super) async fn run(db: &Db) {
    within(db, |tx| async move { referred_to(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { changed(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { queued(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { watched(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { kept(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { partitions(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { forgotten(tx).await }.scope_boxed()).await;
}

fn asset(name: &str) -> Asset {
    Asset {
        name: name.to_owned(),
        uri: format!("x://{name}"),
        group: "asset".to_owned(),
        extra: stored!({}),
        watchers: Vec::new(),
        access_control: None,
    }
}

/// Every way in which a DAG can refer to assets.
pub(super) fn references(dag_id: &str, asset_id: i64, alias_id: i64) -> [Reference; 6] {
    let [dag_id, task_id] = [dag_id, "task"].map(str::to_owned);
    let (name, uri) = ("one".to_owned(), "x://one".to_owned());
    [
        Reference::Schedule { dag_id: dag_id.clone(), asset_id },
        Reference::ScheduleAlias { dag_id: dag_id.clone(), alias_id },
        Reference::ScheduleName { dag_id: dag_id.clone(), name },
        Reference::ScheduleUri { dag_id: dag_id.clone(), uri },
        Reference::Inlet { dag_id: dag_id.clone(), task_id: task_id.clone(), asset_id },
        Reference::Outlet { dag_id, task_id, asset_id },
    ]
}

pub(super) async fn ids(tx: &mut Tx) -> Result<(i64, i64), Error> {
    let alias = AssetAlias { name: "alias".to_owned(), group: "asset".to_owned() };
    let asset = asset::insert_if_missing(tx, &asset("one"), NOW).await?.id;
    Ok((asset, alias::insert_if_missing(tx, &alias).await?.id))
}

async fn referred_to(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "consumer").await?;
    let (asset_id, alias_id) = ids(tx).await?;
    asset::update(tx, asset_id, &Asset { group: "changed".to_owned(), ..asset("one") }, NOW).await?;
    alias::update(tx, alias_id, &AssetAlias { name: "alias".to_owned(), group: "changed".to_owned() })
        .await?;
    assert_eq!(alias::find_by_names(tx, &["alias"]).await?[0].group, "changed");
    for reference in references("consumer", asset_id, alias_id) {
        reference::insert(tx, &reference, &Access::ANYBODY, NOW).await?;
        reference::update(tx, &reference, &Access { allow_global: false, ..Access::ANYBODY }, NOW).await?;
    }
    reference::set_expression(tx, "consumer", Some(stored!({"asset": "one"}))).await?;
    let found = reference::find_by_dags(tx, &["consumer"]).await?;
    assert_eq!((found.references.len(), found.expressions.len()), (6, 1));
    assert_eq!(orphans::waiting(tx).await?.len(), 1, "it is referred to, and not active");
    active::insert_unless_claimed(tx, ("one", "x://one")).await?;
    assert_eq!(orphans::claims(tx, &[("one", "x://other")]).await?.len(), 1);
    assert_eq!(asset::find_by_names(tx, &["one"]).await?[0].id, asset_id);
    assert_eq!(asset::active_by_name(tx, "one").await?.unwrap().0, asset_id);
    assert_eq!(asset::active_by_uri(tx, "x://one").await?.unwrap().0, asset_id);
    assert_eq!(asset::watchable(tx, &[asset_id]).await?, [asset_id]);
    asset::insert_if_missing(tx, &asset("idle"), NOW).await?;
    active::insert_unless_claimed(tx, ("idle", "x://idle")).await?;
    let idle = orphans::unreferenced(tx, 0, 10).await?.found.remove(0);
    assert_eq!(idle.name, "idle");
    assert!(orphans::retire(tx, &idle).await?);
    Ok(())
}

async fn changed(tx: &mut Tx) -> Result<(), Error> {
    let (asset_id, alias_id) = ids(tx).await?;
    let window = |ascending| Window { after: None, before: None, limit: None, ascending };
    assert_eq!(registration::active(tx, &["one"], &[]).await?.len(), 1);
    assert_eq!(registration::active_keys(tx, &["one"]).await?.len(), 1);
    assert_eq!(registration::asset_id(tx, "one", "x://one").await?, Some(asset_id));
    registration::lock_asset(tx, asset_id).await?;
    registration::tie_alias(tx, alias_id, asset_id).await?;
    assert_eq!(asset::of_alias(tx, "alias").await?.len(), 1);
    let source = key("consumer", "run", "task");
    let extra = stored!({});
    let new = NewEvent { asset_id, extra: &extra, source: Some(&source), partition_key: None };
    let event_id = registration::insert_event(tx, &new, &[alias_id], NOW).await?;
    let listeners = registration::listeners(tx, asset_id, ("one", "x://one"), &[alias_id]).await?;
    assert_eq!(listeners.len(), 1);
    assert!(registration::consumers(tx, &source, asset_id).await?.is_some());
    for ascending in [true, false] {
        assert_eq!(event::of_asset(tx, Some("one"), None, window(ascending)).await?[0].id, event_id);
        assert_eq!(event::of_alias(tx, "alias", window(ascending)).await?[0].id, event_id);
    }
    let run = add_run(tx, "consumer", "consumes", NOW).await?;
    let window_of_run = EventWindow { after: None, belated_after: None, up_to: NOW };
    assert_eq!(triggered_runs::consume(tx, run, "consumer", window_of_run).await?, 1);
    assert_eq!(registration::consumed(tx, run).await?[0].aliases, ["alias"]);
    let events = event::of_alias(tx, "alias", window(true)).await?;
    assert_eq!(event::created_runs(tx, &events).await?[0].run_id, "consumes");
    Ok(())
}

async fn queued(tx: &mut Tx) -> Result<(), Error> {
    let (asset_id, _) = ids(tx).await?;
    dag_run_queue::add(tx, asset_id, "consumer", NOW).await?;
    dag_run_queue::add(tx, asset_id, "consumer", NOW + 1.second()).await?;
    assert_eq!(triggered_runs::queued(tx).await?.len(), 1);
    assert_eq!(triggered_runs::lock_queued(tx, &["consumer"]).await?.len(), 1);
    assert_eq!(triggered_runs::waits_since(tx, "consumer").await?, Some(NOW));
    triggered_runs::unqueue(tx, &[(asset_id, "consumer")]).await?;
    assert!(triggered_runs::queued(tx).await?.is_empty());
    Ok(())
}

async fn watched(tx: &mut Tx) -> Result<(), Error> {
    let (asset_id, _) = ids(tx).await?;
    let idle = asset::insert_if_missing(tx, &asset("idle"), NOW).await?.id;
    let fernet = Fernet::default();
    let wanted = WantedWatcher {
        name: "watcher".to_owned(),
        trigger: EventTrigger { classpath: "a.Trigger".to_owned(), kwargs: json!({}) },
        kwargs: stored!({}),
    };
    let trigger_id = trigger::insert(tx, &fernet, &wanted, None, NOW).await?;
    assert_eq!(trigger::find_free(tx, &fernet, &["a.Trigger"]).await?.len(), 1);
    watcher::insert(tx, "watcher", asset_id, trigger_id).await?;
    watcher::insert(tx, "watcher", idle, trigger_id).await?;
    assert_eq!(watcher::find_by_assets(tx, &fernet, &[asset_id]).await?.len(), 1);
    assert_eq!(watcher::unscheduled(tx).await?, [(idle, trigger_id)]);
    watcher::delete(tx, idle, trigger_id).await?;
    Ok(())
}

async fn kept(tx: &mut Tx) -> Result<(), Error> {
    let (asset_id, _) = ids(tx).await?;
    let idle = asset::insert_if_missing(tx, &asset("idle"), NOW).await?.id;
    let (value, writer) = (stored!(1), key("consumer", "run", "task"));
    for name in ["a", "b"] {
        state_store::set(tx, asset_id, name, &value, &writer, NOW).await?;
    }
    state_store::set(tx, idle, "a", &value, &writer, NOW).await?;
    assert_eq!(state_store::find(tx, asset_id, "a").await?.as_deref(), Some("1"));
    state_store::delete(tx, asset_id, "a").await?;
    state_store::clear(tx, asset_id).await?;
    assert_eq!(orphans::drop_state(tx).await?, 1);
    let listed = list::list(tx, Which { name: Some("one"), uri: None }).await?;
    assert_eq!((listed[0].aliases.len(), listed[0].watchers.len()), (1, 1));
    assert_eq!(list::aliases(tx).await?.len(), 1);
    assert_eq!(list::producers(tx, Which::default()).await?, ["consumer"]);
    Ok(())
}

async fn partitions(tx: &mut Tx) -> Result<(), Error> {
    let (asset_id, _) = ids(tx).await?;
    let window = Window { after: None, before: None, limit: None, ascending: true };
    let event_id = event::of_asset(tx, Some("one"), None, window).await?[0].id;
    for name in ["kept", "dropped"] {
        let id = asset_partition_dag_run::insert(tx, "consumer", name, None, stored!({}), NOW).await?;
        asset_partition_dag_run::set_partition_date(tx, id, Some(NOW), NOW).await?;
        let arrival =
            Arrival { asset_id, event_id, source_key: name, target_dag_id: "consumer", target_key: name };
        asset_partition_dag_run::note_arrival(tx, id, &arrival, NOW).await?;
    }
    let kept = asset_partition_dag_run::newest(tx, "consumer", "kept").await?.unwrap();
    assert_eq!((kept.has_run, kept.partition_date), (false, Some(NOW)));
    let found = pending::page(tx, 0, 10).await?.found;
    let ids: Vec<i64> = found.iter().map(|one| one.id).collect();
    assert_eq!(pending::arrived(tx, &ids).await?.len(), 2);
    assert_eq!(pending::lock_free(tx, &ids).await?.len(), 2);
    let run = add_run(tx, "consumer", "partition", NOW + 1.second()).await?;
    assert_eq!(pending::give_run(tx, kept.id, run, NOW).await?, 1);
    pending::delete(tx, &ids[1..]).await?;
    assert!(pending::page(tx, 0, 10).await?.found.is_empty());
    Ok(())
}

async fn forgotten(tx: &mut Tx) -> Result<(), Error> {
    let (asset_id, alias_id) = ids(tx).await?;
    dag_run_queue::add(tx, asset_id, "consumer", NOW).await?;
    for reference in references("consumer", asset_id, alias_id) {
        reference::delete(tx, &reference).await?;
    }
    dag::insert(tx, &dag::Dag { is_stale: true, ..a_dag("gone") }).await?;
    for reference in references("gone", asset_id, alias_id) {
        reference::insert(tx, &reference, &Access::ANYBODY, NOW).await?;
    }
    assert_eq!(reference::stale_dags(tx).await?, ["gone"]);
    assert_eq!(reference::delete_of_dags(tx, &["gone"]).await?, 5);
    Ok(())
}
