//! A timetable that waits for partitions of assets.

use crate::asset::{AssetCondition, AssetRef};
use crate::partition_mapper::PartitionMapper;

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

    /// One entry per asset of the condition, then one per reference.
    pub fn mapper_infos(&self) -> impl Iterator<Item = PartitionMapperInfo<'_>> {
        let assets = self.assets.assets().map(|asset| PartitionMapperInfo {
            name: Some(&asset.name),
            uri: Some(&asset.uri),
            is_rollup: self.mapper(&asset.name, &asset.uri).is_rollup(),
        });
        let refs = self.assets.refs().map(|asset| match asset {
            AssetRef::Name(name) => PartitionMapperInfo {
                name: Some(name),
                uri: None,
                is_rollup: self.mapper(name, "").is_rollup(),
            },
            AssetRef::Uri(uri) => PartitionMapperInfo {
                name: None,
                uri: Some(uri),
                is_rollup: self.mapper("", uri).is_rollup(),
            },
        });
        assets.chain(refs)
    }
}
