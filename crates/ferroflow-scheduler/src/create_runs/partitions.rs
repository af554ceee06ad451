//! Runs of DAGs that wait for partitions of assets.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::dag::facts::{self, DagFacts as DagRow};
use ferroflow_db::pending_partition::{self, Arrived, PendingPartition};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, serialized_dag};
use ferroflow_execution::RunMaking;
use ferroflow_execution::create_run::create_many;
use ferroflow_model::partition_mapper::{MapperKind, PartitionMapper, WaitPolicy};
use ferroflow_model::runs::assets::AssetKey;
use ferroflow_model::runs::create::NewRun;
use ferroflow_model::runs::partitions::{self, AssetProgress, PartitionedDag, Verdict};
use ferroflow_model::timetable::{PartitionDate, Timetable};
use jiff::Timestamp;
use serde_json::Value;

use super::assets::Assets;
use super::deadlines::{self, OfRun, PlannedDeadlines};
use super::plan::{Owner, Plan, plan};
use super::report::{CreatedRuns, NotCreated};
use super::{making, runs_per_transaction};
use crate::run::Definition;
use crate::{Context, Error};

/// So many pending partitions are looked at together. All of them are looked at: who waits in vain hides nobody.
const PAGE: i64 = 500;

/// Makes a run for every pending partition whose assets are there, and deletes those that can have none any more.
pub(super) async fn create(cx: &Context, now: Timestamp, report: &mut CreatedRuns) -> Result<(), Error> {
    let mut after = 0;
    loop {
        let read =
            cx.db.read(|tx| async move { Error::split(Page::load(tx, cx, after, now).await) }.scope_boxed());
        let page = read.await??;
        let Some(last) = page.pending.last() else { return Ok(()) };
        after = last.id;
        let (runs, outdated) = page.decide(now, report);
        let definitions: Vec<&Arc<Definition>> = page.definitions.values().collect();
        let deadlines = &deadlines::plan(cx, &definitions).await?;
        delete(cx, &page, &outdated, report).await?;
        let task = &Task { cx, making: &making(cx)?, page: &page, deadlines, now };
        task.create(&runs, report).await?;
        if i64::try_from(page.pending.len()).unwrap_or(i64::MAX) < PAGE {
            return Ok(());
        }
    }
}

/// Some pending partitions, and what is known of them.
struct Page {
    pending: Vec<PendingPartition>,
    arrived: Vec<Arrived>,
    definitions: HashMap<String, Arc<Definition>>,
    fingerprints: HashMap<String, Value>,
    assets: Assets,
}

impl Page {
    async fn load(tx: &mut Tx, cx: &Context, after: i64, now: Timestamp) -> Result<Self, Error> {
        let pending = pending_partition::page(tx, after, PAGE).await?;
        let ids: Vec<i64> = pending.iter().map(|partition| partition.id).collect();
        let arrived = if ids.is_empty() { Vec::new() } else { pending_partition::arrived(tx, &ids).await? };
        let dag_ids: BTreeSet<&str> = pending.iter().map(|partition| partition.dag_id.as_str()).collect();
        let dag_ids: Vec<&str> = dag_ids.into_iter().collect();
        let read = cx.definitions.newest_of(tx, &dag_ids, now).await?;
        // What cannot be read is left as it is: it may be readable again, and nothing that has come is thrown away.
        let definitions: HashMap<String, Arc<Definition>> =
            read.into_iter().filter_map(|(dag_id, read)| Some((dag_id, read.ok()?))).collect();
        let fingerprints = definitions
            .iter()
            .filter_map(|(id, read)| Some((id.clone(), read.dag().timetable.rollup_fingerprint().ok()?)))
            .collect();
        let conditions: Vec<_> =
            definitions.values().filter_map(|read| read.dag().timetable.assets()).collect();
        let assets = Assets::load(tx, conditions.into_iter()).await?;
        Ok(Self { pending, arrived, definitions, fingerprints, assets })
    }

