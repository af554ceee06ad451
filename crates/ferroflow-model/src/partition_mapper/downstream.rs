//! From a key of an asset to the keys of a DAG.

use super::problem::{KeyProblem, Result};
use super::window::Member;
use super::{MapperKind, PartitionMapper};

/// How many keys one may become. Airflow counts them when all are made, so that a chain could fill the memory.
const MAX_KEYS: usize = 100_000;

/// What became of a key. Where one key is needed, a list of one will not do.
pub(super) enum Mapped {
    One(String),
    Many(Vec<String>),
}

impl PartitionMapper {
    /// The keys of the DAG to which a key of the asset belongs, in Airflow's order. The limit of
    /// [`max_downstream_keys`](Self::max_downstream_keys) is for the caller, as the configuration has one too.
    pub fn to_downstream(&self, key: &str) -> Result<Vec<String>> {
        match self.map(key)? {
            Mapped::One(key) => Ok(vec![key]),
            Mapped::Many(keys) => Ok(keys),
        }
    }

    fn map(&self, key: &str) -> Result<Mapped> {
        match &self.kind {
            MapperKind::Identity => Ok(Mapped::One(key.to_owned())),
            MapperKind::AllowedKeys(allowed) if allowed.iter().any(|allowed| allowed == key) => {
                Ok(Mapped::One(key.to_owned()))
            }
            MapperKind::AllowedKeys(allowed) => {
                Err(KeyProblem::NotAllowed { key: key.to_owned(), allowed: allowed.clone() })
            }
            MapperKind::FixedKey(fixed) => Ok(Mapped::One(fixed.clone())),
            MapperKind::StartOf { .. } => self.as_start_of()?.to_downstream(key).map(Mapped::One),
            MapperKind::Chain(mappers) => chained(mappers, key),
            MapperKind::Product { mappers, delimiter } => multiplied(mappers, delimiter, key),
            MapperKind::Rollup { upstream, .. } => upstream.map(key),
            MapperKind::FanOut { upstream, window, downstream } => {
                let period = upstream.decode_downstream(&upstream.map_to_one(key)?)?;
                let keys = window.members(&period)?.into_iter().map(|member| downstream.write(&member));
                keys.collect::<Result<_>>().map(Mapped::Many)
            }
            MapperKind::Custom { class, .. } => Err(KeyProblem::NeedsPython { class: class.clone() }),
        }
    }

    fn map_to_one(&self, key: &str) -> Result<String> {
        match self.map(key)? {
            Mapped::One(key) => Ok(key),
            Mapped::Many(_) => Err(KeyProblem::SeveralKeys),
        }
    }

    /// Writes a member of a window as a key of the DAG. What is not made for times writes them all the same.
    fn write(&self, member: &Member) -> Result<String> {
        match (&self.kind, member) {
            (MapperKind::Custom { class, .. }, _) => Err(KeyProblem::NeedsPython { class: class.clone() }),
            (MapperKind::StartOf { .. }, Member::Time(time)) => self.as_start_of()?.write(time),
            (MapperKind::StartOf { .. }, Member::Text(_)) => Err(KeyProblem::NotATime),
            (_, Member::Time(time)) => Ok(time.iso_format()),
            (_, Member::Text(text)) => Ok(text.clone()),
        }
    }
}

fn chained(mappers: &[PartitionMapper], key: &str) -> Result<Mapped> {
    let mut keys = vec![key.to_owned()];
    for mapper in mappers {
        let mut mapped = Vec::with_capacity(keys.len());
        for key in &keys {
            mapped.extend(mapper.to_downstream(key)?);
            if mapped.len() > MAX_KEYS {
                return Err(KeyProblem::TooManyKeys { most: MAX_KEYS });
            }
        }
        keys = mapped;
    }
    Ok(if keys.len() == 1 { Mapped::One(keys.remove(0)) } else { Mapped::Many(keys) })
}

fn multiplied(mappers: &[PartitionMapper], delimiter: &str, key: &str) -> Result<Mapped> {
    if delimiter.is_empty() {
        return Err(KeyProblem::NoDelimiter);
    }
    let segments: Vec<&str> = key.split(delimiter).collect();
    if segments.len() != mappers.len() {
        let (found, expected) = (segments.len(), mappers.len());
        return Err(KeyProblem::Segments { key: key.to_owned(), found, expected });
    }
    let mapped = mappers.iter().zip(segments).map(|(mapper, segment)| mapper.map_to_one(segment));
    Ok(Mapped::One(mapped.collect::<Result<Vec<_>>>()?.join(delimiter)))
}
