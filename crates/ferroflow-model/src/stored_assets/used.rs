//! What the DAGs of one file use.

use std::collections::BTreeMap;

use crate::asset::{Asset, AssetAlias, AssetCondition};
use crate::dag::Dag;

/// What identifies an asset: its name and its URI.
pub type AssetKey<'d> = (&'d str, &'d str);

/// The assets that one DAG uses.
#[derive(Clone, Debug)]
pub struct DagAssets<'d> {
    /// The DAG.
    pub dag_id: &'d str,
    /// What its schedule waits for. The class of a custom timetable knows it; the document does not.
    pub condition: Option<&'d AssetCondition>,
    /// What its tasks read and update, in the order of the document.
    pub tasks: Vec<TaskAssets<'d>>,
}

/// The assets that one task uses.
#[derive(Clone, Debug)]
pub struct TaskAssets<'d> {
    /// The task.
    pub task_id: &'d str,
    /// What it reads.
    pub inlets: &'d [AssetCondition],
    /// What it updates.
    pub outlets: &'d [AssetCondition],
}

/// Every asset and alias that some DAG of a file uses, once.
#[derive(Clone, Debug)]
pub struct FileAssets<'d> {
    /// The DAGs.
    pub dags: &'d [DagAssets<'d>],
    /// The assets, in an order that two processors share: who waits for whom is then never a circle.
    pub assets: BTreeMap<AssetKey<'d>, &'d Asset>,
    /// The aliases, by name.
    pub aliases: BTreeMap<&'d str, &'d AssetAlias>,
    /// The keys of the assets in the order of their first mention: of two that cannot both be active, the first is.
    pub first_mentions: Vec<AssetKey<'d>>,
}

/// How the database calls the assets and aliases of a file.
#[derive(Clone, Debug, Default)]
pub struct Ids<'d> {
    /// The ids of assets.
    pub assets: BTreeMap<AssetKey<'d>, i64>,
    /// The ids of aliases.
    pub aliases: BTreeMap<&'d str, i64>,
}

impl<'d> DagAssets<'d> {
    /// What a DAG says that it uses.
    pub fn of(dag: &'d Dag) -> Self {
        let tasks = dag.tasks().iter().filter_map(|task| {
            let details = task.details();
            let uses_assets = !(details.inlets.is_empty() && details.outlets.is_empty());
            uses_assets.then_some(TaskAssets {
                task_id: &task.task_id,
                inlets: &details.inlets,
                outlets: &details.outlets,
            })
        });
        Self { dag_id: &dag.dag_id, condition: dag.timetable.assets(), tasks: tasks.collect() }
    }

    fn assets(&self) -> impl Iterator<Item = &'d Asset> {
        let scheduled = self.condition.into_iter().flat_map(AssetCondition::assets);
        scheduled.chain(self.ports().filter_map(as_asset))
    }

    fn aliases(&self) -> impl Iterator<Item = &'d AssetAlias> {
        let scheduled = self.condition.into_iter().flat_map(AssetCondition::aliases);
        scheduled.chain(self.ports().filter_map(|port| match port {
            AssetCondition::Alias(alias) => Some(alias),
            _ => None,
        }))
    }

    fn ports(&self) -> impl Iterator<Item = &'d AssetCondition> {
        self.tasks.iter().flat_map(|task| task.inlets.iter().chain(task.outlets))
    }
}

impl<'d> FileAssets<'d> {
    /// What these DAGs use. An asset that they describe more than once is as the last of them says.
    pub fn of(dags: &'d [DagAssets<'d>]) -> Self {
        let mut file =
            Self { dags, assets: BTreeMap::new(), aliases: BTreeMap::new(), first_mentions: Vec::new() };
        for asset in dags.iter().flat_map(DagAssets::assets) {
            if file.assets.insert(key(asset), asset).is_none() {
                file.first_mentions.push(key(asset));
            }
        }
        file.aliases = dags.iter().flat_map(DagAssets::aliases).map(|alias| (&*alias.name, alias)).collect();
        file
    }
}

/// What identifies an asset.
pub(super) fn key(asset: &Asset) -> AssetKey<'_> {
    (&asset.name, &asset.uri)
}

/// The asset that a task reads or updates. A condition on several says nothing of one.
pub(super) fn as_asset(port: &AssetCondition) -> Option<&Asset> {
    match port {
        AssetCondition::Asset(asset) => Some(asset),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Json;
    use serde_json::{Value, json};

    pub(in crate::stored_assets) fn asset(name: &str, uri: &str, group: &str) -> AssetCondition {
        AssetCondition::Asset(Box::new(Asset {
            name: name.to_owned(),
            uri: uri.to_owned(),
            group: group.to_owned(),
            extra: Json::from(json!({})),
            watchers: Vec::new(),
            access_control: None,
        }))
    }

    pub(in crate::stored_assets) fn guarded(name: &str, access_control: Value) -> AssetCondition {
        let AssetCondition::Asset(mut found) = asset(name, name, "g") else { unreachable!() };
        found.access_control = Some(Json::from(access_control));
        AssetCondition::Asset(found)
    }

    pub(in crate::stored_assets) fn alias(name: &str) -> AssetCondition {
        AssetCondition::Alias(AssetAlias { name: name.to_owned(), group: "g".to_owned() })
    }

    #[test]
    fn an_asset_is_as_its_last_mention_says_and_stands_where_the_first_was() {
        let condition = AssetCondition::Any(vec![asset("b", "u", "one"), alias("x"), asset("a", "u", "one")]);
        let (inlets, outlets) = ([asset("b", "u", "two"), alias("y")], [asset("b", "other", "one")]);
        let tasks = vec![TaskAssets { task_id: "t", inlets: &inlets, outlets: &outlets }];
        let dags = [DagAssets { dag_id: "d", condition: Some(&condition), tasks }];
        let file = FileAssets::of(&dags);
        let found: Vec<_> =
            file.assets.values().map(|asset| (&*asset.name, &*asset.uri, &*asset.group)).collect();
        assert_eq!(found, [("a", "u", "one"), ("b", "other", "one"), ("b", "u", "two")]);
        assert_eq!(file.first_mentions, [("b", "u"), ("a", "u"), ("b", "other")]);
        assert_eq!(file.aliases.keys().copied().collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn a_condition_that_a_task_reads_is_not_an_asset() {
        let inlets = [AssetCondition::All(vec![asset("a", "u", "g"), alias("x")])];
        let tasks = vec![TaskAssets { task_id: "t", inlets: &inlets, outlets: &[] }];
        let dags = [DagAssets { dag_id: "d", condition: None, tasks }];
        let file = FileAssets::of(&dags);
        assert!(file.assets.is_empty() && file.aliases.is_empty());
    }
}
