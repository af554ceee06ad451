use std::time::Duration;

use ferroflow_db::cleaning::{self, Batch, Old, Table};
use ferroflow_db::{Error, ScopedFutureExt as _};
use ferroflow_telemetry::clock::{self, Stopwatch};
use tokio_util::sync::CancellationToken;

use crate::{AuditAction, OperationError, Operations};

/// How long others have their turn at most between two batches.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Which rows go, and how.
#[derive(Debug)]
pub struct CleanRequest {
    pub tables: Vec<Table>,
    pub old: Old,
    /// Whether rows are only counted.
    pub is_dry_run: bool,
    /// Whether they are kept in tables of their own.
    pub keeps_rows: bool,
    /// How many go in one transaction.
    pub batch_size: usize,
}

/// What would be cleaned; nothing is until [`Cleaning::apply`].
pub struct Cleaning<'a> {
    operations: &'a Operations,
    pub request: CleanRequest,
}

/// What happens meanwhile, in this order for each table.
#[derive(Debug)]
pub enum CleanProgress<'a> {
    Table(&'a str),
    /// So many rows are old.
    Counted(i64),
    /// They go now,
    Deleting,
    /// into this table if they are kept.
    Archive(&'a str),
    Batch {
        table: &'a str,
        batch: &'a Batch,
    },
    Deleted(u64),
    /// It could not be cleaned.
    Failed {
        table: &'a str,
        error: Error,
    },
}

#[derive(Debug, Default)]
pub struct Cleaned {
    /// How many old rows stay since others hold them.
    pub held: usize,
    /// The tables that could not be cleaned.
    pub failed: Vec<&'static str>,
    /// Whether it was stopped before the end.
    pub is_stopped: bool,
}

/// Prepares the deletion of old rows.
pub async fn clean(operations: &Operations, request: CleanRequest) -> Cleaning<'_> {
    operations.audit(&AuditAction::named("cleanup_tables")).await;
    Cleaning { operations, request }
}

impl Cleaning<'_> {
    /// Deletes the rows, a batch at a time, until all are gone or it is to stop.
    pub async fn apply(
        &self,
        stop: &CancellationToken,
        mut report: impl FnMut(CleanProgress<'_>),
    ) -> Result<Cleaned, OperationError> {
        let db = &self.operations.db;
        let there = db.read(|tx| async move { cleaning::existing_tables(tx).await }.scope_boxed()).await?;
        let mut cleaned = Cleaned::default();
        for table in &self.request.tables {
            if !there.iter().any(|name| name == table.name) {
                tracing::debug!("there is no table {}", table.name);
                continue;
            }
            match self.clean(table, stop, &mut report).await {
                Ok(held) => cleaned.held += held,
                // Where nothing answers, other tables would fail just so.
                Err(error) if error.is_transient() => return Err(error.into()),
                Err(error) => {
                    report(CleanProgress::Failed { table: table.name, error });
                    cleaned.failed.push(table.name);
                }
            }
            if stop.is_cancelled() {
                return Ok(Cleaned { is_stopped: true, ..cleaned });
            }
        }
        Ok(cleaned)
    }

    /// How many rows stay since others hold them.
    async fn clean(
        &self,
        table: &Table,
        stop: &CancellationToken,
        report: &mut impl FnMut(CleanProgress<'_>),
    ) -> Result<usize, Error> {
        let (db, old) = (&self.operations.db, &self.request.old);
        report(CleanProgress::Table(table.name));
        let count = db.read(|tx| async move { cleaning::count(tx, table, old).await }.scope_boxed()).await?;
        report(CleanProgress::Counted(count));
        if self.request.is_dry_run || count == 0 {
            return Ok(0);
        }
        report(CleanProgress::Deleting);
        let archive = if self.request.keeps_rows { Some(self.make_archive(table).await?) } else { None };
        if let Some(name) = &archive {
            report(CleanProgress::Archive(name));
        }
        let outcome = self.batches(table, archive.as_deref(), stop, report).await;
        if let Some(name) = &archive {
            self.drop_if_empty(name).await?;
        }
        let (deleted, held) = outcome?;
        report(CleanProgress::Deleted(deleted));
        Ok(held)
    }

    /// One batch after the other, each with a pause as long as it took: others who wait for what it had locked have their
    /// turn.
    async fn batches(
        &self,
        table: &Table,
        archive: Option<&str>,
        stop: &CancellationToken,
        report: &mut impl FnMut(CleanProgress<'_>),
    ) -> Result<(u64, usize), Error> {
        let CleanRequest { old, batch_size, .. } = &self.request;
        let (mut deleted, mut held, mut after) = (0, 0, None);
        loop {
            let watch = Stopwatch::start();
            let last = after.as_ref();
            let batch = self.operations.db.transact(|tx| {
                async move { cleaning::batch(tx, table, old, last, *batch_size, archive).await }.scope_boxed()
            });
            let batch = batch.await?;
            deleted += batch.deleted;
            held += batch.held;
            report(CleanProgress::Batch { table: table.name, batch: &batch });
            after = batch.next;
            if after.is_none() || stop.is_cancelled() {
                return Ok((deleted, held));
            }
            tokio::time::sleep(watch.elapsed().min(MAX_PAUSE)).await;
        }
    }

    async fn make_archive(&self, table: &Table) -> Result<String, Error> {
        let now = clock::now();
        let db = &self.operations.db;
        db.transact(|tx| async move { cleaning::make_archive(tx, table, now).await }.scope_boxed()).await
    }

    async fn drop_if_empty(&self, name: &str) -> Result<(), Error> {
        let dropped = self.operations.db.transact(|tx| {
            async move {
                if cleaning::is_empty(tx, name).await? {
                    cleaning::drop_archive(tx, name).await?;
                }
                Ok(())
            }
            .scope_boxed()
        });
        dropped.await
    }
}
