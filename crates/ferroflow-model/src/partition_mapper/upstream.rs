//! From a key of a DAG to the keys of an asset that it is made of.

use std::collections::BTreeSet;

use super::problem::{KeyProblem, Result};
use super::window::Member;
use super::{MapperKind, PartitionMapper};

impl PartitionMapper {
    /// The keys of the asset that a key of the DAG is made of, if it waits for more than one. Near a change of
    /// the clocks some may be the same, and count once.
    pub fn to_upstream(&self, key: &str) -> Result<Option<BTreeSet<String>>> {
        match &self.kind {
            MapperKind::Rollup { upstream, window, .. } => {
                let period = upstream.decode_downstream(key)?;
                let members = window.members(&period)?;
                members.iter().map(|member| upstream.encode_upstream(member)).collect::<Result<_>>().map(Some)
            }
            MapperKind::Custom { class, .. } => Err(KeyProblem::NeedsPython { class: class.clone() }),
            _ => Ok(None),
        }
    }

    /// What a key of the DAG means to a window. Only what maps times knows better than that it is a text.
    pub(super) fn decode_downstream(&self, key: &str) -> Result<Member> {
        match &self.kind {
            MapperKind::StartOf { .. } => self.as_start_of()?.read(key).map(Member::Time),
            MapperKind::Custom { class, .. } => Err(KeyProblem::NeedsPython { class: class.clone() }),
            _ => Ok(Member::Text(key.to_owned())),
        }
    }

    fn encode_upstream(&self, member: &Member) -> Result<String> {
        match (&self.kind, member) {
            (MapperKind::StartOf { .. }, Member::Time(time)) => self.as_start_of()?.write_upstream(time),
            (MapperKind::StartOf { .. }, Member::Text(_)) | (_, Member::Time(_)) => Err(KeyProblem::NotATime),
            (_, Member::Text(text)) => Ok(text.clone()),
        }
    }
}
