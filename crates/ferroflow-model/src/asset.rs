//! Assets, and the conditions on them.

use crate::Json;
use crate::document::{Reader, Value};

/// Something that tasks update and that DAGs wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its name; with the URI it identifies the asset.
    pub name: String,
    /// Where it is.
    pub uri: String,
    /// Its group; `asset` unless the author says otherwise.
    pub group: String,
    /// What the author attached to it: an object.
    pub extra: Json,
    /// Triggers that watch it from outside.
    pub watchers: Vec<AssetWatcher>,
    /// Which teams may produce and consume it, if that is restricted.
    pub access_control: Option<Json>,
}

/// A trigger whose events are events of an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetWatcher {
    /// Its name, unique within the asset.
    pub name: String,
    /// The import path of the trigger.
    pub trigger_class: String,
    /// The arguments of the trigger, encoded as the document has them.
    pub trigger_kwargs: Json,
}

/// A name that stands for assets which are known only when a task has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetAlias {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
}

/// A mention of an asset that is defined elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssetRef {
    /// By its name.
    Name(String),
    /// By its URI.
    Uri(String),
}

/// An asset, a stand-in for one, or a condition made of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssetCondition {
    /// An asset.
    Asset(Box<Asset>),
    /// An alias.
    Alias(AssetAlias),
    /// A reference.
    Ref(AssetRef),
    /// Every one of them.
    All(Vec<AssetCondition>),
    /// At least one of them.
    Any(Vec<AssetCondition>),
}

impl AssetCondition {
    /// Its assets, from left to right, each as often as it is mentioned.
    pub fn assets(&self) -> impl Iterator<Item = &Asset> {
        self.leaves().filter_map(|leaf| match leaf {
            Self::Asset(asset) => Some(asset.as_ref()),
            _ => None,
        })
    }

    /// Its aliases, from left to right, each as often as it is mentioned.
    pub fn aliases(&self) -> impl Iterator<Item = &AssetAlias> {
        self.leaves().filter_map(|leaf| match leaf {
            Self::Alias(alias) => Some(alias),
            _ => None,
        })
    }

    /// Its references, from left to right, each as often as it is mentioned.
    pub fn refs(&self) -> impl Iterator<Item = &AssetRef> {
        self.leaves().filter_map(|leaf| match leaf {
            Self::Ref(reference) => Some(reference),
            _ => None,
        })
    }

    fn leaves(&self) -> impl Iterator<Item = &Self> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            loop {
                match waiting.pop()? {
                    Self::All(parts) | Self::Any(parts) => waiting.extend(parts.iter().rev()),
                    leaf => return Some(leaf),
                }
            }
        })
    }

    /// Reads either form: `{"__type": …, "__var": {…}}` as tasks have it, or `{"__type": …, …}` as timetables
    /// have it.
    pub(crate) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let kind = reader.required(value, "__type", Reader::text)?;
        let content = value.get("__var").unwrap_or(value);
        match kind {
            "asset" => read_asset(reader, content).map(Box::new).map(Self::Asset),
            "asset_alias" => read_alias(reader, content).map(Self::Alias),
            "asset_ref" => read_ref(reader, content).map(Self::Ref),
            "asset_all" => read_parts(reader, content).map(Self::All),
            "asset_any" => read_parts(reader, content).map(Self::Any),
            other => {
                reader.within("__type", |reader| {
                    reader.problem(format_args!(
                        "{other:?} is not a kind of asset (known: asset, asset_alias, asset_ref, asset_all, \
                         asset_any)"
                    ));
                });
                None
            }
        }
    }

    /// Whether an envelope of this type holds an asset, or a condition on assets.
    pub(crate) fn is_kind(name: &str) -> bool {
        matches!(name, "asset" | "asset_alias" | "asset_ref" | "asset_all" | "asset_any")
    }
}

fn read_asset<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Asset> {
    let name = reader.required(value, "name", Reader::text);
    let uri = reader.required(value, "uri", Reader::text);
    let group = reader.required(value, "group", Reader::text);
    let extra = reader.optional(value, "extra", json_object);
    let watchers = reader.optional(value, "watchers", |reader, list| reader.list(list, read_watcher));
    let access_control = reader.optional(value, "access_control", json_object);
    Some(Asset {
        name: name?.to_owned(),
        uri: uri?.to_owned(),
        group: group?.to_owned(),
        extra: extra.unwrap_or_else(|| Value::Object(&[]).to_json()),
        watchers: watchers.unwrap_or_default(),
        access_control,
    })
}

