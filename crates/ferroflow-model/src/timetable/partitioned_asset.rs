//! A timetable that waits for partitions of assets.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::local_time::LocalTime;
use crate::asset::{AssetCondition, AssetRef};
use crate::partition_mapper::{KeyProblem, OwnClass, PartitionMapper};

/// Which assets, and how a partition of one becomes a partition of the DAG.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedAsset {
    /// The condition on assets.
    pub assets: AssetCondition,
    /// Mappers for some of the assets; of two for the same asset the later one counts.
    pub mappers: Vec<(AssetCondition, PartitionMapper)>,
    /// The mapper of all the others.
    pub default_mapper: PartitionMapper,
}

/// What the `dag` table keeps of the mapper of one asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMapperInfo<'t> {
    /// The name of the asset, if it is known by name.
    pub name: Option<&'t str>,
    /// Its URI, if it is known by URI.
    pub uri: Option<&'t str>,
    /// Whether many partitions of the asset make one of the DAG.
    pub is_rollup: bool,
}

/// What the mappers of several assets say about the date of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionDate {
    /// To none of them the key is a time.
    NotATime,
    /// They agree.
    At(Timestamp),
    /// They do not.
    Conflict,
}

impl PartitionedAsset {
    /// The mapper of an asset. One that has a name is looked for by its name alone.
    pub fn mapper(&self, name: &str, uri: &str) -> &PartitionMapper {
        let is_meant = |assets: &AssetCondition| {
            let by_name = |known: &str| !name.is_empty() && known == name;
            let by_uri = |known: &str| name.is_empty() && !uri.is_empty() && known == uri;
            assets.assets().any(|asset| by_name(&asset.name) || by_uri(&asset.uri))
                || assets.refs().any(|asset| match asset {
                    AssetRef::Name(known) => by_name(known),
                    AssetRef::Uri(known) => by_uri(known),
                })
        };
        let configured = self.mappers.iter().rev().find(|(assets, _)| is_meant(assets));
        configured.map_or(&self.default_mapper, |(_, mapper)| mapper)
    }

    /// The custom classes among all mappers and their windows. With one of them, Python has to be asked.
    pub fn own_classes(&self) -> Vec<OwnClass<'_>> {
        let mappers = self.mappers.iter().map(|(_, mapper)| mapper).chain([&self.default_mapper]);
        mappers.flat_map(PartitionMapper::own_classes).collect()
    }

    /// One entry per asset of the condition, then one per reference.
    pub fn mapper_infos(&self) -> impl Iterator<Item = PartitionMapperInfo<'_>> {
        self.names_and_uris().map(|(name, uri)| PartitionMapperInfo {
            name,
            uri,
            is_rollup: self.mapper(name.unwrap_or_default(), uri.unwrap_or_default()).is_rollup(),
        })
    }

    /// The date that a partition key stands for to some of the assets, each of which is a name and a URI.
    pub fn date_for<'a>(
        &self,
        assets: impl IntoIterator<Item = (&'a str, &'a str)>,
        key: &str,
    ) -> Result<PartitionDate, KeyProblem> {
        let mut agreed: Option<LocalTime<'_>> = None;
        let mut conflict = false;
        // All are asked, as one that cannot answer counts for more than a conflict.
        for (name, uri) in assets {
            let Some(date) = self.mapper(name, uri).date(key)? else { continue };
            conflict |= agreed.as_ref().is_some_and(|agreed| !agreed.is_same(&date));
            agreed.get_or_insert(date);
        }
        match agreed {
            _ if conflict => Ok(PartitionDate::Conflict),
            None => Ok(PartitionDate::NotATime),
            Some(date) => date.instant().map(PartitionDate::At).ok_or(KeyProblem::OutOfRange),
        }
    }

    /// The date that a partition key stands for to all the assets of the condition.
    pub fn date(&self, key: &str) -> Result<PartitionDate, KeyProblem> {
        let all =
            self.names_and_uris().map(|(name, uri)| (name.unwrap_or_default(), uri.unwrap_or_default()));
        self.date_for(all, key)
    }

    /// How the assets of the condition are mapped, by `name|uri`. What has come for a partition is thrown away
    /// when this changes.
    pub fn rollup_fingerprint(&self) -> Value {
        let entries = self.names_and_uris().map(|(name, uri)| {
            let (name, uri) = (name.unwrap_or_default(), uri.unwrap_or_default());
            (format!("{name}|{uri}"), self.mapper(name, uri).encode())
        });
        // Airflow writes them in this order.
        entries.collect::<BTreeMap<_, _>>().into_iter().collect()
    }

    fn names_and_uris(&self) -> impl Iterator<Item = (Option<&str>, Option<&str>)> {
        let assets = self.assets.assets().map(|asset| (Some(&*asset.name), Some(&*asset.uri)));
        let refs = self.assets.refs().map(|asset| match asset {
            AssetRef::Name(name) => (Some(&**name), None),
            AssetRef::Uri(uri) => (None, Some(&**uri)),
        });
        assets.chain(refs)
    }
}
