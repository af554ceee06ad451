//! Runs for partitions of assets that are all there are written.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::dag::scheduling::DagFacts as DagRow;
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, asset_partition_dag_run, dag};
use ferroflow_model::runs::create::NewRun;
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_operations::dag_run::create::{OfRun, PlannedDeadlines, create_many};
use jiff::Timestamp;
use uuid::Uuid;

use super::plan::{Owner, Plan, plan};
use super::report::{CreatedRuns, NotCreated};
use super::runs_per_transaction;
use super::shaping::{Shaping, Unasked};
use crate::refused::Batches;
use crate::refused::RetryLater;
use crate::run::Definition;
use crate::{Context, Error};

/// A run to be made, with the row of its partition and its DAG.
pub(super) type DueRun<'p> = (i64, &'p str, NewRun<'p>);

/// What making runs for partitions takes.
pub(super) struct Task<'a> {
    pub(super) cx: &'a Context,
    pub(super) making: &'a RunMaking,
    pub(super) definitions: &'a HashMap<String, Arc<Definition>>,
    pub(super) deadlines: &'a HashMap<Uuid, PlannedDeadlines>,
    pub(super) now: Timestamp,
}

impl Task<'_> {
    /// Makes runs, many in one transaction. What the database refuses is tried in halves, as for other runs.
    pub(super) async fn create(
        &self,
        runs: &[DueRun<'_>],
        mut shaping: Shaping<'_>,
        put_off: &mut RetryLater<i64>,
        report: &mut CreatedRuns,
    ) -> Result<(), Error> {
        let chunks = runs.chunks(runs_per_transaction(self.cx));
        let mut batches = Batches::new(&self.cx.db, chunks.map(|chunk| chunk.iter().collect()).collect());
        while let Some(batch) = batches.next() {
            self.cx.progress.gets_on();
            let (runs, shaped) = (batch.as_slice(), &shaping);
            let made =
                batches.db().transact(|tx| async move { self.run(tx, runs, shaped).await }.scope_boxed());
            match made.await {
                Ok((part, unasked)) => {
                    report.add(part);
                    let ready = shaping.ask(unasked, report).await;
                    let is_ready = |of: &&DueRun<'_>| ready.contains(of.1);
                    batches.again(batch.into_iter().filter(is_ready).collect());
                }
                Err(error) => {
                    if let Some(((id, dag_id, _), error)) = batches.refused(runs, error)? {
                        put_off.refused(*id, batches.later(self.now));
                        report.refuse(dag_id, NotCreated::not_taken(&error));
                    }
                }
            }
        }
        Ok(())
    }

    async fn run(
        &self,
        tx: &mut Tx,
        batch: &[&DueRun<'_>],
        shaping: &Shaping<'_>,
    ) -> Result<(CreatedRuns, Vec<Unasked>), DbError> {
        let mut report = CreatedRuns::default();
        let ids: Vec<i64> = batch.iter().map(|(id, ..)| *id).collect();
        let free: BTreeSet<i64> =
            asset_partition_dag_run::pending::lock_free(tx, &ids).await?.into_iter().collect();
        let dag_ids: BTreeSet<&str> = batch.iter().map(|(_, dag_id, _)| *dag_id).collect();
        let dag_ids: Vec<&str> = dag_ids.into_iter().collect();
        let rows = dag::scheduling::find(tx, &dag_ids).await?.dags;
        let rows: HashMap<&str, &DagRow> = rows.iter().map(|row| (row.dag_id.as_str(), row)).collect();
        let versions = serialized_dag::latest_hashes(tx, &dag_ids).await?;
        let none = PlannedDeadlines::default();
        let mut planned: Vec<(i64, Plan)> = Vec::new();
        let mut unasked = Vec::new();
        for (id, dag_id, run) in batch.iter().filter(|(id, ..)| free.contains(id)) {
            let (Some(row), Some(definition)) = (rows.get(dag_id), self.definitions.get(*dag_id)) else {
                continue;
            };
            if versions.get(*dag_id).is_none_or(|(_, hash)| *hash != definition.hash) {
                report.refuse(dag_id, NotCreated::Changed);
                report.is_more_due = true;
                continue;
            }
            let deadlines = self.deadlines.get(&definition.version.id).unwrap_or(&none);
            let owner = Owner { row, definition, asked: None, deadlines };
            match plan(&self.cx.run_settings, self.making, &owner, run, self.now) {
                Ok(plan) => match shaping.shaped(plan, definition.dag()) {
                    Ok(plan) => planned.push((*id, plan)),
                    Err(plan) => {
                        unasked.push(Unasked { definition: Arc::clone(definition), plan: *plan });
                    }
                },
                Err(reason) => report.refuse(dag_id, reason),
            }
        }
        self.write(tx, planned, &rows, &mut report).await?;
        Ok((report, unasked))
    }

    async fn write(
        &self,
        tx: &mut Tx,
        planned: Vec<(i64, Plan)>,
        rows: &HashMap<&str, &DagRow>,
        report: &mut CreatedRuns,
    ) -> Result<(), DbError> {
        let (runs, outlines): (Vec<_>, Vec<_>) =
            planned.into_iter().map(|(id, plan)| (plan.run, (id, plan.outline, plan.deadlines))).unzip();
        let made = create_many(tx, runs, self.now).await?;
        for ((partition, run, deadlines), made) in outlines.into_iter().zip(made) {
            let consumed_events =
                asset_partition_dag_run::pending::give_run(tx, partition, made.id, self.now).await?;
            let of_run = OfRun {
                id: made.id,
                dag_id: &run.dag_id,
                bundle_name: rows.get(run.dag_id.as_str()).map_or("", |row| &row.bundle_name),
                logical_date: None,
            };
            let deadlines = deadlines.add(tx, &of_run, self.now).await?;
            report.created.push(run.created(made, consumed_events, deadlines));
        }
        Ok(())
    }
}
