//! Which assets come into use: those that something refers to, unless their name or their URI is another's.

use std::collections::{BTreeMap, BTreeSet};

use super::used::AssetKey;
use crate::python_literal;

/// An asset that something refers to and that is not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingAsset<'a> {
    /// Its name and its URI.
    pub key: AssetKey<'a>,
    /// Its group.
    pub group: &'a str,
    /// The DAGs that refer to it.
    pub dags: &'a BTreeSet<String>,
}

/// What becomes of assets that are not in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activation<'a> {
    /// Those that come into use.
    pub activated: Vec<AssetKey<'a>>,
    /// What to tell the DAGs that refer to one that cannot.
    pub warnings: BTreeMap<&'a str, String>,
}

/// Which of these assets come into use, in their order; `in_use` are those that are, as far as they have one of the
/// names or URIs.
pub fn activation<'a>(waiting: &[WaitingAsset<'a>], in_use: &[AssetKey<'a>]) -> Activation<'a> {
    let mut uri_of: BTreeMap<&str, &str> = in_use.iter().copied().collect();
    let mut name_of: BTreeMap<&str, &str> = in_use.iter().map(|(name, uri)| (*uri, *name)).collect();
    let mut activated = Vec::new();
    let mut told: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for asset in waiting {
        let (name, uri) = asset.key;
        let by_name = uri_of.get(name).filter(|other| **other != uri).map(|other| ("name", *other));
        let by_uri = || name_of.get(uri).filter(|other| **other != name).map(|other| ("uri", *other));
        let Some((what, other)) = by_name.or_else(by_uri) else {
            uri_of.insert(name, uri);
            name_of.insert(uri, name);
            activated.push(asset.key);
            continue;
        };
        for dag in asset.dags {
            told.entry(dag).or_default().insert(conflict(asset, what, other));
        }
    }
    let lines = |lines: BTreeSet<String>| lines.into_iter().collect::<Vec<_>>().join("\n");
    let warnings = told.into_iter().map(|(dag, messages)| (dag, lines(messages))).collect();
    Activation { activated, warnings }
}

fn conflict(asset: &WaitingAsset<'_>, what: &str, other: &str) -> String {
    let ((name, uri), group) = (asset.key, asset.group);
    let other = python_literal(other);
    format!(
        "Cannot activate asset Asset(name=\"{name}\", uri=\"{uri}\", group=\"{group}\"); {what} is already associated to {other}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dags(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_first_of_a_name_and_of_a_uri_comes_into_use() {
        let (one, two) = (dags(&["one"]), dags(&["one", "two"]));
        let asset = |key, dags| WaitingAsset { key, group: "asset", dags };
        let waiting = [
            asset(("a", "s3://a"), &one),
            asset(("a", "s3://b"), &two),
            asset(("c", "s3://a"), &one),
            asset(("d", "s3://d"), &two),
        ];
        let made = activation(&waiting, &[]);
        assert_eq!(made.activated, [("a", "s3://a"), ("d", "s3://d")]);
        assert_eq!(made.warnings.keys().copied().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(made.warnings["one"].lines().count(), 2);
        assert!(made.warnings["two"].ends_with("name is already associated to 's3://a'"));
    }

    #[test]
    fn what_is_in_use_stays_so() {
        let one = dags(&["one"]);
        let waiting = [WaitingAsset { key: ("b", "s3://a"), group: "asset", dags: &one }];
        let made = activation(&waiting, &[("a", "s3://a")]);
        assert_eq!(made.activated, []);
        assert!(made.warnings["one"].contains("uri is already associated to 'a'"), "{:?}", made.warnings);
    }

    #[test]
    fn one_that_only_an_alias_leads_to_has_nobody_to_warn() {
        let nobody = BTreeSet::new();
        let waiting = [WaitingAsset { key: ("a", "other"), group: "asset", dags: &nobody }];
        let made = activation(&waiting, &[("a", "s3://a")]);
        assert_eq!(made, Activation::default());
    }
}