fn read_watcher<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<AssetWatcher> {
    let name = reader.required(value, "name", Reader::text);
    let trigger = reader.required(value, "trigger", |reader, trigger| {
        let class = reader.required(trigger, "classpath", Reader::text);
        let kwargs = reader.required(trigger, "kwargs", json_object);
        Some((class?.to_owned(), kwargs?))
    });
    let (trigger_class, trigger_kwargs) = trigger?;
    Some(AssetWatcher { name: name?.to_owned(), trigger_class, trigger_kwargs })
}

fn read_alias<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<AssetAlias> {
    let name = reader.required(value, "name", Reader::text);
    let group = reader.required(value, "group", Reader::text);
    Some(AssetAlias { name: name?.to_owned(), group: group?.to_owned() })
}

fn read_ref<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<AssetRef> {
    if value.get("name").is_some() {
        reader.required(value, "name", Reader::text).map(|name| AssetRef::Name(name.to_owned()))
    } else {
        reader.required(value, "uri", Reader::text).map(|uri| AssetRef::Uri(uri.to_owned()))
    }
}

fn read_parts<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Vec<AssetCondition>> {
    reader.required(value, "objects", |reader, list| reader.list(list, AssetCondition::read))
}

fn json_object<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Json> {
    reader.object(value).map(|_| value.to_json())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::decode;

    fn condition(text: &str) -> Result<AssetCondition, String> {
        decode(text, AssetCondition::read).map_err(|problems| problems.to_string())
    }

    fn asset(name: &str) -> String {
        format!(
            r#"{{"__type": "asset", "name": "{name}", "uri": "s3://b/{name}", "group": "g", "extra": {{}}}}"#
        )
    }

    #[test]
    fn leaves_come_from_left_to_right_and_as_often_as_they_are_mentioned() {
        let (a, b) = (asset("a"), asset("b"));
        let alias = r#"{"__type": "asset_alias", "name": "al", "group": "g"}"#;
        let by_name = r#"{"__type": "asset_ref", "name": "n"}"#;
        let located = r#"{"__type": "asset_ref", "uri": "s3://u"}"#;
        let inner = format!(r#"{{"__type": "asset_all", "objects": [{b}, {alias}, {a}]}}"#);
        let all =
            format!(r#"{{"__type": "asset_any", "objects": [{a}, {located}, {inner}, {by_name}, {b}]}}"#);
        let condition = condition(&all).unwrap();
        let names: Vec<&str> = condition.assets().map(|asset| asset.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a", "b"]);
        assert_eq!(condition.aliases().count(), 1);
        let refs: Vec<&AssetRef> = condition.refs().collect();
        assert_eq!(refs, [&AssetRef::Uri("s3://u".into()), &AssetRef::Name("n".into())]);
    }

    #[test]
    fn an_asset_in_an_envelope_keeps_what_its_author_gave_it() {
        let text = r#"{"__type": "asset", "__var": {"name": "a", "uri": "u", "group": "g", "extra": {"k": 1},
            "access_control": {"producer_teams": ["t"], "allow_global": false},
            "watchers": [{"name": "w", "trigger": {"classpath": "x.T", "kwargs": {"q": "z"}}}]}}"#;
        let Ok(AssetCondition::Asset(asset)) = condition(text) else { panic!("an asset") };
        assert_eq!(asset.extra.text(), r#"{"k": 1}"#);
        let watcher = &asset.watchers[0];
        assert_eq!((watcher.name.as_str(), watcher.trigger_class.as_str()), ("w", "x.T"));
        assert_eq!(watcher.trigger_kwargs.text(), r#"{"q": "z"}"#);
        let access_control = asset.access_control.unwrap();
        assert_eq!(access_control.text(), r#"{"producer_teams": ["t"], "allow_global": false}"#);
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_its_place() {
        let text = r#"{"__type": "asset_all", "objects": [
            {"__type": "asset", "name": 1, "uri": "u", "extra": []}, {"__type": "dataset"}, {}]}"#;
        assert_eq!(
            condition(text).unwrap_err(),
            "objects[0].name: expected a string, found an integer\n\
             objects[0].group: is missing\n\
             objects[0].extra: expected an object, found a list\n\
             objects[1].__type: \"dataset\" is not a kind of asset (known: asset, asset_alias, asset_ref, \
             asset_all, asset_any)\n\
             objects[2].__type: is missing"
        );
    }
}
