//! Who uses which assets, and how that differs from what is stored.

use std::collections::BTreeMap;

use serde_json::Value;

use super::used::{DagAssets, FileAssets, Ids, as_asset, key};
use crate::asset::{Asset, AssetRef};

/// One use of an asset: a row of one of six tables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// The schedule of a DAG waits for an asset.
    Schedule {
        /// The DAG.
        dag_id: String,
        /// The asset.
        asset_id: i64,
    },
    /// The schedule of a DAG waits for whatever an alias will stand for.
    ScheduleAlias {
        /// The DAG.
        dag_id: String,
        /// The alias.
        alias_id: i64,
    },
    /// The schedule of a DAG waits for the asset of a name, which is defined elsewhere.
    ScheduleName {
        /// The DAG.
        dag_id: String,
        /// The name.
        name: String,
    },
    /// The schedule of a DAG waits for the asset at a URI, which is defined elsewhere.
    ScheduleUri {
        /// The DAG.
        dag_id: String,
        /// The URI.
        uri: String,
    },
    /// A task reads an asset.
    Inlet {
        /// The DAG.
        dag_id: String,
        /// The task.
        task_id: String,
        /// The asset.
        asset_id: i64,
    },
    /// A task updates an asset.
    Outlet {
        /// The DAG.
        dag_id: String,
        /// The task.
        task_id: String,
        /// The asset.
        asset_id: i64,
    },
}

/// Whose updates a schedule takes, or who may take those of a task. Other references have no such rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The teams that may: a list, or null for no rule.
    pub teams: Value,
    /// Whether those without a team may.
    pub allow_global: bool,
}

/// What to do for the references to be as they should.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceChanges {
    /// To be deleted.
    pub removed: Vec<Reference>,
    /// To be added.
    pub added: Vec<(Reference, Access)>,
    /// To be given another rule.
    pub changed: Vec<(Reference, Access)>,
}

impl Access {
    /// Everybody.
    pub const ANYBODY: Self = Self { teams: Value::Null, allow_global: true };
}

/// Every reference that the DAGs of a file should have. What has no id is left out.
pub fn references(file: &FileAssets<'_>, ids: &Ids<'_>) -> BTreeMap<Reference, Access> {
    let mut found = BTreeMap::new();
    for dag in file.dags {
        add_schedule(dag, ids, &mut found);
        add_tasks(dag, ids, &mut found);
    }
    found
}

/// What has to change for the `stored` references to be the `wanted` ones.
pub fn reference_changes(
    wanted: BTreeMap<Reference, Access>,
    stored: &BTreeMap<Reference, Access>,
) -> ReferenceChanges {
    let mut changes = ReferenceChanges::default();
    changes.removed.extend(stored.keys().filter(|reference| !wanted.contains_key(reference)).cloned());
    for (reference, access) in wanted {
        match stored.get(&reference) {
            None => changes.added.push((reference, access)),
            Some(there) if *there != access => changes.changed.push((reference, access)),
            Some(_) => {}
        }
    }
    changes
}

fn add_schedule(dag: &DagAssets<'_>, ids: &Ids<'_>, found: &mut BTreeMap<Reference, Access>) {
    let Some(condition) = dag.condition else { return };
    let dag_id = || dag.dag_id.to_owned();
    for asset in condition.assets() {
        if let Some(&asset_id) = ids.assets.get(&key(asset)) {
            let access = access(asset, "producer_teams", Value::Array(Vec::new()));
            found.insert(Reference::Schedule { dag_id: dag_id(), asset_id }, access);
        }
    }
    for alias in condition.aliases() {
        if let Some(&alias_id) = ids.aliases.get(&*alias.name) {
            found.insert(Reference::ScheduleAlias { dag_id: dag_id(), alias_id }, Access::ANYBODY);
        }
    }
    for reference in condition.refs() {
        let reference = match reference {
            AssetRef::Name(name) => Reference::ScheduleName { dag_id: dag_id(), name: name.clone() },
            AssetRef::Uri(uri) => Reference::ScheduleUri { dag_id: dag_id(), uri: uri.clone() },
        };
        found.insert(reference, Access::ANYBODY);
    }
}