    /// The runs to make, each with the row of its partition, and the partitions to delete.
    fn decide<'p>(
        &'p self,
        now: Timestamp,
        report: &mut CreatedRuns,
    ) -> (Vec<(i64, &'p str, NewRun<'p>)>, Vec<i64>) {
        let by_id: BTreeMap<i64, &PendingPartition> =
            self.pending.iter().map(|partition| (partition.id, partition)).collect();
        let progress: Vec<Vec<AssetProgress<'p>>> =
            self.pending.iter().map(|partition| self.progress(partition)).collect();
        let rows: Vec<partitions::PendingPartition<'_>> = self
            .pending
            .iter()
            .zip(&progress)
            .map(|(partition, assets)| self.facts(partition, assets))
            .collect();
        let (mut runs, mut outdated) = (Vec::new(), Vec::new());
        let known = self.assets.known();
        for (id, verdict) in
            partitions::decide(&rows, |dag_id| self.partitioned(dag_id), &known, now, usize::MAX)
        {
            let Some(partition) = by_id.get(&id) else { continue };
            let dag_id = partition.dag_id.as_str();
            match verdict {
                Verdict::Create { run, no_date } => {
                    if let Some(reason) = no_date {
                        tracing::warn!(dag_id, key = run.partition_key, %reason, "the run of a partition has no date");
                    }
                    // The same key, which lives as long as the page does.
                    let partition_key = Some(partition.partition_key.as_str());
                    runs.push((id, dag_id, NewRun { partition_key, ..run }));
                }
                Verdict::Outdated => outdated.push(id),
                Verdict::Refused(reason) => report.refuse(dag_id, reason),
                Verdict::Waiting { .. } | Verdict::Postponed => {}
            }
        }
        (runs, outdated)
    }

    fn facts<'r>(
        &'r self,
        partition: &'r PendingPartition,
        assets: &'r [AssetProgress<'r>],
    ) -> partitions::PendingPartition<'r> {
        let keys = assets.iter().map(|progress| (progress.asset.name, progress.asset.uri));
        let key_date = match self.definitions.get(&partition.dag_id).map(|read| &read.dag().timetable) {
            Some(Timetable::PartitionedAsset(timetable)) => {
                timetable.date_for(keys, &partition.partition_key)
            }
            _ => Ok(PartitionDate::NotATime),
        };
        partitions::PendingPartition {
            id: partition.id,
            dag_id: &partition.dag_id,
            dag_is_stale: false,
            partition_key: &partition.partition_key,
            partition_date: partition.partition_date,
            created_at: partition.created_at,
            fingerprint: partition.fingerprint.as_ref(),
            assets,
            key_date,
        }
    }

    /// What each asset has sent for a partition, and what its mapper waits for.
    fn progress(&self, partition: &PendingPartition) -> Vec<AssetProgress<'_>> {
        let mut received: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for arrived in self.arrived.iter().filter(|arrived| arrived.partition_id == partition.id) {
            received.entry((&arrived.name, &arrived.uri)).or_default().insert(&arrived.source_key);
        }
        let timetable = self.definitions.get(&partition.dag_id).map(|read| &read.dag().timetable);
        let progress = received.into_iter().map(|((name, uri), received)| {
            let mapper = match timetable {
                Some(Timetable::PartitionedAsset(timetable)) => Some(timetable.mapper(name, uri)),
                _ => None,
            };
            AssetProgress {
                asset: AssetKey { name, uri },
                received,
                expected: mapper.map_or(Ok(None), |mapper| mapper.to_upstream(&partition.partition_key)),
                wait: mapper.map_or(WaitPolicy::All, wait_of),
            }
        });
        progress.collect()
    }

    fn partitioned(&self, dag_id: &str) -> Option<PartitionedDag<'_>> {
        let timetable = &self.definitions.get(dag_id)?.dag().timetable;
        Some(PartitionedDag {
            fingerprint: self.fingerprints.get(dag_id)?,
            condition: timetable.assets()?,
            is_partitioned: timetable.is_partitioned(),
        })
    }
}

fn wait_of(mapper: &PartitionMapper) -> WaitPolicy {
    match mapper.kind {
        MapperKind::Rollup { wait, .. } => wait,
        _ => WaitPolicy::All,
    }
}

async fn delete(cx: &Context, page: &Page, outdated: &[i64], report: &mut CreatedRuns) -> Result<(), Error> {
    if outdated.is_empty() {
        return Ok(());
    }
    let deleted = cx.db.transact(|tx| {
        async move {
            let free = pending_partition::lock_free(tx, outdated).await?;
            pending_partition::delete(tx, &free).await?;
            Ok(free)
        }
        .scope_boxed()
    });
    for id in deleted.await? {
        let dag_id = page.pending.iter().find(|partition| partition.id == id).map(|one| one.dag_id.clone());
        report.outdated_partitions.push((dag_id.unwrap_or_default(), id));
    }
    Ok(())
}

