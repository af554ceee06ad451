//! Conditions on assets, and the queues of DAGs that wait for them.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_model::asset::{Asset, AssetAlias, AssetCondition, AssetRef};
use ferroflow_model::runs::assets::{
    AssetKey, KnownAssets, Missing, QueueVerdict, QueuedAsset, judge_queues, missing,
};
use ferroflow_model::{Json, asset::AssetCondition as Condition};
use proptest::prelude::*;

use crate::runs::given::at;

pub(crate) fn asset(name: &str) -> AssetCondition {
    Condition::Asset(Box::new(Asset {
        name: name.to_owned(),
        uri: format!("u/{name}"),
        group: "asset".to_owned(),
        extra: Json::from_text("{}".to_owned()).unwrap(),
        watchers: Vec::new(),
        access_control: None,
    }))
}

fn alias(name: &str) -> AssetCondition {
    Condition::Alias(AssetAlias { name: name.to_owned(), group: "asset".to_owned() })
}

pub(crate) fn key(name: &str) -> AssetKey<'_> {
    let uri = match name {
        "a" => "u/a",
        "b" => "u/b",
        "c" => "u/c",
        "d" => "u/d",
        other => panic!("{other}"),
    };
    AssetKey { name, uri }
}

fn keys(names: &[&'static str]) -> BTreeSet<AssetKey<'static>> {
    names.iter().map(|name| key(name)).collect()
}

/// Alias `both` stands for a and b, `gone` for none; a and c are active.
fn known() -> KnownAssets<'static> {
    KnownAssets {
        of_alias: BTreeMap::from([("both", keys(&["a", "b"])), ("gone", BTreeSet::new())]),
        active_by_name: BTreeMap::from([("a", key("a")), ("c", key("c"))]),
        active_by_uri: BTreeMap::from([("u/a", key("a")), ("u/c", key("c"))]),
    }
}

fn told(condition: &AssetCondition, there: &[&'static str]) -> Option<String> {
    missing(condition, &keys(there), &known()).map(|missing| missing.to_string())
}

#[test]
fn an_asset_is_known_by_name_and_uri() {
    assert_eq!(told(&asset("a"), &["a"]), None);
    assert_eq!(told(&asset("a"), &["b"]).unwrap(), r#"asset "a" at "u/a""#);
    let moved = BTreeSet::from([AssetKey { name: "a", uri: "u/z" }]);
    assert_eq!(missing(&asset("a"), &moved, &known()), Some(Missing::Asset(key("a"))));
}

#[test]
fn an_alias_is_any_of_its_assets() {
    assert_eq!(told(&alias("both"), &["b"]), None);
    assert_eq!(told(&alias("both"), &["c"]).unwrap(), r#"an asset of alias "both""#);
    assert!(told(&alias("gone"), &["a"]).is_some());
    assert!(told(&alias("unheard of"), &["a"]).is_some());
}

#[test]
fn a_reference_is_the_active_asset() {
    let (by_name, by_uri) = (
        |name: &str| Condition::Ref(AssetRef::Name(name.into())),
        |uri: &str| Condition::Ref(AssetRef::Uri(uri.into())),
    );
    assert_eq!(told(&by_name("a"), &["a"]), None);
    assert_eq!(told(&by_uri("u/c"), &["c"]), None);
    assert_eq!(told(&by_name("a"), &["c"]).unwrap(), r#"the active asset "a""#);
    assert_eq!(told(&by_uri("u/a"), &["c"]).unwrap(), r#"the active asset at "u/a""#);
    // Queued, but no longer active.
    assert!(told(&by_name("b"), &["b"]).is_some());
    assert!(told(&by_uri("u/b"), &["b"]).is_some());
}

#[test]
fn all_and_any_tell_what_would_help() {
    let all = Condition::All(vec![asset("a"), Condition::Any(vec![asset("b"), alias("gone")]), asset("c")]);
    assert_eq!(told(&all, &["a", "b", "c"]), None);
    assert_eq!(told(&all, &["a", "b"]).unwrap(), r#"asset "c" at "u/c""#);
    assert_eq!(
        told(&all, &["c"]).unwrap(),
        r#"all of (asset "a" at "u/a", one of (asset "b" at "u/b", an asset of alias "gone"))"#
    );
    let any = Condition::Any(vec![Condition::All(vec![asset("a"), asset("b")]), asset("c")]);
    assert_eq!(told(&any, &["b", "c"]), None);
    assert_eq!(told(&any, &["b"]).unwrap(), r#"one of (asset "a" at "u/a", asset "c" at "u/c")"#);
    assert_eq!(told(&Condition::All(vec![]), &[]), None);
    assert_eq!(told(&Condition::Any(vec![]), &["a"]).unwrap(), "one of no assets, which cannot come");
}

#[test]
fn queues_are_ready_waiting_or_left_over() {
    let row = |target_dag_id, name, second| QueuedAsset {
        target_dag_id,
        asset: key(name),
        created_at: at(second),
        dag_has_asset_expression: true,
    };
    let gone = QueuedAsset { dag_has_asset_expression: false, ..row("gone", "a", 1) };
    let both = Condition::All(vec![asset("a"), asset("b")]);
    let rows = [
        row("ready", "a", 7),
        row("waiting", "a", 1),
        row("ready", "b", 5),
        row("broken", "a", 1),
        gone,
        row("ready", "c", 6),
    ];
    let verdicts = judge_queues(&rows, |dag_id| (dag_id != "broken").then_some(&both), &known());
    let expected = BTreeMap::from([
        ("broken", QueueVerdict::NoCondition),
        ("gone", QueueVerdict::Stale),
        ("ready", QueueVerdict::Ready(at(7))),
        ("waiting", QueueVerdict::Waiting(Missing::Asset(key("b")))),
    ]);
    assert_eq!(verdicts, expected);
}

fn conditions() -> impl Strategy<Value = AssetCondition> {
    let names = prop::sample::select(vec!["a", "b", "c", "d"]);
    let leaf = prop_oneof![
        4 => names.clone().prop_map(asset),
        1 => prop::sample::select(vec!["both", "gone"]).prop_map(alias),
        1 => names.clone().prop_map(|name| Condition::Ref(AssetRef::Name(name.to_owned()))),
        1 => names.prop_map(|name| Condition::Ref(AssetRef::Uri(format!("u/{name}")))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let parts = prop::collection::vec(inner, 0..4);
        prop_oneof![parts.clone().prop_map(Condition::All), parts.prop_map(Condition::Any)]
    })
}

/// The same question, asked without any explanation.
fn is_met(condition: &AssetCondition, there: &BTreeSet<AssetKey<'_>>) -> bool {
    let known = known();
    match condition {
        Condition::Asset(asset) => there.iter().any(|key| (key.name, key.uri) == (&asset.name, &asset.uri)),
        Condition::Alias(alias) => alias.name == "both" && there.iter().any(|key| key.name < "c"),
        Condition::Ref(AssetRef::Name(name)) => {
            there.iter().any(|key| key.name == name && known.active_by_name.contains_key(key.name))
        }
        Condition::Ref(AssetRef::Uri(uri)) => {
            there.iter().any(|key| key.uri == uri && known.active_by_uri.contains_key(key.uri))
        }
        Condition::All(parts) => parts.iter().all(|part| is_met(part, there)),
        Condition::Any(parts) => parts.iter().any(|part| is_met(part, there)),
    }
}

/// Adds what is missing: everything of `AllOf`, the last of `OneOf`. False if it cannot come.
fn help(there: &mut BTreeSet<AssetKey<'static>>, missing: &Missing<'_>) -> bool {
    let name = match missing {
        Missing::Asset(key) => key.name,
        Missing::Alias(name) if *name == "both" => "b",
        Missing::Alias(_) => return false,
        Missing::Ref(AssetRef::Name(name)) => name,
        Missing::Ref(AssetRef::Uri(uri)) => &uri[2..],
        Missing::AllOf(parts) => return parts.iter().all(|part| help(there, part)),
        Missing::OneOf(parts) => return parts.last().is_some_and(|part| help(there, part)),
    };
    let is_reference = matches!(missing, Missing::Ref(_));
    there.extend(["a", "b", "c", "d"].into_iter().find(|known| *known == name).map(key));
    !is_reference || ["a", "c"].contains(&name)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_missing_is_what_helps(
        condition in conditions(),
        there in prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..=4),
    ) {
        let mut there = keys(&there);
        let lacks = missing(&condition, &there, &known());
        prop_assert_eq!(lacks.is_none(), is_met(&condition, &there));
        if let Some(lacks) = lacks && help(&mut there, &lacks) {
            prop_assert_eq!(missing(&condition, &there, &known()), None, "after {}", lacks);
        }
    }
}
