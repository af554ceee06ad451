//! The condition of a schedule, as pages show it.

use serde_json::{Value, json};

use super::used::{Ids, key};
use crate::asset::{AssetCondition, AssetRef};

/// The condition as the `dag` table keeps it, with the ids of its assets.
pub fn expression(condition: &AssetCondition, ids: &Ids<'_>) -> Value {
    let all = |parts: &[AssetCondition]| parts.iter().map(|part| expression(part, ids)).collect::<Vec<_>>();
    match condition {
        AssetCondition::Asset(asset) => {
            let id = ids.assets.get(&key(asset));
            json!({"asset": {"uri": asset.uri, "name": asset.name, "group": asset.group, "id": id}})
        }
        AssetCondition::Alias(alias) => json!({"alias": {"name": alias.name, "group": alias.group}}),
        AssetCondition::Ref(AssetRef::Name(name)) => json!({"asset_ref": {"name": name}}),
        AssetCondition::Ref(AssetRef::Uri(uri)) => json!({"asset_ref": {"uri": uri}}),
        AssetCondition::All(parts) => json!({"all": all(parts)}),
        AssetCondition::Any(parts) => json!({"any": all(parts)}),
    }
}

#[cfg(test)]
mod tests {
    use super::super::used::tests::{alias, asset};
    use super::*;

    #[test]
    fn every_kind_of_condition_has_its_word() {
        let condition = AssetCondition::Any(vec![
            AssetCondition::All(vec![asset("a", "s3://a", "g"), alias("x")]),
            AssetCondition::Ref(AssetRef::Name("n".to_owned())),
            AssetCondition::Ref(AssetRef::Uri("u".to_owned())),
        ]);
        let ids = Ids { assets: [(("a", "s3://a"), 7)].into(), ..Ids::default() };
        let text = crate::Json::from(expression(&condition, &ids));
        assert_eq!(
            text.text(),
            r#"{"any": [{"all": [{"asset": {"uri": "s3://a", "name": "a", "group": "g", "id": 7}}, {"alias": {"name": "x", "group": "g"}}]}, {"asset_ref": {"name": "n"}}, {"asset_ref": {"uri": "u"}}]}"#
        );
    }
}