/// One transaction.
struct Task<'a> {
    cx: &'a Context,
    making: &'a RunMaking,
    page: &'a Page,
    deadlines: &'a HashMap<uuid::Uuid, PlannedDeadlines>,
    now: Timestamp,
}

impl Task<'_> {
    /// Makes runs, many in one transaction. What the database refuses is tried in halves, as for other runs.
    async fn create(&self, runs: &[(i64, &str, NewRun<'_>)], report: &mut CreatedRuns) -> Result<(), Error> {
        let mut left: Vec<_> = runs.chunks(runs_per_transaction(self.cx)).rev().collect();
        while let Some(batch) = left.pop() {
            let made = self.cx.db.transact(|tx| async move { self.run(tx, batch).await }.scope_boxed());
            match made.await {
                Ok(part) => report.add(part),
                Err(error) if error.is_about_data() && batch.len() > 1 => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    left.extend([second, first]);
                }
                Err(error) if error.is_about_data() => {
                    for (_, dag_id, _) in batch {
                        report.refuse(dag_id, NotCreated::Database(error.to_string()));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn run(&self, tx: &mut Tx, batch: &[(i64, &str, NewRun<'_>)]) -> Result<CreatedRuns, DbError> {
        let mut report = CreatedRuns::default();
        let ids: Vec<i64> = batch.iter().map(|(id, ..)| *id).collect();
        let free: BTreeSet<i64> = pending_partition::lock_free(tx, &ids).await?.into_iter().collect();
        let dag_ids: BTreeSet<&str> = batch.iter().map(|(_, dag_id, _)| *dag_id).collect();
        let dag_ids: Vec<&str> = dag_ids.into_iter().collect();
        let rows = facts::find(tx, &dag_ids).await?.dags;
        let rows: HashMap<&str, &DagRow> = rows.iter().map(|row| (row.dag_id.as_str(), row)).collect();
        let versions = serialized_dag::latest_hashes(tx, &dag_ids).await?;
        let mut planned: Vec<(i64, Plan)> = Vec::new();
        for (id, dag_id, run) in batch.iter().filter(|(id, ..)| free.contains(id)) {
            let (Some(row), Some(definition)) = (rows.get(dag_id), self.page.definitions.get(*dag_id)) else {
                continue;
            };
            if versions.get(*dag_id).is_none_or(|(_, hash)| *hash != definition.hash) {
                report.refuse(dag_id, NotCreated::Changed);
                report.is_more_due = true;
                continue;
            }
            let owner = Owner { row, definition, asked: None };
            match plan(self.cx, self.making, &owner, run, self.now) {
                Ok(plan) => planned.push((*id, plan)),
                Err(reason) => report.refuse(dag_id, reason),
            }
        }
        self.write(tx, planned, &rows, &mut report).await?;
        Ok(report)
    }

    async fn write(
        &self,
        tx: &mut Tx,
        planned: Vec<(i64, Plan)>,
        rows: &HashMap<&str, &DagRow>,
        report: &mut CreatedRuns,
    ) -> Result<(), DbError> {
        let none = PlannedDeadlines::default();
        let (runs, outlines): (Vec<_>, Vec<_>) =
            planned.into_iter().map(|(id, plan)| (plan.run, (id, plan.outline))).unzip();
        let made = create_many(tx, runs, self.now).await?;
        for ((partition, run), made) in outlines.into_iter().zip(made) {
            let consumed_events = pending_partition::give_run(tx, partition, made.id, self.now).await?;
            let definition = self.page.definitions.get(&run.dag_id);
            let deadlines = definition.and_then(|read| self.deadlines.get(&read.version.id)).unwrap_or(&none);
            let of_run = OfRun {
                id: made.id,
                dag_id: &run.dag_id,
                bundle_name: rows.get(run.dag_id.as_str()).map_or("", |row| &row.bundle_name),
                logical_date: None,
            };
            let deadlines = deadlines::add(tx, &of_run, deadlines, self.now).await?;
            report.created.push(run.created(&made, consumed_events, deadlines));
        }
        Ok(())
    }
}
