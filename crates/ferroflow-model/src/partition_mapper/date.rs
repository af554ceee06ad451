//! The date that a key of a DAG stands for.

use super::problem::{KeyProblem, Result};
use super::{MapperKind, PartitionMapper};
use crate::timetable::local_time::LocalTime;

impl PartitionMapper {
    /// The start of the period that a key of the DAG stands for; `None` if it stands for none, or if it has
    /// several segments that are times.
    pub(crate) fn date(&self, key: &str) -> Result<Option<LocalTime<'_>>> {
        match &self.kind {
            MapperKind::Identity | MapperKind::AllowedKeys(_) | MapperKind::FixedKey(_) => Ok(None),
            MapperKind::StartOf { .. } => self.as_start_of()?.date(key).map(Some),
            MapperKind::Chain(mappers) => mappers.last().map_or(Ok(None), |mapper| mapper.date(key)),
            MapperKind::Product { mappers, delimiter } => date_of_segments(mappers, delimiter, key),
            MapperKind::Rollup { upstream, .. } => upstream.date(key),
            MapperKind::FanOut { downstream, .. } => downstream.date(key),
            MapperKind::Custom { class, .. } => Err(KeyProblem::NeedsPython { class: class.clone() }),
        }
    }

    /// Whether the partition date of the run that made a partition of the asset is also that of the run which
    /// uses it: so it is where the key stays the same, and nothing can be read from it.
    pub fn carries_partition_date(&self) -> Result<bool> {
        match &self.kind {
            MapperKind::Identity => Ok(true),
            MapperKind::Custom { class, .. } => Err(KeyProblem::NeedsPython { class: class.clone() }),
            _ => Ok(false),
        }
    }
}

fn date_of_segments<'m>(
    mappers: &'m [PartitionMapper],
    delimiter: &str,
    key: &str,
) -> Result<Option<LocalTime<'m>>> {
    if delimiter.is_empty() {
        return Err(KeyProblem::NoDelimiter);
    }
    let segments: Vec<&str> = key.split(delimiter).collect();
    if segments.len() != mappers.len() {
        return Ok(None);
    }
    let dates = mappers.iter().zip(segments).map(|(mapper, segment)| mapper.date(segment));
    let mut dates: Vec<_> = dates.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    Ok(if dates.len() == 1 { dates.pop() } else { None })
}
