//! Runs of DAGs that wait for partitions of assets.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::asset_partition_dag_run::pending::{Arrived, PendingPartition};
use ferroflow_db::{ScopedFutureExt as _, Tx, asset_partition_dag_run};
use ferroflow_model::partition_mapper::{KeyProblem, MapperKind, PartitionMapper, WaitPolicy};
use ferroflow_model::runs::assets::AssetKey;
use ferroflow_model::runs::create::NewRun;
use ferroflow_model::runs::partitions::{self, AssetProgress, Lacking, PartitionedDag, Verdict};
use ferroflow_model::timetable::{PartitionDate, Timetable};
use ferroflow_operations::dag_run::create::plan_deadlines;
use ferroflow_python::timetables::ExpectedKeys;
use jiff::Timestamp;
use serde_json::Value;

use super::ask::{describe, is_undescribed};
use super::assets::Assets;
use super::awaited::{Said, received, said_by_python};
use super::candidates::with_deadlines;
use super::making;
use super::partition_runs::{DueRun, Task};
use super::report::{CreatedRuns, NotCreated};
use super::shaping::Shaping;
use crate::refused::RetryLater;
use crate::run::Definition;
use crate::{Context, Error};

/// So many pending partitions are looked at together. All of them are looked at: one that waits in vain hides no other.
const PAGE: i64 = 500;

/// Makes a run for every pending partition whose assets are there, and deletes those that can have none any more.
pub(super) async fn create(
    cx: &Context,
    put_off: &mut RetryLater<i64>,
    now: Timestamp,
    report: &mut CreatedRuns,
) -> Result<(), Error> {
    let mut after = 0;
    for number in 0.. {
        let mut page = Page::read(cx, after, now).await?;
        if describe(cx, &page.undescribed(), report).await {
            page = Page::read(cx, after, now).await?;
        }
        if !page.pending.is_empty() {
            create_some(cx, (number, &mut page), put_off, now, report).await?;
        }
        let Some(next) = page.next else { break };
        after = next;
    }
    Ok(())
}

async fn create_some(
    cx: &Context,
    (number, page): (usize, &mut Page),
    put_off: &mut RetryLater<i64>,
    now: Timestamp,
    report: &mut CreatedRuns,
) -> Result<(), Error> {
    let pending = (number, page.pending.as_slice());
    page.said = said_by_python(cx, pending, &page.arrived, &page.definitions, report).await;
    let page = &*page;
    for (dag_id, reason) in &page.unreadable {
        report.refuse(dag_id, NotCreated::NoDefinition(reason.clone()));
    }
    let (mut runs, outdated) = page.decide(now, report);
    runs.retain(|(id, ..)| !put_off.has_to_wait(id, now));
    let definitions: Vec<&Arc<Definition>> = page.definitions.values().collect();
    let deadlines = &plan_deadlines(&cx.service.db, &with_deadlines(&definitions)).await?;
    delete(cx, page, &outdated, report).await?;
    let task = &Task { cx, making: &making(cx)?, definitions: &page.definitions, deadlines, now };
    match Shaping::new(cx).await {
        Ok(shaping) => task.create(&runs, shaping, put_off, report).await?,
        Err(no_answer) => {
            for (_, dag_id, _) in &runs {
                let reason = NotCreated::unanswered(no_answer.clone(), NotCreated::InstanceRules);
                report.refuse(dag_id, reason);
            }
        }
    }
    Ok(())
}

/// Some pending partitions, and what is known of them.
struct Page {
    pending: Vec<PendingPartition>,
    next: Option<i64>,
    arrived: Vec<Arrived>,
    definitions: HashMap<String, Arc<Definition>>,
    unreadable: Vec<(String, String)>,
    fingerprints: HashMap<String, Value>,
    assets: Assets,
    /// What Python says, where a mapper or a timetable is a custom one.
    said: Said,
}

impl Page {
    async fn read(cx: &Context, after: i64, now: Timestamp) -> Result<Self, Error> {
        cx.db
            .read(|tx| async move { Error::split(Self::load(tx, cx, after, now).await) }.scope_boxed())
            .await?
    }

    async fn load(tx: &mut Tx, cx: &Context, after: i64, now: Timestamp) -> Result<Self, Error> {
        let ferroflow_db::Page { found: pending, next } =
            asset_partition_dag_run::pending::page(tx, after, PAGE).await?;
        let ids: Vec<i64> = pending.iter().map(|partition| partition.id).collect();
        let arrived = if ids.is_empty() {
            Vec::new()
        } else {
            asset_partition_dag_run::pending::arrived(tx, &ids).await?
        };
        let dag_ids: BTreeSet<&str> = pending.iter().map(|partition| partition.dag_id.as_str()).collect();
        let dag_ids: Vec<&str> = dag_ids.into_iter().collect();
        let read = cx.definitions.newest_of(tx, &dag_ids, now).await?;
        // What cannot be read is left as it is: it may be readable again, and nothing that has come is thrown away.
        let mut definitions: HashMap<String, Arc<Definition>> = HashMap::new();
        let mut unreadable = Vec::new();
        for (dag_id, read) in read {
            match read {
                Ok(definition) => _ = definitions.insert(dag_id, definition),
                Err(error) => unreadable.push((dag_id, error.to_string())),
            }
        }
        let native = definitions.iter().filter(|(_, read)| read.timetable_document.is_none());
        let fingerprints = native
            .filter_map(|(id, read)| Some((id.clone(), read.dag().timetable.rollup_fingerprint().ok()?)))
            .collect();
        let conditions: Vec<_> = definitions.values().filter_map(|read| read.assets()).collect();
        let assets = Assets::load(tx, conditions.into_iter()).await?;
        Ok(Self {
            pending,
            next,
            arrived,
            definitions,
            unreadable,
            fingerprints,
            assets,
            said: Said::default(),
        })
    }

