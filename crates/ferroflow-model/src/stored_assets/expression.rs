//! The condition of a schedule, as pages show it, and back.

use serde_json::{Value, json};

use super::used::{Ids, key};
use crate::Json;
use crate::asset::{Asset, AssetAlias, AssetCondition, AssetRef};

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

/// The condition that an expression shows, as far as it tells of it; none if it shows something else.
pub fn condition_of(expression: &Value) -> Option<AssetCondition> {
    let text = |of: &Value, key: &str| of.get(key)?.as_str().map(str::to_owned);
    let parts = |list: &Value| list.as_array()?.iter().map(condition_of).collect::<Option<Vec<_>>>();
    let (kind, content) = expression.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "asset" => AssetCondition::Asset(Box::new(Asset {
            name: text(content, "name")?,
            uri: text(content, "uri")?,
            group: text(content, "group")?,
            extra: Json::from(json!({})),
            watchers: Vec::new(),
            access_control: None,
        })),
        "alias" => {
            AssetCondition::Alias(AssetAlias { name: text(content, "name")?, group: text(content, "group")? })
        }
        "asset_ref" => AssetCondition::Ref(match text(content, "name") {
            Some(name) => AssetRef::Name(name),
            None => AssetRef::Uri(text(content, "uri")?),
        }),
        "all" => AssetCondition::All(parts(content)?),
        "any" => AssetCondition::Any(parts(content)?),
        _ => return None,
    })
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
        let shown = expression(&condition, &ids);
        assert_eq!(condition_of(&shown), Some(condition));
        let text = Json::from(shown);
        assert_eq!(
            text.text(),
            r#"{"any": [{"all": [{"asset": {"uri": "s3://a", "name": "a", "group": "g", "id": 7}}, {"alias": {"name": "x", "group": "g"}}]}, {"asset_ref": {"name": "n"}}, {"asset_ref": {"uri": "u"}}]}"#
        );
    }

    #[test]
    fn what_is_no_condition_is_taken_for_none() {
        for other in [json!(7), json!({}), json!({"all": [{"weather": {}}]}), json!({"asset": {"name": "a"}})]
        {
            assert_eq!(condition_of(&other), None, "{other}");
        }
    }
}
