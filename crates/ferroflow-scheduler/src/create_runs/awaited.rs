//! What pending partitions wait for, where a mapper, a window or the timetable of their DAG is somebody's own: Python
//! is asked, once for all partitions of a DAG, and before any transaction that depends on it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::Json;
use ferroflow_db::pending_partition::{Arrived, PendingPartition};
use ferroflow_python::timetables::{AwaitedPartition, AwaitedPartitions, WaitingPartition};
use ferroflow_telemetry::chain;
use serde_json::Value;

use super::ask::is_undescribed;
use super::report::{CreatedRuns, NotCreated};
use crate::Context;
use crate::run::Definition;

/// What Python said.
#[derive(Default)]
pub(super) struct Said {
    /// By DAG; nothing if it has no answer.
    fingerprints: HashMap<String, Option<Value>>,
    /// By row.
    partitions: HashMap<i64, AwaitedPartition>,
}

impl Said {
    /// Whether a DAG was asked about in vain.
    pub(super) fn is_silent(&self, dag_id: &str) -> bool {
        matches!(self.fingerprints.get(dag_id), Some(None))
    }

    /// How a DAG maps keys.
    pub(super) fn fingerprint(&self, dag_id: &str) -> Option<&Value> {
        self.fingerprints.get(dag_id)?.as_ref()
    }

    /// What a partition waits for.
    pub(super) fn of(&self, partition: &PendingPartition) -> Option<&AwaitedPartition> {
        self.partitions.get(&partition.id)
    }
}

/// Asks about the partitions of every DAG that takes Python. A DAG whose mappers have no answer is refused, and keeps back
/// no other.
pub(super) async fn said_by_python(
    cx: &Context,
    pending: &[PendingPartition],
    arrived: &[Arrived],
    definitions: &HashMap<String, Arc<Definition>>,
    report: &mut CreatedRuns,
) -> Said {
    let mut of_dags: BTreeMap<&str, Vec<&PendingPartition>> = BTreeMap::new();
    for partition in pending {
        of_dags.entry(&partition.dag_id).or_default().push(partition);
    }
    let mut said = Said::default();
    for (dag_id, partitions) in of_dags {
        let Some(definition) = definitions.get(dag_id) else { continue };
        let Some(document) = &definition.timetable_document else { continue };
        // That it cannot be described is told already.
        if is_undescribed(definition) {
            said.fingerprints.insert(dag_id.to_owned(), None);
            continue;
        }
        match ask(cx, document, &partitions, arrived).await {
            Ok(answer) => {
                said.fingerprints.insert(dag_id.to_owned(), Some(answer.fingerprint));
                said.partitions.extend(partitions.iter().map(|one| one.id).zip(answer.partitions));
            }
            Err(reason) => {
                said.fingerprints.insert(dag_id.to_owned(), None);
                report.refuse(dag_id, NotCreated::PartitionMapper(reason));
            }
        }
    }
    said
}

async fn ask(
    cx: &Context,
    document: &Json,
    partitions: &[&PendingPartition],
    arrived: &[Arrived],
) -> Result<AwaitedPartitions, String> {
    let Some(timetables) = &cx.timetables else {
        return Err("the DAG has partition mappers of its own, and there is no Python to ask them".to_owned());
    };
    let waiting: Vec<WaitingPartition<'_>> = partitions
        .iter()
        .map(|partition| WaitingPartition {
            key: &partition.partition_key,
            assets: received(arrived, partition).into_keys().collect(),
        })
        .collect();
    timetables.await_partitions(document, &waiting).await.map_err(|error| chain(&error))
}

/// What each asset, by name and URI, has sent for a partition.
pub(super) fn received<'a>(
    arrived: &'a [Arrived],
    partition: &PendingPartition,
) -> BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>> {
    let mut received: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for arrived in arrived.iter().filter(|arrived| arrived.partition_id == partition.id) {
        received.entry((&arrived.name, &arrived.uri)).or_default().insert(&arrived.source_key);
    }
    received
}