    fn undescribed(&self) -> Vec<Arc<Definition>> {
        self.definitions.values().filter(|definition| is_undescribed(definition)).map(Arc::clone).collect()
    }

    /// The runs to make, each with the row of its partition, and the partitions to delete.
    fn decide<'p>(&'p self, now: Timestamp, report: &mut CreatedRuns) -> (Vec<DueRun<'p>>, Vec<i64>) {
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
        let (mut runs, mut outdated, mut failed) = (Vec::new(), Vec::new(), BTreeSet::new());
        let known = self.assets.known();
        for (id, verdict) in
            partitions::decide(&rows, |dag_id| self.partitioned(dag_id), &known, now, usize::MAX)
        {
            let Some(partition) = by_id.get(&id) else { continue };
            let dag_id = partition.dag_id.as_str();
            // Why Python has no answer is told already.
            if self.said.is_silent(partition) {
                continue;
            }
            match verdict {
                Verdict::Create { run, no_date } => {
                    if let Some(reason) = no_date {
                        tracing::warn!(dag_id, key = run.partition_key, %reason, "run of a partition has no date");
                    }
                    // The same key, which lives as long as the page does.
                    let partition_key = Some(partition.partition_key.as_str());
                    runs.push((id, dag_id, NewRun { partition_key, ..run }));
                }
                Verdict::Outdated => outdated.push(id),
                Verdict::Refused(reason) => report.refuse(dag_id, reason),
                Verdict::Waiting { lacking, .. } => {
                    if let Some(problem) = failure_in_python(&lacking)
                        && failed.insert(dag_id)
                    {
                        let key = &partition.partition_key;
                        let reason = format!("the partition mapper failed for the key {key:?}: {problem}");
                        report.refuse(dag_id, NotCreated::PartitionMapper(reason));
                    }
                }
                Verdict::Postponed => {}
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
        let key_date = match (self.said.of(partition), self.timetable(partition)) {
            (Some(said), _) => said.date.clone(),
            (None, Some(Timetable::PartitionedAsset(timetable))) => {
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
        let received = received(&self.arrived, partition).into_iter().enumerate();
        let (said, timetable) = (self.said.of(partition), self.timetable(partition));
        let progress = received.map(|(place, ((name, uri), received))| {
            let mapper = match timetable {
                Some(Timetable::PartitionedAsset(timetable)) => Some(timetable.mapper(name, uri)),
                _ => None,
            };
            let expected = match (said, mapper) {
                (Some(said), _) => said.assets.get(place).cloned().unwrap_or(Ok(None)),
                (None, Some(mapper)) => expected_by(mapper, &partition.partition_key),
                (None, None) => Ok(None),
            };
            let (expected, wait) = match expected {
                Ok(Some((keys, wait))) => (Ok(Some(keys)), wait),
                Ok(None) => (Ok(None), WaitPolicy::All),
                Err(problem) => (Err(problem), WaitPolicy::All),
            };
            AssetProgress { asset: AssetKey { name, uri }, received, expected, wait }
        });
        progress.collect()
    }

    fn timetable(&self, partition: &PendingPartition) -> Option<&Timetable> {
        self.definitions.get(&partition.dag_id).map(|read| &read.dag().timetable)
    }

    fn partitioned(&self, dag_id: &str) -> Option<PartitionedDag<'_>> {
        let definition = self.definitions.get(dag_id)?;
        Some(PartitionedDag {
            fingerprint: self.said.fingerprint(dag_id).or_else(|| self.fingerprints.get(dag_id))?,
            condition: definition.assets()?,
            is_partitioned: definition.is_partitioned(),
        })
    }
}

fn failure_in_python<'l>(lacking: &'l [(AssetKey<'_>, Lacking)]) -> Option<&'l str> {
    lacking.iter().find_map(|(_, lacking)| match lacking {
        Lacking::MapperFailed(KeyProblem::InPython(problem)) => Some(problem.as_str()),
        _ => None,
    })
}

fn expected_by(mapper: &PartitionMapper, key: &str) -> ExpectedKeys {
    let wait = match mapper.kind {
        MapperKind::Rollup { wait, .. } => wait,
        _ => WaitPolicy::All,
    };
    Ok(mapper.to_upstream(key)?.map(|keys| (keys, wait)))
}

async fn delete(cx: &Context, page: &Page, outdated: &[i64], report: &mut CreatedRuns) -> Result<(), Error> {
    if outdated.is_empty() {
        return Ok(());
    }
    let deleted = cx.db.transact_in_parts(|tx| {
        async move {
            let free = asset_partition_dag_run::pending::lock_free(tx, outdated).await?;
            let (mut deleted, mut refused) = (Vec::new(), Vec::new());
            for ids in free.chunks(tx.rows_in_a_part(free.len())) {
                tx.begin_part().await?;
                let done = asset_partition_dag_run::pending::delete(tx, ids).await;
                match tx.end_part(done).await? {
                    Ok(()) => deleted.extend_from_slice(ids),
                    Err(error) => refused.extend(ids.iter().map(|id| (*id, NotCreated::not_taken(&error)))),
                }
            }
            Ok((deleted, refused))
        }
        .scope_boxed()
    });
    let (deleted, refused) = deleted.await?;
    let dag_of = |id: i64| {
        let of_id = page.pending.iter().find(|partition| partition.id == id);
        of_id.map(|partition| partition.dag_id.clone()).unwrap_or_default()
    };
    report.outdated_partitions.extend(deleted.into_iter().map(|id| (dag_of(id), id)));
    for (id, reason) in refused {
        report.refuse(&dag_of(id), reason);
    }
    Ok(())
}
