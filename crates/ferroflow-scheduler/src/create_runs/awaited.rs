//! What pending partitions wait for, where a mapper, a window or the timetable of their DAG is a custom one: Python
//! is asked, once for all partitions of a DAG, and before any transaction that depends on it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::Json;
use ferroflow_db::asset_partition_dag_run::pending::{Arrived, PendingPartition};
use ferroflow_python::timetables::{AwaitedPartition, WaitingPartition};
use ferroflow_telemetry::chain;
use serde_json::Value;

use super::ask::is_undescribed;
use super::report::{CreatedRuns, NotCreated};
use crate::questions::{KnownPartitions, PartitionsQuestion, Waiting};
use crate::run::Definition;
use crate::{Context, NoAnswer};

/// What Python said.
#[derive(Default)]
pub(super) struct Said {
    /// By DAG; nothing if it has no answer.
    fingerprints: HashMap<String, Option<Value>>,
    /// By row.
    partitions: HashMap<i64, AwaitedPartition>,
}

impl Said {
    /// Whether a partition was asked about in vain.
    pub(super) fn is_silent(&self, partition: &PendingPartition) -> bool {
        let was_asked = self.fingerprints.contains_key(&partition.dag_id);
        was_asked && !self.partitions.contains_key(&partition.id)
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
    (page, pending): (usize, &[PendingPartition]),
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
        let (known, no_answer) = ask(cx, definition, document, (page, &partitions), arrived).await;
        if let Some(no_answer) = no_answer {
            report.refuse(dag_id, NotCreated::unanswered(no_answer, NotCreated::PartitionMapper));
        }
        let fingerprint = known.map(|known| {
            let known_ids = partitions.iter().zip(known.partitions);
            said.partitions.extend(known_ids.filter_map(|(one, known)| Some((one.id, known?))));
            known.fingerprint
        });
        said.fingerprints.insert(dag_id.to_owned(), fingerprint);
    }
    said
}

async fn ask(
    cx: &Context,
    definition: &Definition,
    document: &Json,
    (page, partitions): (usize, &[&PendingPartition]),
    arrived: &[Arrived],
) -> (Option<KnownPartitions>, Option<NoAnswer>) {
    let Some(timetables) = &cx.timetables else {
        let no_python = "the DAG has partition mappers of its own, and there is no Python to ask them";
        return (None, Some(NoAnswer::Failed(no_python.to_owned())));
    };
    let waiting = partitions.iter().map(|partition| {
        let assets = received(arrived, partition).into_keys();
        let assets = assets.map(|(name, uri)| (name.to_owned(), uri.to_owned())).collect();
        (partition.partition_key.clone(), assets)
    });
    let waiting: Vec<Waiting> = waiting.collect();
    let question = PartitionsQuestion { timetable: document.text().to_owned(), waiting: waiting.clone() };
    let dag_id = definition.dag().dag_id.to_string();
    let key = (dag_id, page);
    let asked = || {
        let (timetables, document) = (Arc::clone(timetables), document.clone());
        async move {
            let waiting: Vec<WaitingPartition<'_>> = waiting.iter().map(as_waiting).collect();
            timetables.await_partitions(&document, &waiting).await.map_err(|error| chain(&error))
        }
    };
    cx.run_settings
        .questions
        .partitions(key, question, "its timetable with its partition mappers", asked)
        .await
}

fn as_waiting((key, assets): &Waiting) -> WaitingPartition<'_> {
    let assets = assets.iter().map(|(name, uri)| (name.as_str(), uri.as_str()));
    WaitingPartition { key, assets: assets.collect() }
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