fn add_tasks(dag: &DagAssets<'_>, ids: &Ids<'_>, found: &mut BTreeMap<Reference, Access>) {
    for task in &dag.tasks {
        let names = || (dag.dag_id.to_owned(), task.task_id.to_owned());
        for asset in task.inlets.iter().filter_map(as_asset) {
            if let Some(&asset_id) = ids.assets.get(&key(asset)) {
                let (dag_id, task_id) = names();
                found.insert(Reference::Inlet { dag_id, task_id, asset_id }, Access::ANYBODY);
            }
        }
        for asset in task.outlets.iter().filter_map(as_asset) {
            if let Some(&asset_id) = ids.assets.get(&key(asset)) {
                let (dag_id, task_id) = names();
                let access = access(asset, "consumer_teams", Value::Null);
                found.insert(Reference::Outlet { dag_id, task_id, asset_id }, access);
            }
        }
    }
}

fn access(asset: &Asset, teams: &str, without: Value) -> Access {
    let rules = asset.access_control.as_ref().and_then(|rules| rules.value().ok()).unwrap_or_default();
    Access {
        teams: rules.get(teams).cloned().unwrap_or(without),
        allow_global: rules.get("allow_global").and_then(Value::as_bool).unwrap_or(true),
    }
}

#[cfg(test)]
mod tests {
    use super::super::used::TaskAssets;
    use super::super::used::tests::{alias, asset, guarded};
    use super::*;
    use crate::asset::AssetCondition;
    use serde_json::json;

    fn access(teams: Value, allow_global: bool) -> Access {
        Access { teams, allow_global }
    }

    #[test]
    fn every_use_is_a_reference_once() {
        let condition = AssetCondition::Any(vec![
            asset("a", "a", "g"),
            AssetCondition::All(vec![asset("a", "a", "g"), alias("x")]),
            AssetCondition::Ref(AssetRef::Name("n".to_owned())),
            AssetCondition::Ref(AssetRef::Uri("u".to_owned())),
        ]);
        let rules = json!({"producer_teams": ["p"], "consumer_teams": ["c"], "allow_global": false});
        let (inlets, outlets) = ([asset("a", "a", "g")], [guarded("b", rules), asset("a", "a", "g")]);
        let tasks = vec![TaskAssets { task_id: "t", inlets: &inlets, outlets: &outlets }];
        let dags = [DagAssets { dag_id: "d", condition: Some(&condition), tasks }];
        let file = FileAssets::of(&dags);
        let ids = Ids { assets: [(("a", "a"), 1), (("b", "b"), 2)].into(), aliases: [("x", 3)].into() };
        let dag_id = || "d".to_owned();
        let task_id = || "t".to_owned();
        let expected = [
            (Reference::Schedule { dag_id: dag_id(), asset_id: 1 }, access(json!([]), true)),
            (Reference::ScheduleAlias { dag_id: dag_id(), alias_id: 3 }, Access::ANYBODY),
            (Reference::ScheduleName { dag_id: dag_id(), name: "n".to_owned() }, Access::ANYBODY),
            (Reference::ScheduleUri { dag_id: dag_id(), uri: "u".to_owned() }, Access::ANYBODY),
            (Reference::Inlet { dag_id: dag_id(), task_id: task_id(), asset_id: 1 }, Access::ANYBODY),
            (Reference::Outlet { dag_id: dag_id(), task_id: task_id(), asset_id: 1 }, Access::ANYBODY),
            (
                Reference::Outlet { dag_id: dag_id(), task_id: task_id(), asset_id: 2 },
                access(json!(["c"]), false),
            ),
        ];
        assert_eq!(references(&file, &ids), BTreeMap::from(expected));
    }

    #[test]
    fn a_dag_that_uses_nothing_keeps_no_reference() {
        let name = |name: &str| Reference::ScheduleName { dag_id: "d".to_owned(), name: name.to_owned() };
        let stored = BTreeMap::from([(name("a"), Access::ANYBODY), (name("b"), Access::ANYBODY)]);
        let changes = reference_changes(BTreeMap::new(), &stored);
        assert_eq!(changes, ReferenceChanges { removed: vec![name("a"), name("b")], ..Default::default() });
    }

    #[test]
    fn what_is_stored_and_wanted_alike_is_left_alone() {
        let schedule = |asset_id| Reference::Schedule { dag_id: "d".to_owned(), asset_id };
        let stored =
            BTreeMap::from([(schedule(1), access(json!([]), true)), (schedule(2), access(json!([]), true))]);
        assert_eq!(reference_changes(stored.clone(), &stored), ReferenceChanges::default());
        let wanted = BTreeMap::from([
            (schedule(2), access(json!(["t"]), true)),
            (schedule(3), access(json!([]), true)),
        ]);
        let changes = reference_changes(wanted, &stored);
        assert_eq!(changes.removed, [schedule(1)]);
        assert_eq!(changes.changed, [(schedule(2), access(json!(["t"]), true))]);
        assert_eq!(changes.added, [(schedule(3), access(json!([]), true))]);
    }
}
